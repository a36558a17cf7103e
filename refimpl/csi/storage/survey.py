"""Which mounts of this machine show content of one storage: what a driver that was killed left."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping

from refimpl.csi.storage import loops, mounts
from refimpl.csi.storage.layout import Layout

__all__ = ["mounted_from"]

# Where device nodes lie: on the machine itself, in containers.
_DEVICE_FS = ("devtmpfs", "tmpfs")


def mounted_from(layout: Layout) -> list[tuple[mounts.Mount, str]]:
    """(mount, name of the home whose content it shows), oldest first; "" for content deleted
    meanwhile. Directories, images behind loop devices, and the nodes of such devices."""
    table = mounts.table()
    below, device = mounts.inside(table, layout.root)
    devices = {d: _home(file, layout.root) for d, file in _devices(layout)}
    found = []
    for mount in table:
        if mount.device == device and mount.root.startswith(below + "/"):
            found.append((mount, _home(mount.root, below)))
        elif mount.source in devices:
            found.append((mount, devices[mount.source]))
        elif mount.fs_type in _DEVICE_FS and (path := _device_at(mount.point, devices)):
            found.append((mount, devices[path]))
    return found


def _devices(layout: Layout) -> Iterator[tuple[str, str]]:
    for path, file in loops.attached().items():
        if layout.owns(file):
            yield path, file


def _home(path: str, root: str) -> str:
    parts = path[len(root) + 1 :].split("/")
    gone = path.endswith(("//deleted", " (deleted)"))
    return parts[1] if len(parts) > 1 and parts[0] == "homes" and not gone else ""


def _device_at(point: str, devices: Mapping[str, str]) -> str:
    try:
        seen = os.lstat(point)
    except OSError:
        return ""
    if not stat.S_ISBLK(seen.st_mode):
        return ""
    return next((path for path in devices if os.stat(path).st_rdev == seen.st_rdev), "")
