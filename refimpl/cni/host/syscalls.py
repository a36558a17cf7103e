"""The system calls below sandbox and kernel that Python 3.11 has no name for (os.unshare and
os.setns came with 3.12, mounts never), each raising OSError with what was asked in its text.

All act on the calling thread alone, which is why paths go through /proc/thread-self and never
through /proc/self: that one shows the main thread.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import threading
from collections.abc import Iterator

__all__ = [
    "FS",
    "NEWNET",
    "NEWNS",
    "NEWUSER",
    "has_capability",
    "here",
    "inside",
    "inside_path",
    "mount",
    "open_tree",
    "place_tree",
    "setns",
    "task",
    "umount",
    "unshare",
]

FS, NEWNS, NEWUSER, NEWNET = 0x0200, 0x0002_0000, 0x1000_0000, 0x4000_0000
"""Namespace kinds, and working and root directory (FS), as in linux/sched.h."""

_NAMES = {FS: "working directory", NEWNS: "mount", NEWUSER: "user", NEWNET: "network"}


@functools.cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _checked(result: int, what: str) -> None:
    if result:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")


def unshare(kinds: int) -> None:
    """Gives the calling thread its own of these kinds (unshare(2))."""
    names = " and ".join(name for kind, name in _NAMES.items() if kind & kinds)
    _checked(_libc().unshare(kinds), f"making a new {names}{' namespace' * (kinds != FS)}")


def setns(namespace: int, kind: int) -> None:
    """Moves the calling thread into the namespace behind an open file (setns(2))."""
    _checked(_libc().setns(namespace, kind), f"entering a {_NAMES[kind]} namespace")


def mount(source: str, target: str, *, kind: str = "", flags: int = 0, options: str = "") -> None:
    """mount(2); texts are paths and options, flags the MS_ ones of sys/mount.h."""
    texts = [text.encode() or None for text in (source, target, kind)]
    result = _libc().mount(*texts, ctypes.c_ulong(flags), options.encode() or None)
    _checked(result, f"mounting {kind or source or 'over'} on {target}")


def umount(target: str) -> None:
    """Takes the mount off a path now, whoever still uses it (umount2 with MNT_DETACH)."""
    _checked(_libc().umount2(os.fsencode(target), 2), f"unmounting {target}")


# open_tree and move_mount have one number on every architecture, and glibc before 2.36 no name.
# Linux 5.2 has them.
_OPEN_TREE, _MOVE_MOUNT, _AT_FDCWD = 428, 429, -100
_CLONE, _RECURSIVE, _CLOEXEC, _SOURCE_IS_OPEN = 0x1, 0x8000, os.O_CLOEXEC, 0x4


def open_tree(path: str) -> int:
    """An open file that holds a copy of the mounts at and below a path (open_tree(2))."""
    flags = _CLONE | _RECURSIVE | _CLOEXEC
    result: int = _libc().syscall(_OPEN_TREE, _AT_FDCWD, path.encode(), flags)
    _checked(int(result < 0), f"copying the mounts below {path}")
    return result


def place_tree(opened: int, path: str) -> None:
    """Mounts what `open_tree` copied on a directory (move_mount(2))."""
    place = (_AT_FDCWD, path.encode(), _SOURCE_IS_OPEN)
    _checked(_libc().syscall(_MOVE_MOUNT, opened, b"", *place), f"mounting a copy on {path}")


def task() -> str:
    """The calling thread in /proc, by numbers: means the same thread when a child reads it."""
    return f"/proc/{os.getpid()}/task/{threading.get_native_id()}"


def here(kind: str) -> int:
    """An open file of the calling thread's own namespace, kind "net" or "mnt"."""
    return os.open(f"{task()}/ns/{kind}", os.O_RDONLY | os.O_CLOEXEC)


@contextlib.contextmanager
def inside(namespace: int | None) -> Iterator[None]:
    """The calling thread in another network namespace: an open file's, or a new one for None."""
    back = here("net")
    try:
        if namespace is None:
            unshare(NEWNET)
        else:
            setns(namespace, NEWNET)
        try:
            yield
        finally:
            setns(back, NEWNET)
    finally:
        os.close(back)


@contextlib.contextmanager
def inside_path(path: str) -> Iterator[None]:
    """The calling thread in the network namespace at a path; where it is for an empty one."""
    if not path:
        yield
        return
    namespace = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        with inside(namespace):
            yield
    finally:
        os.close(namespace)


def has_capability(number: int) -> bool:
    """Whether the calling thread holds a capability in its own user namespace (capabilities(7))."""
    with open(f"{task()}/status", encoding="utf-8") as lines:
        effective = next(line.split()[1] for line in lines if line.startswith("CapEff:"))
    return bool(int(effective, 16) >> number & 1)
