"""Where the content of volumes lies: one port, four ways, chosen by what the machine allows.

    memory     nothing is touched; paths are only remembered
    directory  directories and sparse files below the driver's root, links at the targets; no root
    bind       the same, with bind mounts and loop devices for block volumes; root or a namespace
    loop       every volume a sparse image with a file system of its own; root and loop devices

`capabilities` says what can be observed at a path, so that a suite skips what cannot:

    data        what is written at a target is the volume's content: it survives, it is copied
    readonly    a read-only publish refuses writes
    mounts      places are mounts, seen in mountinfo
    mount_flags noatime, nodev and the like hold
    mount_group the volume belongs to the group asked for
    staging     the content is visible at the staging path of a mount volume, too
    devices     a block volume is a block device of its size
    sizes       statfs tells the capacity, a full volume is full
    growth      a mounted file system grows while files in it are open
    fs_types    the file system is the one asked for
"""

from __future__ import annotations

import contextlib
import functools
import os
import tempfile
from collections.abc import Container, Iterable
from typing import Literal, Protocol

from refimpl.csi.state.ports import Storage, VolumePath
from refimpl.csi.storage.bounds import ANYWHERE, Bounds
from refimpl.csi.storage.directory import DirectoryStorage
from refimpl.csi.storage.machine import machine
from refimpl.csi.storage.memory import MemoryStorage
from refimpl.csi.storage.roots import MARK, abandoned, remembered, remove, temporary
from refimpl.wire.status import Refused

__all__ = [
    "ANYWHERE",
    "Bounds",
    "Mode",
    "OpenStorage",
    "best_mode",
    "open_storage",
    "remove",
    "sweep",
    "temporary_root",
]

Mode = Literal["auto", "memory", "directory", "bind", "loop"]


class OpenStorage(Storage, Protocol):
    """A storage that is opened once, learns after a restart what is still in use, and is closed."""

    def adopt(self, paths: Iterable[VolumePath], keys: Container[str]) -> None:
        """Take over the paths of an earlier run below the same root and the content of `keys`
        (ids of volumes and snapshots); whatever else that run left is taken away."""

    def close(self, *, keep: bool = False) -> None:
        """Take every place away, unless a later run is to find it."""


def open_storage(mode: Mode, root: str, bounds: Bounds = ANYWHERE) -> OpenStorage:
    """Storage of that mode below `root`, a directory for it alone ("memory" uses none).

    bounds: where the paths of its callers may lie; it refuses any other with INVALID_ARGUMENT.
    "auto" is the mode in which the root was used before, else the most faithful one this machine
    allows. Raises ValueError for another word and Refused (FAILED_PRECONDITION) for a mode that the
    machine does not allow.
    """
    if mode == "memory":
        return MemoryStorage()
    storage = _storage(mode, root)
    storage.bounds = bounds
    return storage


def _storage(mode: Mode, root: str) -> DirectoryStorage:
    if mode == "auto":
        with machine("read the mark of the driver's directory", root):
            known = remembered(root)
        if known in ("bind", "loop"):
            from refimpl.csi.storage import privileged

            return privileged.opened_again(known, root)
        mode = "directory" if known == "directory" else best_mode()
    if mode == "directory":
        return DirectoryStorage(root)
    from refimpl.csi.storage import privileged  # mount(2) and loop(4): Linux only

    return privileged.opened(mode, root)


@functools.cache
def best_mode() -> Literal["loop", "bind", "directory"]:
    """Found by trying, once a process: one bind mount, one loop device."""
    try:
        from refimpl.csi.storage import privileged
    except (ImportError, AttributeError):
        return "directory"
    with tempfile.TemporaryDirectory(prefix="refimpl-trial-") as trial:
        if not privileged.can_bind(trial):
            return "directory"
        return "loop" if privileged.can_loop(trial) else "bind"


def sweep(root: str) -> bool:
    """Unmounts, detaches and deletes what a killed driver left of its storage below `root`.

    Only a directory that carries the storage's mark and that no living driver uses is touched;
    True if it is gone then. Raises Refused, FAILED_PRECONDITION for a root in use.
    """
    if not os.path.exists(os.path.join(root, MARK)):
        return False
    storage = open_storage("auto", root)
    storage.adopt([], ())
    storage.close()
    return remove(root)


def temporary_root() -> str:
    """A new root for a storage whose driver remembers nothing; `remove` it at the end.

    Sweeps the temporary roots of drivers that were killed before they could do that.
    """
    for root in abandoned():
        with contextlib.suppress(Refused):
            sweep(root)
    return temporary()
