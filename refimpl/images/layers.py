"""Layers: changes of a file system as a tar archive that is the same each time (OCI, layer.md)."""

from __future__ import annotations

import gzip
import io
import tarfile
from collections.abc import Iterable
from typing import Literal

import attrs

from refimpl.images.blobs import DOCKER, OCI, Blob, Family, digest_of

__all__ = ["Entry", "Layer", "folder", "link", "plain", "removed"]

_TYPES = {"file": tarfile.REGTYPE, "folder": tarfile.DIRTYPE, "symlink": tarfile.SYMTYPE}
_TYPES |= {"hardlink": tarfile.LNKTYPE}


@attrs.frozen
class Entry:
    """A file, folder or link. path: without a leading slash. target: of a link."""

    path: str
    kind: Literal["file", "folder", "symlink", "hardlink"] = "file"
    content: bytes = attrs.field(default=b"", repr=False)
    mode: int = 0o644
    target: str = ""
    uid: int = 0
    gid: int = 0


def plain(path: str, content: bytes | str, mode: int = 0o644) -> Entry:
    """A file."""
    return Entry(path, content=content.encode() if isinstance(content, str) else content, mode=mode)


def folder(path: str, mode: int = 0o755) -> Entry:
    """A folder."""
    return Entry(path, "folder", mode=mode)


def link(path: str, target: str) -> Entry:
    """A symbolic link."""
    return Entry(path, "symlink", mode=0o777, target=target)


def removed(path: str) -> Entry:
    """What a lower layer had is gone: a whiteout."""
    head, _, name = path.rpartition("/")
    return Entry(f"{head}/.wh.{name}" if head else f".wh.{name}")


def _tuple(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    return tuple(entries)


@attrs.frozen
class Layer:
    """entries: in the order in which they are unpacked. diff_id: of the archive, uncompressed."""

    entries: tuple[Entry, ...] = attrs.field(converter=_tuple)
    compressed: bool = True
    archive: bytes = attrs.field(init=False, repr=False)
    diff_id: str = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "archive", _archive(self.entries))
        object.__setattr__(self, "diff_id", digest_of(self.archive))

    def blob(self, family: Family) -> Blob:
        """As it lies in a registry."""
        types = OCI if family == "oci" else DOCKER
        if not self.compressed:
            return Blob(types.layer, self.archive)
        return Blob(types.gzip_layer, gzip.compress(self.archive, mtime=0))


def _archive(entries: Iterable[Entry]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for entry in entries:
            info = tarfile.TarInfo(entry.path)
            info.type, info.mode = _TYPES[entry.kind], entry.mode
            info.uid, info.gid = entry.uid, entry.gid
            info.linkname, info.size = entry.target, len(entry.content)
            archive.addfile(info, io.BytesIO(entry.content))
    return packed.getvalue()
