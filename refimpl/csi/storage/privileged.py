"""The storage modes that mount: what the machine allows, found by trying, and opening them."""

from __future__ import annotations

import functools
import os
import tempfile
from collections.abc import Callable

from refimpl.csi.storage import filesystems, loops, mounts
from refimpl.csi.storage.bind import BindStorage
from refimpl.csi.storage.loop import LoopStorage
from refimpl.wire.status import Code, Refused

__all__ = ["can_attach", "can_bind", "can_grow", "can_loop", "is_root", "opened", "opened_again"]

_CAP_SYS_RESOURCE = 24
_ALL_IDS = 2**32 - 1


def opened(mode: str, root: str) -> BindStorage:
    """Mode "bind" or "loop" below `root`. Raises FAILED_PRECONDITION where it cannot work."""
    if mode not in ("bind", "loop"):
        raise ValueError(
            f"storage mode {mode!r} is unknown; choose auto, memory, directory, bind or loop"
        )
    if not _tried(can_bind):
        raise Refused(
            Code.FAILED_PRECONDITION,
            f"storage mode {mode} needs the right to mount; run as root or under `unshare -Urm`, "
            "or choose storage mode directory",
        )
    if mode == "bind":
        return BindStorage(root, devices=_tried(can_attach), privileged=is_root())
    if not _tried(can_loop):
        raise Refused(
            Code.FAILED_PRECONDITION,
            "storage mode loop needs root, loop devices and mkfs.ext4, and one of them is missing; "
            "choose storage mode bind",
        )
    return LoopStorage(root, grows=can_grow(), privileged=is_root())


def opened_again(mode: str, root: str) -> BindStorage:
    """The storage of a root that was used in mode "bind" or "loop" before: what that takes was
    there, and is not tried by making files, for which the disk may have no room by now. Raises
    FAILED_PRECONDITION without the right to mount."""
    if not can_bind(os.path.realpath(root)):
        raise Refused(
            Code.FAILED_PRECONDITION,
            f"the volumes in {root!r} are kept in storage mode {mode}, which needs the right to "
            "mount; run as root",
        )
    if mode == "bind":
        return BindStorage(root, devices=_tried(can_attach), privileged=is_root())
    return LoopStorage(root, grows=can_grow(), privileged=is_root())


@functools.cache
def _tried(trial: Callable[[str], bool]) -> bool:
    # Once a process: the trials take some 20 ms, and a machine rarely changes its mind.
    try:
        with tempfile.TemporaryDirectory(prefix="refimpl-trial-") as directory:
            return trial(directory)
    except OSError:  # no room to try it
        return False


def can_bind(directory: str) -> bool:
    """True if a bind mount of the directory onto itself works."""
    try:
        mounts.bind(directory, directory)
        return mounts.unmount(directory)
    except OSError:
        return False


def can_grow() -> bool:
    """True if a file system may be grown in use: containers that may mount often may not."""
    with open("/proc/self/status", encoding="ascii") as file:
        masks = [int(line.split()[1], 16) for line in file if line.startswith("CapEff")]
    return bool(masks and masks[0] >> _CAP_SYS_RESOURCE & 1)


def is_root() -> bool:
    """True for the root of the machine, False for that of a user namespace with few ids."""
    with open("/proc/self/gid_map", encoding="ascii") as file:
        return os.geteuid() == 0 and any(int(line.split()[2]) == _ALL_IDS for line in file)


def can_attach(directory: str) -> bool:
    """True if a file there can become a loop device that can also be grown and detached.

    In a user namespace the first may work and the others fail.
    """
    path = _image(directory)
    try:
        device, descriptor = loops.attach(path, autoclear=True)
    except OSError:
        return False
    try:
        loops.grow(device)
        loops.detach(device)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True


def can_loop(directory: str) -> bool:
    """True if an ext4 image there can be made and mounted."""
    if "ext4" not in filesystems.available() or not can_attach(directory):
        return False
    path, point = _image(directory), os.path.join(directory, "point")
    os.mkdir(point)
    try:
        filesystems.format_image(path, "ext4")
        device, descriptor = loops.attach(path, autoclear=True)
        try:
            mounts.mount(device, point, "ext4", 0)
        finally:
            os.close(descriptor)
        return mounts.unmount(point)
    except (OSError, Refused):
        return False


def _image(directory: str) -> str:
    path = os.path.join(directory, "image")
    with open(path, "wb") as file:
        file.truncate(1 << 20)
    return path
