"""What a target prints goes to a file that never fills the disk: of a long one the beginning is let
go, as long as the target runs. Offsets in it stay what they were.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import threading
from collections.abc import Callable
from pathlib import Path

__all__ = ["KEPT", "bound", "shorten", "tail"]

KEPT = 64 << 20
"""Bytes of the end of the file that stay on the disk."""
READ = 16 << 20
"""Bytes of it that are looked at: Go prints a stack of every goroutine after its panic."""

_EVERY_S = 0.25
_KEEP_SIZE, _PUNCH_HOLE = 1, 2  # linux/falloc.h
_libc = ctypes.CDLL(None, use_errno=True)


def bound(path: Path, running: Callable[[], bool]) -> None:
    """Keeps the file short while something runs that writes to it."""

    def watch() -> None:
        while running():
            with contextlib.suppress(OSError):  # gone with its folder
                shorten(path)
            pause.wait(_EVERY_S)

    pause = threading.Event()
    threading.Thread(target=watch, name=f"output {path.name}", daemon=True).start()


def shorten(path: Path, kept: int = KEPT) -> None:
    """Lets go of all but the end of a file; it reads as zeros. Nothing where the file system cannot
    do that. Raises OSError."""
    with path.open("r+b") as file:
        size = os.fstat(file.fileno()).st_size
        if size > kept:
            length = ctypes.c_longlong(size - kept)
            flags = _KEEP_SIZE | _PUNCH_HOLE
            _libc.fallocate(file.fileno(), flags, ctypes.c_longlong(0), length)


def tail(path: Path, since: int = 0) -> str:
    """What was written after an offset, of a long text the end. Raises OSError."""
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        file.seek(max(since, size - READ))
        return file.read().lstrip(b"\0").decode(errors="replace")
