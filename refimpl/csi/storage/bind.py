"""Storage with real mounts, for root or a user and mount namespace of one's own.

Staging and publishing bind the volume's directory; a bind of its own per target is read-only or
takes flags without touching its siblings. Block volumes appear as loop devices where the machine
lends them, else as the sparse file itself. Sizes stay bookkeeping: `loop.py` makes them real.
"""

# ruff: noqa: ARG002  (a port: each implementation takes what any of them needs)
from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Container, Iterable
from typing import ClassVar

from refimpl.csi.state.models import Access, VolumeCapability
from refimpl.csi.state.ports import VolumePath
from refimpl.csi.storage import loops, mounts, points
from refimpl.csi.storage.devices import LoopDevices
from refimpl.csi.storage.directory import DirectoryStorage
from refimpl.csi.storage.machine import machine
from refimpl.csi.storage.survey import mounted_from
from refimpl.wire.status import Code, Refused

__all__ = ["BindStorage", "flush"]


class BindStorage(DirectoryStorage):
    """Port `Storage` with bind mounts.

    `devices`: block volumes are loop devices. `privileged`: root of the machine and not only of a
    namespace, which can neither give a volume to any group nor change every flag.
    """

    mode: ClassVar[str] = "bind"

    def __init__(self, root: str, *, devices: bool = True, privileged: bool = True) -> None:
        super().__init__(root)
        self._with_devices = devices
        self._devices = LoopDevices()
        self._staged: dict[str, str] = {}
        self._paths: dict[str, set[str]] = {}
        self.capabilities = frozenset(
            {"data", "readonly", "mounts", "staging"}
            | ({"devices"} if devices else set())
            | ({"mount_flags", "mount_group"} if privileged else set())
        )

    def resize(self, key: str, size: int) -> None:
        """Grow content and the devices over it."""
        super().resize(key, size)
        for device in self._devices.of(key):
            with machine("grow a device", device.path):
                loops.grow(device.path)

    def snapshot(self, key: str, source: str) -> None:
        """Copy the present content, with what devices still hold back."""
        for device in self._devices.of(source):
            with machine("flush a device", device.path):
                flush(device.path)
        super().snapshot(key, source)

    def stage(self, key: str, path: str, capability: VolumeCapability) -> None:
        """Bind a mount volume at the staging directory; a block volume needs nothing there."""
        if capability.access == "block":
            return
        options = mounts.options(capability.mount_flags)
        self.bounds.check(path)
        source = self._source(key, capability, readonly=False)
        self._set_group(source, capability.mount_group)
        with machine("stage", path):
            if not self.holds(key, path):
                mounts.bind(source, path, options, self.bounds)
        self._staged[path] = key
        self._paths.setdefault(key, set()).add(path)

    def unstage(self, key: str, path: str) -> None:
        """Unmount every layer of the volume at `path`; whatever else is mounted there stays."""
        if path not in self._staged:
            self.bounds.check(path)
        with machine("unstage", path):
            self._uncover(key, path)
            if path in self._staged:
                points.look(path)
        self._staged.pop(path, None)
        self._leave(key, path)

    def publish(
        self, key: str, target: str, capability: VolumeCapability, readonly: bool, staging: str
    ) -> None:
        """Make the target and bind the volume on it, read-only from the start where asked."""
        self._outside(target)
        options = mounts.options((*capability.mount_flags, *(["ro"] if readonly else [])))
        readonly = bool(options.set & mounts.MS_RDONLY)
        source = self._source(key, capability, readonly)
        self._set_group(source, capability.mount_group)
        self._paths.setdefault(key, set()).add(target)
        try:
            with machine("publish", target):
                if not self._in_place(key, target, readonly):
                    self._uncover(key, target)
                    points.cover(source, target, capability.access, options, self.bounds)
        except BaseException:
            self._forget(key, target)
            raise
        self._shown[target] = key
        if device := self._devices.get(key, readonly):
            device.targets.add(target)

    def unpublish(self, key: str, target: str) -> None:
        """Unmount every layer of the volume and remove the mount point."""
        if target not in self._shown:
            self._outside(target)
        with machine("unpublish", target):
            self._uncover(key, target)
            points.clear(target)
        self._forget(key, target)

    def holds(self, key: str, path: str) -> bool:
        """True if the volume's directory, file or device is what is mounted at `path`."""
        try:
            status = os.lstat(path)
        except (OSError, ValueError):
            return False
        if stat.S_ISBLK(status.st_mode):
            return status.st_rdev in [device.number for device in self._devices.of(key)]
        return self._same(key, status) and (path in self._shown or not self._inside(path))

    def adopt(self, paths: Iterable[VolumePath], keys: Container[str]) -> None:
        """Take over what an earlier driver left mounted below this root.

        What it had no time to write down stays, too, for a caller that repeats or undoes the
        call; only what shows a volume that does not exist is taken away.
        """
        homes = {key: self.layout.home(key) for key in self.layout.known()}
        self._devices.find({f"{home}/block": key for key, home in homes.items()})
        for volume_path in paths:
            if self.holds(volume_path.volume_id, volume_path.path):
                taken_over = self._staged if volume_path.staged else self._shown
                taken_over[volume_path.path] = volume_path.volume_id
        owners = {os.path.basename(home): key for key, home in homes.items() if key in keys}
        for mount, home in mounted_from(self.layout):
            if home in owners and not self.layout.owns(mount.point):
                self._enter(owners[home], mount.point)
        self._sweep()
        self._discard(keys)

    # inner -----------------------------------------------------------------------------------

    def _take_away(self) -> None:
        for path, key in list(self._staged.items()):
            with contextlib.suppress(Refused):
                self.unstage(key, path)
        super()._take_away()
        targets, self._shown = self._shown, {}
        self._staged.clear()
        self._paths.clear()
        self._sweep()
        for target in targets:  # what was busy is free now
            with contextlib.suppress(Refused, OSError):
                points.clear(target)

    def _source(self, key: str, capability: VolumeCapability, readonly: bool) -> str:
        """What is bound: the directory, the file, or a device of its own for read-only use."""
        if capability.access == "block" and self._with_devices:
            content = self.layout.content(key, "block")
            return self._devices.attached(key, content, readonly).path
        return self.layout.content(key, capability.access)

    def _same(self, key: str, status: os.stat_result) -> bool:
        access: Access = "mount" if stat.S_ISDIR(status.st_mode) else "block"
        try:
            content = os.lstat(self.layout.content(key, access))
        except FileNotFoundError:
            return False
        return (status.st_dev, status.st_ino) == (content.st_dev, content.st_ino)

    def _in_place(self, key: str, target: str, readonly: bool) -> bool:
        # A repeated call finds its own work, also after a restart that lost the record.
        if not self.holds(key, target):
            return False
        status = os.lstat(target)
        if stat.S_ISBLK(status.st_mode):
            device = self._devices.get(key, readonly)
            return device is not None and device.number == status.st_rdev
        return bool(os.statvfs(target).f_flag & os.ST_RDONLY) == readonly

    def _uncover(self, key: str, path: str) -> None:
        while self.holds(key, path) and mounts.unmount(path):
            continue
        if path in self._shown and os.path.ismount(path):
            raise Refused(
                Code.FAILED_PRECONDITION,
                f"something other than volume {key!r} is mounted at {path!r}; it was left alone, "
                "unmount it and repeat the call",
            )

    def _forget(self, key: str, target: str) -> None:
        self._shown.pop(target, None)
        self._devices.release(key, target)
        self._leave(key, target)

    def _leave(self, key: str, path: str) -> None:
        paths = self._paths.get(key)
        if paths is None:
            return
        paths.discard(path)
        if not paths:
            del self._paths[key]
            self._idle(key)

    def _idle(self, key: str) -> None:
        """Called when the last place of a volume is gone."""

    def _enter(self, key: str, point: str) -> None:
        self._paths.setdefault(key, set()).add(point)
        for device in self._devices.of(key):
            if os.lstat(point).st_rdev == device.number:
                device.targets.add(point)

    def _kept(self) -> set[str]:
        return set().union(*self._paths.values())

    def _sweep(self) -> None:
        in_use = self._kept()
        for mount, _ in reversed(mounted_from(self.layout)):
            if mount.point not in in_use:
                with contextlib.suppress(OSError):
                    points.force(mount.point)
        self._devices.sweep(self.layout.owns)


def flush(path: str) -> None:
    """Writes out what the kernel holds back for a file or device. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
