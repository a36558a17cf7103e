"""One call at a time for a container, and GC alone (CNI 1.1, "Lifecycle and ordering").

One lock file guards a cache directory, for threads and processes alike: a call locks the one byte
that stands for its container, GC locks all bytes. The kernel drops the locks of who dies.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import struct
from collections.abc import Iterator
from pathlib import Path

__all__ = ["Locks"]

_EVERYTHING = 0
"""A length of 0 is up to the end of all files."""


class Locks:
    """Locks below a cache directory; none at all where `wanted` is false."""

    def __init__(self, folder: Path, *, wanted: bool = True) -> None:
        self._path = folder / "refimpl.lock"
        self._wanted = wanted

    def container(self, container_id: str) -> contextlib.AbstractContextManager[None]:
        """Nobody else works on that container, and no GC runs, while this lasts."""
        digest = hashlib.sha256(container_id.encode()).digest()
        return self._locked(int.from_bytes(digest[:7]), 1)

    def everything(self) -> contextlib.AbstractContextManager[None]:
        """Nobody else works on anything below this cache directory while this lasts."""
        return self._locked(0, _EVERYTHING)

    @contextlib.contextmanager
    def _locked(self, start: int, length: int) -> Iterator[None]:
        if not self._wanted:
            yield
            return
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        number = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            # struct flock; locks of open file descriptions hold between threads, too.
            area = struct.pack("hhqqi", fcntl.F_WRLCK, os.SEEK_SET, start, length, 0)
            fcntl.fcntl(number, fcntl.F_OFD_SETLKW, area)
            yield
        finally:
            os.close(number)
