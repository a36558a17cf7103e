"""Blobs by their digest, in memory or in a folder; what is there is whole."""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import tempfile
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Protocol

from refimpl.images.blobs import is_digest
from refimpl.wire.status import Code, Refused

__all__ = ["Blobs", "FolderBlobs", "MemoryBlobs", "WrongContent"]

_PIECE = 1 << 20
_HALF = ".new-"


class WrongContent(ValueError):
    """Content that is not that of its digest."""


class Blobs(Protocol):
    """A content-addressed store; digests are `sha256:` and 64 hexadecimal digits."""

    def has(self, digest: str) -> bool:
        """Whether it is there."""

    def pieces(self, digest: str) -> Iterator[bytes]:
        """Its content, a piece at a time; raises KeyError."""

    def write(self, digest: str, pieces: Iterable[bytes]) -> int:
        """Keeps it, once all of it is there and right; its size. Raises WrongContent, Refused
        (RESOURCE_EXHAUSTED), and what `pieces` raises, and has kept nothing then."""

    def remove(self, digest: str) -> None:
        """Gone; nothing where it is not there."""

    def size(self, digest: str) -> int:
        """In bytes; raises KeyError."""

    def digests(self) -> set[str]:
        """Of all that are there."""


class MemoryBlobs:
    """They go with the process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._blobs: dict[str, bytes] = {}

    def has(self, digest: str) -> bool:
        """Whether it is there."""
        return digest in self._blobs

    def pieces(self, digest: str) -> Iterator[bytes]:
        """All at once."""
        yield self._blobs[digest]

    def write(self, digest: str, pieces: Iterable[bytes]) -> int:
        """Keeps it."""
        content = b"".join(_checked(digest, pieces))
        with self._lock:
            self._blobs[digest] = content
        return len(content)

    def remove(self, digest: str) -> None:
        """Gone."""
        with self._lock:
            self._blobs.pop(digest, None)

    def size(self, digest: str) -> int:
        """In bytes."""
        return len(self._blobs[digest])

    def digests(self) -> set[str]:
        """Of all that are there."""
        with self._lock:
            return {*self._blobs}


class FolderBlobs:
    """`sha256/<digits>` in a folder, as in an OCI image layout; they outlive the process. Of one
    process at a time: what another was killed in the middle of writing goes first."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "sha256"
        self._folder.mkdir(parents=True, exist_ok=True)
        for half in self._folder.glob(f"{_HALF}*"):
            half.unlink(missing_ok=True)

    def path(self, digest: str) -> Path:
        """Where it lies; raises KeyError for what is no digest."""
        if not is_digest(digest):
            raise KeyError(digest)
        return self._folder / digest.partition(":")[2]

    def has(self, digest: str) -> bool:
        """Whether it is there."""
        return is_digest(digest) and self.path(digest).is_file()

    def pieces(self, digest: str) -> Iterator[bytes]:
        """A piece of a MiB at a time."""
        with self._open(digest) as content:
            while piece := content.read(_PIECE):
                yield piece

    def write(self, digest: str, pieces: Iterable[bytes]) -> int:
        """Written beside its place, and moved there once it is right."""
        size, path = 0, self.path(digest)
        with _refusing(path):
            handle, written = tempfile.mkstemp(dir=self._folder, prefix=_HALF)
        try:
            # Without a buffer, that closing would have to write to a disk that is full.
            with open(handle, "wb", buffering=0) as content:
                for piece in _checked(digest, pieces):
                    with _refusing(path):
                        size += _write(content, piece)
            with _refusing(path):
                os.replace(written, path)
        except BaseException:
            os.unlink(written)
            raise
        return size

    def remove(self, digest: str) -> None:
        """Gone."""
        self.path(digest).unlink(missing_ok=True)

    def size(self, digest: str) -> int:
        """In bytes."""
        with self._open(digest) as content:
            return os.fstat(content.fileno()).st_size

    def digests(self) -> set[str]:
        """Of all that are there."""
        names = {f"sha256:{each.name}" for each in self._folder.iterdir()}
        return {name for name in names if is_digest(name)}

    def _open(self, digest: str) -> IO[bytes]:
        try:
            return self.path(digest).open("rb")
        except FileNotFoundError:
            raise KeyError(digest) from None


def _write(file: io.FileIO, piece: bytes) -> int:
    """All of it; its length."""
    rest = memoryview(piece)
    while rest:
        rest = rest[file.write(rest) :]
    return len(piece)


@contextlib.contextmanager
def _refusing(path: Path) -> Iterator[None]:
    """A disk that is full is no failure of where the content comes from."""
    try:
        yield
    except OSError as error:
        raise Refused(Code.RESOURCE_EXHAUSTED, f"{path} cannot be written: {error}") from None


def _checked(digest: str, pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The pieces as they come; raises WrongContent at their end unless they are those of it."""
    actual = hashlib.sha256()
    for piece in pieces:
        actual.update(piece)
        yield piece
    if f"sha256:{actual.hexdigest()}" != digest:
        raise WrongContent(f"the content of {digest} is that of sha256:{actual.hexdigest()}")
