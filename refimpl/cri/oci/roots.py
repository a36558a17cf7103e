"""Files below a folder that somebody else has filled: no link in it leads out (openat2(2))."""

from __future__ import annotations

import ctypes
import errno
import os
from contextlib import suppress

__all__ = ["folder_inside", "open_inside", "read_inside"]

_OPENAT2, _IN_ROOT = 437, 0x10
_LARGEST = 1 << 20
_libc = ctypes.CDLL(None, use_errno=True)


class _How(ctypes.Structure):
    _fields_ = (
        ("flags", ctypes.c_uint64),
        ("mode", ctypes.c_uint64),
        ("resolve", ctypes.c_uint64),
    )


def open_inside(root: int, path: str, flags: int) -> int:
    """A descriptor of what a path below an open folder leads to, as a process sees it whose root
    that is. Raises OSError."""
    how = _How(flags | os.O_CLOEXEC, 0, _IN_ROOT)
    text = os.fsencode(path.strip("/") or ".")
    opened: int = _libc.syscall(_OPENAT2, root, text, ctypes.byref(how), ctypes.sizeof(how))
    if opened < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), path)
    return opened


def folder_inside(root: int, path: str) -> int:
    """As `open_inside`, of a folder that is made, with those above it, where it is not there.
    Raises OSError."""
    flags = os.O_PATH | os.O_DIRECTORY
    try:
        return open_inside(root, path, flags)
    except FileNotFoundError:
        above, _, name = path.strip("/").rpartition("/")
    parent = folder_inside(root, above)
    try:
        os.mkdir(name, 0o755, dir_fd=parent)
    except FileExistsError:  # a link that leads nowhere
        raise OSError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path) from None
    finally:
        os.close(parent)
    return open_inside(root, path, flags)


def read_inside(root: str, path: str) -> str:
    """The text of a file below a folder; empty where there is none, or none that can be read."""
    with suppress(OSError):
        top = os.open(root, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            opened = open_inside(top, path, os.O_RDONLY | os.O_NONBLOCK)
        finally:
            os.close(top)
        with open(opened, "rb") as file:
            content: bytes = file.read(_LARGEST)
        return content.decode(errors="replace")
    return ""
