"""Linux mounts without a shell: mount(2), umount2(2), the mount table, and option strings.

The system calls are reached through ctypes: a bind and its removal cost about 80 us, the
`mount` program twenty times that. Import only where mounts are wanted: other systems lack them.
"""

from __future__ import annotations

import ctypes
import errno
import os
import re
from collections.abc import Iterable
from pathlib import Path

import attrs

from refimpl.csi.storage.bounds import ANYWHERE, Bounds
from refimpl.wire.status import Code, Refused

__all__ = [
    "MountEntry",
    "MountOptions",
    "bind",
    "file_system_words",
    "inside",
    "mount",
    "options",
    "options_at",
    "remount",
    "table",
    "unmount",
]

MS_RDONLY = 1
MS_NOSUID = 2
MS_NODEV = 4
MS_NOEXEC = 8
MS_SYNCHRONOUS = 16
MS_REMOUNT = 32
MS_DIRSYNC = 128
MS_NOATIME = 1024
MS_NODIRATIME = 2048
MS_BIND = 4096
MS_RELATIME = 1 << 21
MS_STRICTATIME = 1 << 24
MS_LAZYTIME = 1 << 25
_ATIME = MS_NOATIME | MS_RELATIME | MS_STRICTATIME
# What a bind may differ in from the file system below it (mount(2), remounting a bind).
_OF_A_BIND = MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_NODIRATIME | _ATIME

MNT_DETACH = 2
UMOUNT_NOFOLLOW = 8
_ST_RELATIME = 4096

_WORDS = {
    "ro": (MS_RDONLY, 0),
    "rw": (0, MS_RDONLY),
    "nosuid": (MS_NOSUID, 0),
    "suid": (0, MS_NOSUID),
    "nodev": (MS_NODEV, 0),
    "dev": (0, MS_NODEV),
    "noexec": (MS_NOEXEC, 0),
    "exec": (0, MS_NOEXEC),
    "sync": (MS_SYNCHRONOUS, 0),
    "async": (0, MS_SYNCHRONOUS),
    "dirsync": (MS_DIRSYNC, 0),
    "noatime": (MS_NOATIME, _ATIME),
    "atime": (MS_RELATIME, _ATIME),
    "relatime": (MS_RELATIME, _ATIME),
    "norelatime": (0, MS_RELATIME),
    "strictatime": (MS_STRICTATIME, _ATIME),
    "nodiratime": (MS_NODIRATIME, 0),
    "diratime": (0, MS_NODIRATIME),
    "lazytime": (MS_LAZYTIME, 0),
    "defaults": (0, 0),
}
# Words that would turn the call into another operation on the mount table.
_FORBIDDEN = {"bind", "rbind", "remount", "move", "shared", "slave", "private", "unbindable"}
_SELINUX = ("context", "fscontext", "defcontext", "rootcontext")
# A comma inside double quotes belongs to the value: context="a:b:c:s0,s1".
_SPLIT = re.compile(r',(?=(?:[^"]*"[^"]*")*[^"]*$)')
_ESCAPED = re.compile(r"\\([0-7]{3})")


@attrs.frozen
class MountOptions:
    """Mount options sorted out: bits to set and to clear, and words for the file system."""

    set: int = 0
    clear: int = 0
    words: tuple[str, ...] = ()

    def applied(self, bits: int) -> int:
        """`bits` (MS_*) with these options applied."""
        return (bits & ~self.clear) | self.set


@attrs.frozen
class MountEntry:
    """One line of mountinfo: `root` inside the file system, seen at `point`."""

    root: str
    point: str
    flags: str
    fs_type: str
    source: str
    device: str


def options(flags: Iterable[str]) -> MountOptions:
    """Sorts mount flags as a caller sends them ("noatime", "nodev,ro", 'context="..."').

    Raises INVALID_ARGUMENT for a word that asks for another operation than a mount.
    """
    bits, clear, words = 0, 0, []
    for word in (w for flag in flags for w in _SPLIT.split(flag) if w):
        if word in _FORBIDDEN:
            raise Refused(
                Code.INVALID_ARGUMENT,
                f"mount flag {word!r} is an operation of its own; send options of a mount only",
            )
        if word in _WORDS:
            on, off = _WORDS[word]
            bits, clear = (bits & ~off) | on, (clear & ~on) | off
        else:
            words.append(word)
    return MountOptions(bits, clear, tuple(words))


def file_system_words(words: Iterable[str]) -> str:
    """The words as mount(2) takes them; SELinux labels are dropped where SELinux is off."""
    labels = Path("/sys/fs/selinux/enforce").exists()
    passed = (w for w in words if labels or w.split("=", 1)[0] not in _SELINUX)
    return ",".join(passed)


def mount(source: str | None, target: str, fs_type: str | None, bits: int, words: str = "") -> None:
    """mount(2). Raises OSError."""
    _check(
        _libc().mount(_raw(source), _raw(target), _raw(fs_type), bits, _raw(words or None)), target
    )


def bind(
    source: str,
    target: str,
    options: MountOptions = MountOptions(),
    bounds: Bounds = ANYWHERE,
) -> None:
    """Makes `source` visible at `target`; read-only and the like hold from the second step on.

    Raises OSError, and INVALID_ARGUMENT for a target out of bounds; leaves no mount behind then.
    """
    with bounds.pinned(target) as point:
        mount(source, point, None, MS_BIND)
    if not (options.set | options.clear) & _OF_A_BIND:
        return
    try:
        with bounds.pinned(target) as point:
            remount(point, options)
    except OSError:
        unmount(target)
        raise


def remount(target: str, options: MountOptions) -> None:
    """Changes the flags of the bind at `target`; what it has and nobody named stays.

    Inside a user namespace inherited flags are locked, so that they must be repeated.
    """
    current = options_at(target).set
    try:
        _remount(target, options.applied(current))
    except PermissionError:
        # A user namespace may not change how access times are kept: keep them as they are.
        if not (options.set | options.clear) & _ATIME:
            raise
        _remount(target, options.applied(current) & ~_ATIME | current & _ATIME)


def _remount(target: str, bits: int) -> None:
    mount(None, target, None, MS_REMOUNT | MS_BIND | (bits & _OF_A_BIND))


def options_at(point: str) -> MountOptions:
    """What the mount at `point` has set. Raises OSError."""
    flags = os.statvfs(point).f_flag
    bits = flags & (MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_NOATIME | MS_NODIRATIME)
    return MountOptions(bits | (MS_RELATIME if flags & _ST_RELATIME else 0))


def unmount(target: str, *, lazy: bool = False) -> bool:
    """Takes the topmost mount off `target`, never through a symlink; False: none was there.

    Raises OSError, EBUSY while files below are open and `lazy` is off.
    """
    if not _libc().umount2(_raw(target), UMOUNT_NOFOLLOW | (MNT_DETACH if lazy else 0)):
        return True
    number = ctypes.get_errno()
    if number in (errno.EINVAL, errno.ENOENT):
        return False
    raise OSError(number, os.strerror(number), target)


def table() -> list[MountEntry]:
    """The mount table of this process, in order of mounting; empty where there is none."""
    try:
        text = Path("/proc/self/mountinfo").read_bytes().decode(errors="surrogateescape")
    except OSError:
        return []
    return [_line(line) for line in text.splitlines()]


def inside(mounted: list[MountEntry], path: str) -> tuple[str, str]:
    """Where a real path lies: (path inside its file system, device "major:minor")."""
    covering = [m for m in mounted if path == m.point or path.startswith(m.point.rstrip("/") + "/")]
    if not covering:
        return path, ""
    nearest = max(covering, key=lambda m: len(m.point))
    below = path[len(nearest.point.rstrip("/")) :]
    return (nearest.root.rstrip("/") + below).rstrip("/"), nearest.device


def _line(line: str) -> MountEntry:
    # proc(5): id parent major:minor root point flags optional... - type source options
    before, after = line.split(" - ", 1)
    _, _, device, root, point, flags = before.split(" ")[:6]
    fs_type, source = after.split(" ")[:2]
    return MountEntry(_plain(root), _plain(point), flags, fs_type, _plain(source), device)


def _plain(text: str) -> str:
    return _ESCAPED.sub(lambda match: chr(int(match[1], 8)), text)


def _raw(text: str | None) -> bytes | None:
    return None if text is None else os.fsencode(text)


def _libc() -> ctypes.CDLL:
    return _LIBC


def _check(result: int, path: str) -> None:
    if result:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), path)


_LIBC = ctypes.CDLL(None, use_errno=True)
if hasattr(_LIBC, "umount2"):  # Linux
    _LIBC.mount.argtypes = (
        ctypes.c_char_p,
        ctypes.c_char_p,
        ctypes.c_char_p,
        ctypes.c_ulong,
        ctypes.c_char_p,
    )
    _LIBC.umount2.argtypes = (ctypes.c_char_p, ctypes.c_int)
