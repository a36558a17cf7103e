"""Content and its name (OCI image-spec 1.1, descriptors)."""

from __future__ import annotations

import hashlib
import json
from typing import Any, Literal

import attrs

__all__ = [
    "DOCKER",
    "OCI",
    "Blob",
    "Family",
    "MediaTypes",
    "digest_of",
    "document",
    "is_digest",
]

Family = Literal["oci", "docker"]


@attrs.frozen
class MediaTypes:
    """How a family of formats calls its parts."""

    index: str
    manifest: str
    config: str
    layer: str
    gzip_layer: str


OCI = MediaTypes(
    index="application/vnd.oci.image.index.v1+json",
    manifest="application/vnd.oci.image.manifest.v1+json",
    config="application/vnd.oci.image.config.v1+json",
    layer="application/vnd.oci.image.layer.v1.tar",
    gzip_layer="application/vnd.oci.image.layer.v1.tar+gzip",
)
DOCKER = MediaTypes(
    index="application/vnd.docker.distribution.manifest.list.v2+json",
    manifest="application/vnd.docker.distribution.manifest.v2+json",
    config="application/vnd.docker.container.image.v1+json",
    layer="application/vnd.docker.image.rootfs.diff.tar",
    gzip_layer="application/vnd.docker.image.rootfs.diff.tar.gzip",
)

_HEX = frozenset("0123456789abcdef")


@attrs.frozen
class Blob:
    """A piece of content with its type."""

    media_type: str
    content: bytes = attrs.field(repr=False)
    digest: str = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "digest", digest_of(self.content))

    def descriptor(self, **more: Any) -> dict[str, Any]:
        """How another document refers to it; more: members such as `platform`."""
        size = len(self.content)
        return {"mediaType": self.media_type, "digest": self.digest, "size": size, **more}


def digest_of(content: bytes) -> str:
    """`sha256:` and 64 hexadecimal digits."""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def is_digest(text: str) -> bool:
    """Whether it has that form."""
    algorithm, _, value = text.partition(":")
    return algorithm == "sha256" and len(value) == 64 and set(value) <= _HEX


def document(members: dict[str, Any]) -> bytes:
    """JSON that is the same each time."""
    return json.dumps(members, sort_keys=True, separators=(",", ":")).encode()
