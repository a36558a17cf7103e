"""A pull: from the name to all blobs of the image for this machine, each compared with its digest.

What is not right is not kept. What a pull that fails has kept before is for its caller to remove:
another pull may count on it.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, NoReturn

import attrs

from refimpl.images.blobs import DOCKER, OCI, Blob, is_digest
from refimpl.images.build import HOST, Platform
from refimpl.images.client.http import Http, Waiter
from refimpl.images.client.registry import Repository
from refimpl.images.credentials import NOBODY, Credentials
from refimpl.images.references import Reference
from refimpl.images.store import Blobs, WrongContent
from refimpl.wire.status import Code, Refused

__all__ = ["Pulled", "inflated", "pull"]

_INDEXES = (OCI.index, DOCKER.index)
_MANIFESTS = (OCI.manifest, DOCKER.manifest)
_CONFIGS = (OCI.config, DOCKER.config)
_PLAIN = (OCI.layer, DOCKER.layer)
_GZIP = (OCI.gzip_layer, DOCKER.gzip_layer)
_LARGEST_CONFIG = 4 << 20
_GZIP_WINDOW = 31
_PIECE = 1 << 20


@attrs.frozen
class Pulled:
    """digest: of what the name stands for, an index where it is one. config: parsed. layers: digest
    and media type of each, lowest first. size: of all in bytes, as it was downloaded. blobs: what
    the image needs in the store."""

    digest: str
    id: str
    config: Mapping[str, Any]
    layers: tuple[tuple[str, str], ...]
    size: int
    blobs: tuple[str, ...]


def pull(
    reference: Reference,
    blobs: Blobs,
    waiter: Waiter,
    credentials: Credentials = NOBODY,
    platform: Platform = HOST,
) -> Pulled:
    """The image, all of it in `blobs`. Raises Refused: NOT_FOUND, UNAUTHENTICATED,
    PERMISSION_DENIED; FAILED_PRECONDITION for content that is not what it should be; UNKNOWN for a
    registry that cannot be reached; CANCELLED once nobody waits."""
    repository = Repository(Http(waiter), reference, credentials)
    return _Download(reference, blobs, repository).whole(platform)


class _Download:
    """One under way."""

    def __init__(self, reference: Reference, blobs: Blobs, repository: Repository) -> None:
        self._reference, self._blobs, self._repository = reference, blobs, repository

    def whole(self, platform: Platform) -> Pulled:
        """All of the image."""
        named = self._reference.digest or self._reference.tag
        top = self._manifest(named)
        chosen = self._for(platform, top)
        manifest = _parsed(chosen)
        config = _descriptor(manifest.get("config"), "the config")
        layers = [_descriptor(each, "a layer") for each in _list(manifest, "layers")]
        if config["mediaType"] not in _CONFIGS:
            self._wrong(f"its config is {config['mediaType']}, which is no image's")
        for each in (config, *layers):
            self._fetch(each)
        details = self._config(config["digest"], layers)
        kept = [chosen.digest, config["digest"], *(each["digest"] for each in layers)]
        self._blobs.write(chosen.digest, [chosen.content])
        return Pulled(
            top.digest,
            config["digest"],
            details,
            tuple((each["digest"], each["mediaType"]) for each in layers),
            sum(self._blobs.size(digest) for digest in dict.fromkeys(kept)),
            tuple(dict.fromkeys(kept)),
        )

    def _manifest(self, named: str) -> Blob:
        blob = self._repository.manifest(named)
        if is_digest(named) and blob.digest != named:
            self._wrong(f"{named} is answered with the content of {blob.digest}")
        return blob

    def _for(self, platform: Platform, top: Blob) -> Blob:
        """The manifest for a machine: itself, or that which an index names for it."""
        if top.media_type not in _INDEXES:
            return top
        for each in _list(_parsed(top), "manifests"):
            on = each.get("platform") or {}
            if (on.get("architecture"), on.get("os")) == (platform.architecture, platform.os):
                return self._manifest(_descriptor(each, "a manifest")["digest"])
        raise Refused(
            Code.NOT_FOUND,
            f"{self._reference}: its index has nothing for {platform.os}/{platform.architecture}",
        )

    def _fetch(self, descriptor: Mapping[str, Any]) -> None:
        digest = descriptor["digest"]
        if self._blobs.has(digest):
            return
        limited = partial(_limited, most=descriptor["size"], digest=digest)
        try:
            self._repository.blob(digest, lambda pieces: self._blobs.write(digest, limited(pieces)))
        except WrongContent as error:
            self._wrong(str(error))

    def _config(self, digest: str, layers: list[dict[str, Any]]) -> dict[str, Any]:
        if self._blobs.size(digest) > _LARGEST_CONFIG:
            self._wrong(f"its config is larger than {_LARGEST_CONFIG} bytes")
        config = _parsed(Blob(OCI.config, b"".join(self._blobs.pieces(digest))))
        wanted = (config.get("rootfs") or {}).get("diff_ids") or []
        if len(wanted) != len(layers):
            self._wrong(f"its config names {len(wanted)} layers, its manifest {len(layers)}")
        for diff_id, layer in zip(wanted, layers, strict=True):
            if self._unpacked(layer) != diff_id:
                self._wrong(f"the layer {layer['digest']} does not unpack to {diff_id}")
        return config

    def _unpacked(self, layer: Mapping[str, Any]) -> str:
        pieces, kind = self._blobs.pieces(layer["digest"]), layer["mediaType"]
        if kind in _GZIP:
            pieces = inflated(pieces)
        elif kind not in _PLAIN:
            raise Refused(
                Code.UNIMPLEMENTED, f"{self._reference}: a layer of {kind} cannot be unpacked here"
            )
        actual = hashlib.sha256()
        try:
            for piece in pieces:
                actual.update(piece)
        except zlib.error as error:
            self._wrong(f"the layer {layer['digest']} is no gzip: {error}")
        return f"sha256:{actual.hexdigest()}"

    def _wrong(self, what: str) -> NoReturn:
        raise Refused(Code.FAILED_PRECONDITION, f"{self._reference}: {what}")


def _parsed(blob: Blob) -> dict[str, Any]:
    try:
        members: Any = json.loads(blob.content)
    except ValueError as error:
        raise Refused(Code.FAILED_PRECONDITION, f"{blob.digest} is no JSON: {error}") from None
    if not isinstance(members, dict):
        raise Refused(Code.FAILED_PRECONDITION, f"{blob.digest} is no JSON object")
    if blob.media_type not in (*_INDEXES, *_MANIFESTS, OCI.config):
        raise Refused(
            Code.FAILED_PRECONDITION, f"{blob.digest} is {blob.media_type!r}, no image manifest"
        )
    return members


def _list(members: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    listed = members.get(name) or []
    if not isinstance(listed, list) or not all(isinstance(each, dict) for each in listed):
        raise Refused(Code.FAILED_PRECONDITION, f"{name} of a manifest is no list of objects")
    return listed


def _descriptor(member: Any, what: str) -> dict[str, Any]:
    right = (
        isinstance(member, dict)
        and is_digest(str(member.get("digest")))
        and isinstance(member.get("mediaType"), str)
        and isinstance(member.get("size"), int)
    )
    if not right:
        raise Refused(
            Code.FAILED_PRECONDITION, f"{what} of a manifest is {member!r}, which is no descriptor"
        )
    described: dict[str, Any] = member
    return described


def _limited(pieces: Iterator[bytes], *, most: int, digest: str) -> Iterator[bytes]:
    """As long as the descriptor says, so that nobody can fill the disk."""
    left = most
    for piece in pieces:
        left -= len(piece)
        if left < 0:
            raise WrongContent(f"{digest} is longer than the {most} bytes of its descriptor")
        yield piece


def inflated(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """What was packed with gzip, in pieces of bounded size; several members follow one another."""
    unpack = zlib.decompressobj(_GZIP_WINDOW)
    for piece in pieces:
        rest = piece
        while rest:
            if unpack.eof:
                unpack = zlib.decompressobj(_GZIP_WINDOW)
            yield unpack.decompress(rest, _PIECE)
            rest = unpack.unused_data if unpack.eof else unpack.unconsumed_tail
    if not unpack.eof:
        raise zlib.error("it ends too early")
