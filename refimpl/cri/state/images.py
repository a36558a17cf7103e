"""Images on the node: found by id, tag and digest, pulled once, removed whole."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable
from typing import Any

import attrs

from refimpl.cri.state.lifecycle import IMAGE, ImageEvent, ImageState
from refimpl.cri.state.models import Image
from refimpl.cri.state.tables import Core
from refimpl.images.references import Malformed, parse
from refimpl.wire.status import Code, Refused

__all__ = ["Images"]

_ID = re.compile(r"(sha256:)?[0-9a-f]{3,64}")


@attrs.define(eq=False)
class _Pull:
    """One download; who asks for the same meanwhile gets what comes of it."""

    done: threading.Event = attrs.field(factory=threading.Event)
    image: Image | None = None
    refusal: Refused | None = None


class Images:
    """Those of one node, by id."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._table: dict[str, Image] = {}
        self._references: dict[str, ImageState] = {}
        self._pulls: dict[str, _Pull] = {}

    # -- what kubelet asks for ----------------------------------------------------------------

    def pull(self, name: str, auth: Any = None) -> Image:
        """The image, there from now on. INVALID_ARGUMENT for what is no reference; what its source
        refuses."""
        reference = _whole(_given(name))
        with self._core.lock:
            pull = self._pulls.get(reference)
            joined = pull is not None
            pull = pull or self._pulls.setdefault(reference, _Pull())
            self._become(reference, "pull")
        if joined:
            pull.done.wait()
        else:
            self._download(reference, auth, pull)
        if pull.refusal:
            raise pull.refusal
        assert pull.image is not None
        return pull.image

    def remove(self, name: str) -> None:
        """Gone with all its tags and digests, whichever of them was named; success where it is
        unknown (CRI RemoveImage)."""
        with self._core.lock:
            image = self.find(name)
            if image is None:
                return
            del self._table[image.id]
            for reference in (*image.tags, *image.digests):
                self._references.pop(reference, None)

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

    def _download(self, reference: str, auth: Any, pull: _Pull) -> None:
        try:
            pull.image = self.add(self._core.ports.images.pull(reference, auth))
        except Refused as refusal:
            pull.refusal = refusal
        finally:
            with self._core.lock:
                self._become(reference, "pull failure" if pull.image is None else "pulled")
                del self._pulls[reference]
            if pull.image is None and pull.refusal is None:
                pull.refusal = Refused(Code.UNKNOWN, f"{reference}: its download broke off")
            pull.done.set()

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


def _given(name: str) -> str:
    if not name:
        raise Refused(Code.INVALID_ARGUMENT, "the image has no name: give one")
    return name


def _union(*several: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for names in several for name in names))
