"""Images on the node: found by id, tag and digest, pulled once, removed whole."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

import attrs

from refimpl.cri.state.lifecycle import IMAGE, ImageEvent, ImageState
from refimpl.cri.state.models import Image
from refimpl.cri.state.ports import Caller
from refimpl.cri.state.pulls import UNAVAILABLE, Pull
from refimpl.cri.state.tables import ALWAYS, Core
from refimpl.images.credentials import NOBODY, Credentials
from refimpl.images.references import Malformed, parse
from refimpl.wire.status import Code, Refused

__all__ = ["Images"]

_ID = re.compile(r"(sha256:)?[0-9a-f]{3,64}")


class Images:
    """Those of one node, by id."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._table: dict[str, Image] = {}
        self._references: dict[str, ImageState] = {}
        self._pulls: dict[tuple[str, Credentials], Pull] = {}
        self.used: Callable[[str], bool] = lambda _id: False

    # -- what kubelet asks for ----------------------------------------------------------------

    def pull(self, name: str, credentials: Credentials = NOBODY, caller: Caller = ALWAYS) -> Image:
        """The image, there from now on. Who asks for the same with the same credentials meanwhile
        shares the download, which goes on until all of them are gone. INVALID_ARGUMENT for what is
        no reference; what its source refuses."""
        reference = _whole(_given(name))
        key = (reference, credentials)
        with self._core.lock:
            pull = self._pulls.get(key)
            joined = pull is not None and pull.join(caller)
            if pull is None or not joined:
                pull = self._pulls[key] = Pull(caller)
            self._become(reference, "pull")
        if not joined:
            with caller.waiting():
                self._download(key, pull)
        return pull.result(caller)

    def remove(self, name: str) -> None:
        """Gone with all its tags and digests, whichever of them was named; success where it is
        unknown (CRI RemoveImage). Runtimes that take away just the name that was given keep it
        until its last one."""
        choices = self._core.settings.images
        with self._core.lock:
            image = self.find(name)
            if image is None:
                return
            if not choices.removes_used and self.used(image.id):
                raise Refused(
                    Code.FAILED_PRECONDITION,
                    f"image {image.id} is that of a container: remove that before",
                )
            if choices.removes == "name" and self._untag(image, name):
                return
            del self._table[image.id]
            for reference in (*image.tags, *image.digests):
                self._references.pop(reference, None)
        self._core.ports.images.forget(image)

    # -- what there is ------------------------------------------------------------------------

    def find(self, name: str) -> Image | None:
        """By id, the beginning of one, tag or digest; None if there is none. INVALID_ARGUMENT for
        an empty name."""
        _given(name)
        with self._core.lock:
            return self._by_id(name) or self._by_reference(name)

    def use(self, name: str) -> tuple[Image, str]:
        """The image of a container, and the name to show for it. NOT_FOUND: nothing is pulled."""
        image = self.find(name)
        if image is None:
            raise Refused(
                Code.NOT_FOUND, f"there is no image {name!r} on this node: pull it before"
            )
        known = self._by_id(name) is None
        return image, name if known else next(iter((*image.tags, *image.digests, image.id)))

    def present(self) -> list[Image]:
        """Oldest first."""
        with self._core.lock:
            return [*self._table.values()]

    def add(self, image: Image) -> Image:
        """Puts it there without a download; its tags leave the images that had them."""
        with self._core.lock:
            self._release(image.id, image.tags)
            present = self._table.get(image.id, image)
            kept = attrs.evolve(
                image,
                tags=_union(present.tags, image.tags),
                digests=_union(present.digests, image.digests),
                pinned=present.pinned or image.pinned,
            )
            self._table[image.id] = kept
            for reference in (*kept.tags, *kept.digests):
                self._references[reference] = ImageState.PRESENT
            return kept

    # -- inside -------------------------------------------------------------------------------

    def _download(self, key: tuple[str, Credentials], pull: Pull) -> None:
        reference, credentials = key
        try:
            pull.image = self.add(self._core.ports.images.pull(reference, credentials, pull))
        except Refused as refusal:
            pull.refusal = self._told(refusal)
        finally:
            with self._core.lock:
                self._become(reference, "pull failure" if pull.image is None else "pulled")
                if self._pulls.get(key) is pull:
                    del self._pulls[key]
            pull.end(reference)

    def _told(self, refusal: Refused) -> Refused:
        """With the word for a registry that cannot be reached, where this runtime says it."""
        if self._core.settings.images.tells_unavailable:
            return refusal
        return Refused(refusal.code, refusal.message.removeprefix(f"{UNAVAILABLE}: "))

    def _untag(self, image: Image, name: str) -> bool:
        """Takes one tag away; False where the name is an id or digest, or the last tag."""
        tags = [tag for tag in image.tags if tag != _tag(name)]
        if self._by_id(name) or len(tags) in (0, len(image.tags)):
            return False
        self._table[image.id] = attrs.evolve(image, tags=tuple(tags))
        self._references.pop(_tag(name), None)
        return True

    def _become(self, reference: str, event: ImageEvent) -> None:
        state = self._references.get(reference, ImageState.ABSENT)
        self._references[reference] = IMAGE[state, event]

    def _by_id(self, name: str) -> Image | None:
        if not _ID.fullmatch(name):
            return None
        digits = name.removeprefix("sha256:")
        whole = self._table.get(f"sha256:{digits}")
        beginning = f"sha256:{digits}"
        matches = [image for id, image in self._table.items() if id.startswith(beginning)]
        return whole or (matches[0] if len(matches) == 1 else None)

    def _by_reference(self, name: str) -> Image | None:
        try:
            reference = _whole(name)
        except Refused:
            return None
        for image in self._table.values():
            if reference in image.tags or reference in image.digests:
                return image
        return None

    def _release(self, id: str, tags: Iterable[str]) -> None:
        moved = set(tags)
        for other in list(self._table.values()):
            if other.id != id and moved & set(other.tags):
                kept = tuple(tag for tag in other.tags if tag not in moved)
                self._table[other.id] = attrs.evolve(other, tags=kept)


def _whole(name: str) -> str:
    """The name with registry, repository and tag, or digest, which counts where there are both."""
    try:
        reference = parse(name)
    except Malformed as error:
        raise Refused(Code.INVALID_ARGUMENT, str(error)) from None
    return reference.digested or reference.tagged


def _tag(name: str) -> str:
    """The whole name with its tag; "" for what is no such name."""
    try:
        return parse(name).tagged
    except Malformed:
        return ""


def _given(name: str) -> str:
    if not name:
        raise Refused(Code.INVALID_ARGUMENT, "the image has no name: give one")
    return name


def _union(*several: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for names in several for name in names))
