"""Images without a registry: whatever reference somebody comes up with, there is an image of it."""

from __future__ import annotations

import hashlib

from refimpl.cri.state.models import Image
from refimpl.images.references import Reference, parse
from refimpl.wire.status import Code, Refused

__all__ = ["AnyImages"]

_SIZE = 1 << 20
_FOREVER = ("/pause",)
_NOBODY = ".invalid"
"""RFC 2606: no host has a name that ends so."""


class AnyImages:
    """Content is made of repository and tag, so that it is the same in every run, and at every
    registry but those in `.invalid`, which nobody serves."""

    def pull(self, reference: str, auth: object = None) -> Image:
        """UNKNOWN, beginning with the word that kubelet looks for, where nobody serves it."""
        named = parse(reference)
        if named.domain.partition(":")[0].endswith(_NOBODY):
            raise Refused(
                Code.UNKNOWN,
                f"RegistryUnavailable: there is no host {named.domain}, so that {named} cannot be"
                " pulled",
            )
        return image_of(named)


def image_of(named: Reference) -> Image:
    """The image that is there under that reference."""
    content = named.digest or _digest(f"{named.repository}:{named.tag}")
    return Image(
        id=_digest(f"config of {content}"),
        size=_SIZE,
        tags=() if named.digest else (named.tagged,),
        digests=(f"{named.name}@{content}",),
        entrypoint=_FOREVER,
        env=("PATH=/bin",),
    )


def _digest(text: str) -> str:
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"
