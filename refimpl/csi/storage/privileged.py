"""The storage modes that mount: what the machine allows, and opening them."""

from __future__ import annotations

import os

from refimpl.csi.storage import filesystems, loops, mounts
from refimpl.csi.storage.bind import BindStorage
from refimpl.csi.storage.loop import LoopStorage
from refimpl.wire.status import Code, Refused

__all__ = ["can_bind", "can_grow", "can_loop", "opened"]

_CAP_SYS_RESOURCE = 24


def opened(mode: str, root: str) -> BindStorage:
    """Mode "bind" or "loop" below `root`. Raises FAILED_PRECONDITION where it cannot work."""
    if mode not in ("bind", "loop"):
        raise ValueError(
            f"storage mode {mode!r} is unknown; choose auto, memory, directory, bind or loop"
        )
    os.makedirs(root, mode=0o700, exist_ok=True)
    if not can_bind(root):
        raise Refused(
            Code.FAILED_PRECONDITION,
            f"storage mode {mode} needs the right to mount; run as root or under `unshare -Urm`, "
            "or choose storage mode directory",
        )
    devices = can_loop(root)
    if mode == "bind":
        return BindStorage(root, devices=devices)
    if not devices:
        raise Refused(
            Code.FAILED_PRECONDITION,
            "storage mode loop needs loop devices and mkfs.ext4, and one of them is missing; "
            "choose storage mode bind",
        )
    return LoopStorage(root, grows=can_grow())


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


def can_loop(directory: str) -> bool:
    """True if a file there can become a loop device and ext4 can be made."""
    if "ext4" not in filesystems.available():
        return False
    path = os.path.join(directory, f"trial-{os.getpid()}")
    try:
        with open(path, "wb") as file:
            file.truncate(1 << 20)
        device, descriptor = loops.attach(path)
        os.close(descriptor)
        loops.detach(device)
    except OSError:
        return False
    finally:
        if os.path.exists(path):
            os.unlink(path)
    return True
