"""Images of the oci model: those of registries, and without a network what stands for them; their
layers are unpacked when a pull ends."""

from __future__ import annotations

from collections.abc import Iterable

from refimpl.cri.images import RegistryImages
from refimpl.cri.oci.shelf import made_up
from refimpl.cri.oci.snapshots import Snapshots
from refimpl.cri.state.models import Image
from refimpl.cri.state.ports import Caller
from refimpl.images.client.http import is_loopback
from refimpl.images.client.pull import inflated
from refimpl.images.credentials import Credentials
from refimpl.images.references import parse
from refimpl.images.store import Blobs

__all__ = ["OciImages", "content_of"]

_GZIP = b"\x1f\x8b"


class OciImages:
    """real: every image is pulled; otherwise those of a registry on this machine."""

    def __init__(self, source: RegistryImages, snapshots: Snapshots, *, real: bool) -> None:
        self._source, self._snapshots, self._real = source, snapshots, real

    def pull(self, reference: str, credentials: Credentials, caller: Caller) -> Image:
        """Raises Refused, and has kept nothing then."""
        named = parse(reference)
        if self._real or is_loopback(named.domain):
            image = self._source.pull(reference, credentials, caller)
        else:
            image = self._source.add(named, made_up(named))
        try:
            self._snapshots.hold(image.id, image.layers)
        except BaseException:
            self._source.forget(image)
            raise
        return image

    def forget(self, image: Image) -> None:
        """Its layers go once no container stands on them."""
        self._source.forget(image)
        self._snapshots.release(image.id)


def content_of(blobs: Blobs, digest: str) -> Iterable[bytes]:
    """The archive of a layer, however it is packed."""
    pieces = iter(blobs.pieces(digest))
    first = next(pieces, b"")

    def whole() -> Iterable[bytes]:
        yield first
        yield from pieces

    return inflated(iter(whole())) if first.startswith(_GZIP) else whole()
