"""What is mounted on this machine, and how a folder is freed of it."""

from __future__ import annotations

import contextlib
import fcntl
import os
from pathlib import Path

from refimpl.cni.host import syscalls

__all__ = ["below", "mount_points", "release", "table"]

MOUNTINFO = Path("/proc/self/mountinfo")
_LOOP_CLR_FD = 0x4C01  # linux/loop.h


def mount_points() -> list[str]:
    """The mount points of this process, one entry a layer (proc(5), mountinfo)."""
    return [point for point, _ in table()]


def table() -> list[tuple[str, str]]:
    """Mount point and whole line of each mount, in the order of mounting (proc(5), mountinfo)."""
    # A path is any bytes, and only blanks, newlines and backslashes are escaped in it.
    lines = MOUNTINFO.read_text(errors="surrogateescape").split("\n")
    return [(_unescape(line.split(" ")[4]), line) for line in lines if line]


def _unescape(text: str) -> str:
    return (
        text.encode("latin-1", "backslashreplace").decode("unicode_escape")
        if "\\" in text
        else text
    )


def below(path: str) -> list[str]:
    """The mount points at a path and below it, the last mounted first."""
    real = os.path.realpath(path)
    return [point for point in reversed(mount_points()) if f"{point}/".startswith(f"{real}/")]


def release(path: str) -> None:
    """Takes off what is mounted at a path and below it, whoever uses it, and lets go of devices
    over files there. Raises OSError."""
    for point in below(path):
        syscalls.umount(point)
    for loop in Path("/sys/block").glob("loop*/loop/backing_file"):
        with contextlib.suppress(OSError):  # let go of in between
            if loop.read_text().startswith(f"{os.path.realpath(path)}/"):
                _let_go(f"/dev/{loop.parent.parent.name}")


def _let_go(device: str) -> None:
    number = os.open(device, os.O_RDONLY)
    try:
        fcntl.ioctl(number, _LOOP_CLR_FD)
    finally:
        os.close(number)
