"""Images of the virtual model: those of a registry on this machine are pulled, any other is made
up, as somebody who works without a network wants it."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from refimpl.cri.images import RegistryImages
from refimpl.cri.state.models import Image
from refimpl.cri.state.ports import Caller, ImageSource
from refimpl.cri.state.pulls import UNAVAILABLE
from refimpl.cri.virtual.known_images import known
from refimpl.cri.virtual.machine.volumes import content_of
from refimpl.images.client.http import is_loopback
from refimpl.images.credentials import Credentials
from refimpl.images.references import Reference, parse
from refimpl.wire.status import Code, Refused

__all__ = ["AnyImages", "VirtualImages", "refuse_nobody"]

_SIZE = 1 << 20
_PATH = "PATH=/bin"
_NOBODY = ".invalid"
"""RFC 2606: no host has a name that ends so."""


class VirtualImages:
    """all_real: no image is made up. made_up: where those are from."""

    def __init__(
        self, real: RegistryImages, *, all_real: bool = False, made_up: ImageSource | None = None
    ) -> None:
        self._real, self._all_real = real, all_real
        self._made_up = made_up or AnyImages()

    def pull(self, reference: str, credentials: Credentials, caller: Caller) -> Image:
        """Raises Refused."""
        real = self._all_real or is_loopback(parse(reference).domain)
        source: ImageSource = self._real if real else self._made_up
        return source.pull(reference, credentials, caller)

    def content(self, image: Image) -> dict[str, bytes | None]:
        """Its files; see `machine.volumes`."""
        return content_of(self._real.blobs, image)

    def forget(self, image: Image) -> None:
        """One that was made up has no content."""
        self._real.forget(image)


class AnyImages:
    """Whatever reference somebody comes up with, there is an image of it. Content is made of
    repository and tag, so that it is the same in every run, and at every registry but those in
    `.invalid`, which nobody serves."""

    def pull(self, reference: str, *_who: Any) -> Image:
        """UNKNOWN, beginning with the word that kubelet looks for, where nobody serves it."""
        named = parse(reference)
        refuse_nobody(named)
        return image_of(named)

    def forget(self, image: Image) -> None:
        """It has no content."""


def refuse_nobody(named: Reference) -> None:
    """UNKNOWN, beginning with the word that kubelet looks for, where nobody serves it."""
    if named.domain.partition(":")[0].endswith(_NOBODY):
        raise Refused(
            Code.UNKNOWN,
            f"{UNAVAILABLE}: there is no host {named.domain}, so that {named} cannot be pulled",
        )


def image_of(named: Reference) -> Image:
    """The image that is there under that reference."""
    facts = known(named.repository)
    content = named.digest or _digest(facts.content or f"{named.repository}:{named.tag}")
    chosen = {"Entrypoint": facts.command, "Env": [_PATH], "User": facts.user}
    return Image(
        id=_digest(f"config of {content}"),
        size=_SIZE,
        tags=() if named.digest else (named.tagged,),
        digests=(f"{named.name}@{content}",),
        user=facts.user,
        entrypoint=facts.command,
        env=(_PATH,),
        config=json.dumps({"config": chosen}),
    )


def _digest(text: str) -> str:
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"
