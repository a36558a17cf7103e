"""Loop devices: a regular file as a block device (loop(4)), through ioctl only."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import struct
from pathlib import Path

__all__ = ["attach", "attached", "autoclears", "detach", "grow", "is_readonly"]

LOOP_SET_FD = 0x4C00
LOOP_CLR_FD = 0x4C01
LOOP_SET_STATUS64 = 0x4C04
LOOP_SET_CAPACITY = 0x4C07
LOOP_CONFIGURE = 0x4C0A
LOOP_CTL_GET_FREE = 0x4C82
_AUTOCLEAR = 4
_MAJOR = 7
_INFO64 = struct.Struct("=5Q4I64s64s32s2Q")
_CONFIG = struct.Struct("=2I232s8Q")
_ATTEMPTS = 64


def attach(path: str, *, readonly: bool = False, autoclear: bool = False) -> tuple[str, int]:
    """A free device over `path`: its name and an open descriptor that the caller closes.

    `autoclear`: the kernel detaches the device after its last user, so close the descriptor only
    after mounting. Raises OSError: ENOENT or EACCES where the machine lends no loop devices.
    """
    backing = os.open(path, os.O_RDONLY if readonly else os.O_RDWR)
    try:
        for _ in range(_ATTEMPTS):
            device, descriptor = _free(readonly)
            try:
                _configure(descriptor, backing, _info(path, autoclear))
            except OSError as error:
                os.close(descriptor)
                if error.errno != errno.EBUSY:  # somebody else was quicker: take the next one
                    raise
                continue
            return device, descriptor
    finally:
        os.close(backing)
    raise OSError(errno.EBUSY, "no free loop device", path)


def detach(device: str) -> None:
    """Detaches the device; one that is still open only after its last user. Raises OSError."""
    try:
        descriptor = os.open(device, os.O_RDONLY)
        try:
            fcntl.ioctl(descriptor, LOOP_CLR_FD)
        finally:
            os.close(descriptor)
    except OSError as error:
        if error.errno not in (errno.ENXIO, errno.ENOENT):  # already gone
            raise


def grow(device: str) -> None:
    """Tells the device that its file has grown. Raises OSError."""
    descriptor = os.open(device, os.O_RDONLY)
    try:
        fcntl.ioctl(descriptor, LOOP_SET_CAPACITY)
    finally:
        os.close(descriptor)


def attached() -> dict[str, str]:
    """Every device in use on this machine and the path of its file."""
    devices = {}
    for entry in Path("/sys/block").glob("loop*/loop/backing_file"):
        try:
            devices[f"/dev/{entry.parts[3]}"] = entry.read_text().rstrip("\n")
        except OSError:  # detached between the listing and the look
            continue
    return devices


def is_readonly(device: str) -> bool:
    """True for a device attached without the right to write."""
    return _sysfs(device, "ro") == "1"


def autoclears(device: str) -> bool:
    """True for a device that the kernel detaches after its last user."""
    return _sysfs(device, "loop/autoclear") == "1"


def _sysfs(device: str, name: str) -> str:
    try:
        return Path("/sys/block", device.rpartition("/")[2], name).read_text().strip()
    except OSError:
        return ""


def _free(readonly: bool) -> tuple[str, int]:
    control = os.open("/dev/loop-control", os.O_RDWR)
    try:
        number = fcntl.ioctl(control, LOOP_CTL_GET_FREE)
    finally:
        os.close(control)
    device = f"/dev/loop{number}"
    if not os.path.exists(device):  # a container with its own /dev: nobody makes the node for us
        os.mknod(device, stat.S_IFBLK | 0o600, os.makedev(_MAJOR, number))
    return device, os.open(device, os.O_RDONLY if readonly else os.O_RDWR)


def _info(path: str, autoclear: bool) -> bytes:
    name = os.fsencode(path)[-63:]
    flags = _AUTOCLEAR if autoclear else 0
    return _INFO64.pack(0, 0, 0, 0, 0, 0, 0, 0, flags, name, b"", b"", 0, 0)


def _configure(descriptor: int, backing: int, info: bytes) -> None:
    try:
        config = _CONFIG.pack(backing, 0, info, *(0,) * 8)
        fcntl.ioctl(descriptor, LOOP_CONFIGURE, config)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTTY):
            raise
        # Linux before 5.8 takes two steps, of which the second costs some 10 ms.
        fcntl.ioctl(descriptor, LOOP_SET_FD, backing)
        fcntl.ioctl(descriptor, LOOP_SET_STATUS64, info)
