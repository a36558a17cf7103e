"""Which mounts of this machine show content of one storage: what a driver that was killed left."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping

from refimpl.csi.storage import loops, mounts
from refimpl.csi.storage.layout import StorageLayout

__all__ = ["mounted_from"]

# Where device nodes lie: on the machine itself, in containers.
_DEVICE_FS = ("devtmpfs", "tmpfs")


def mounted_from(layout: StorageLayout) -> list[tuple[mounts.MountEntry, str]]:
    """(mount, name of the home whose content it shows), oldest first; "" for content deleted
    meanwhile. Directories, images behind loop devices, and the nodes of such devices."""
    table = mounts.table()
    below, device = mounts.inside(table, layout.root)
    devices = {d: _home(file, layout.root) for d, file in _devices(layout)}
    shown = []
    for mount in table:
        if mount.device == device and mount.root.startswith(below + "/"):
            shown.append((mount, _home(mount.root, below)))
        elif mount.source in devices:
            shown.append((mount, devices[mount.source]))
        elif mount.fs_type in _DEVICE_FS and (path := _device_at(mount.point, devices)):
            shown.append((mount, devices[path]))
    return shown


def _devices(layout: StorageLayout) -> Iterator[tuple[str, str]]:
    for path, file in loops.attached().items():
        if layout.owns(file):
            yield path, file


def _home(path: str, root: str) -> str:
    parts = path[len(root) + 1 :].split("/")
    deleted = path.endswith(("//deleted", " (deleted)"))
    return parts[1] if len(parts) > 1 and parts[0] == "homes" and not deleted else ""


def _device_at(point: str, devices: Mapping[str, str]) -> str:
    try:
        status = os.lstat(point)
    except OSError:
        return ""
    if not stat.S_ISBLK(status.st_mode):
        return ""
    return next((path for path in devices if os.stat(path).st_rdev == status.st_rdev), "")
