"""Storage in which sizes are real: every volume is a sparse image behind a loop device.

A mount volume is formatted when a node first uses it (about 5 ms) and mounted once below the
driver's root; staging and publishing bind from there. So statfs tells the capacity, a full volume
is full, the file system is the one asked for, its options hold, and an expansion can be seen.
"""

# ruff: noqa: ARG002  (a port: each implementation takes what any of them needs)
from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Container, Iterable
from typing import ClassVar

from refimpl.csi.state.models import Access, VolumeCapability
from refimpl.csi.state.ports import SpaceUsage, VolumePath
from refimpl.csi.storage import filesystems, loops, mounts
from refimpl.csi.storage.bind import BindStorage
from refimpl.csi.storage.machine import machine
from refimpl.wire.status import Code, Refused

__all__ = ["LoopStorage"]

_UNKNOWN_SIZE = 1 << 30


class LoopStorage(BindStorage):
    """Port `Storage` with an image a volume. Needs root, loop devices and a mkfs program.

    `grows`: a file system can grow while it is mounted.
    """

    mode: ClassVar[str] = "loop"

    def __init__(self, root: str, *, grows: bool = True, privileged: bool = True) -> None:
        super().__init__(root, devices=True, privileged=privileged)
        self._mounted_as: dict[str, VolumeCapability] = {}
        self.capabilities |= {"sizes", "fs_types"} | ({"growth"} if grows else set())

    def provision(self, key: str, access: Access, size: int, source: str | None) -> None:
        """An image of the size; of a volume of unknown size 1 GiB."""
        super().provision(key, "block", size or _UNKNOWN_SIZE, source)

    def destroy(self, key: str) -> None:
        """Unmount what was left for a next use, then delete."""
        self._idle(key)
        super().destroy(key)

    def resize(self, key: str, size: int) -> None:
        """Grow image and devices; a file system inside follows with `fill` or its next mount."""
        super().resize(key, size)
        image = self.layout.content(key, "block")
        with machine("grow the volume", image):
            for device, backing in loops.attached().items():
                if backing == image and loops.autoclears(device):
                    loops.grow(device)

    def fill(self, key: str) -> None:
        """Grow the mounted file system to the size of its device.

        A process that may mount but not grow unmounts it for that moment; FAILED_PRECONDITION if
        somebody has files open there.
        """
        base, image = self._base(key), self.layout.content(key, "block")
        if not os.path.ismount(base):
            return
        with machine("grow the file system", base):
            try:
                filesystems.grow(base, filesystems.type_of(image))
            except PermissionError:
                self._grow_aside(key, base, image)

    def snapshot(self, key: str, source: str) -> None:
        """Copy the image at one moment: writes to its file system wait meanwhile."""
        base = self._base(source)
        with machine("hold back writes to the volume", base), contextlib.ExitStack() as stack:
            if os.path.ismount(base):
                stack.enter_context(filesystems.frozen(base))
            super().snapshot(key, source)

    def usage(self, key: str, path: str) -> SpaceUsage:
        """What statfs says of the file system, the plain size of a block volume."""
        base = self._base(key)
        if not os.path.ismount(base):
            return super().usage(key, path)
        with machine("measure the volume", base):
            status = os.statvfs(base)
        unit = status.f_frsize
        inodes = (status.f_files, status.f_files - status.f_ffree, status.f_favail)
        return SpaceUsage(
            (
                status.f_blocks * unit,
                (status.f_blocks - status.f_bfree) * unit,
                status.f_bavail * unit,
            ),
            inodes if status.f_files else None,
        )

    def adopt(self, paths: Iterable[VolumePath], keys: Container[str]) -> None:
        """As for binds; file systems that nobody uses any more are unmounted, none stays frozen."""
        in_use = list(paths)
        super().adopt(in_use, keys)
        for volume_path in in_use:
            base = self._base(volume_path.volume_id)
            if os.path.ismount(base):
                filesystems.thaw(base)
                self._mounted_as.setdefault(volume_path.volume_id, volume_path.capability)

    # inner -----------------------------------------------------------------------------------

    def _base(self, key: str) -> str:
        return self.layout.home(key) + "/fs"

    def _source(self, key: str, capability: VolumeCapability, readonly: bool) -> str:
        if capability.access == "block":
            return super()._source(key, capability, readonly)
        base, image = self._base(key), self.layout.content(key, "block")
        if not os.path.ismount(base):
            with machine("mount the volume", image):
                self._mount(image, base, capability)
        self._mounted_as.setdefault(key, capability)
        return base

    def _mount(self, image: str, base: str, capability: VolumeCapability) -> None:
        fs_type = capability.fs_type or filesystems.type_of(image) or "ext4"
        _prepare(image, fs_type)
        os.makedirs(base, mode=0o755, exist_ok=True)
        device, descriptor = loops.attach(image, autoclear=True)
        options = mounts.options(capability.mount_flags)
        of_all = options.set & (mounts.MS_SYNCHRONOUS | mounts.MS_DIRSYNC | mounts.MS_LAZYTIME)
        words = (*options.words, *filesystems.words(fs_type))
        try:
            mounts.mount(device, base, fs_type, of_all, mounts.file_system_words(words))
        except OSError as error:
            raise _unmountable(error, fs_type) from error
        finally:
            os.close(descriptor)
        if not fs_type.startswith("ext"):
            filesystems.grow(base, fs_type)

    def _grow_aside(self, key: str, base: str, image: str) -> None:
        options_of = {path: mounts.options_at(path) for path in self._paths.get(key, ())}
        unmounted: list[str] = []
        try:
            for path in (*options_of, base):
                mounts.unmount(path)
                unmounted.append(path)
            filesystems.fit(image)
        except OSError as error:
            raise Refused(
                Code.FAILED_PRECONDITION,
                f"volume {key!r} has files open, and a file system grows in use only with "
                "CAP_SYS_RESOURCE; close them and repeat the call, or give the driver that right",
            ) from error
        finally:
            if base in unmounted:
                self._mount(image, base, self._mounted_as[key])
            for path in unmounted:
                if path != base:
                    mounts.bind(base, path, options_of[path])

    def _kept(self) -> set[str]:
        return super()._kept() | {self._base(key) for key in self._paths}

    def _same(self, key: str, status: os.stat_result) -> bool:
        base = self._base(key)
        if not os.path.ismount(base):
            return False
        mounted = os.lstat(base)
        return (status.st_dev, status.st_ino) == (mounted.st_dev, mounted.st_ino)

    def _idle(self, key: str) -> None:
        base = self._base(key)
        if key in self._paths:
            return
        self._mounted_as.pop(key, None)
        if os.path.ismount(base):
            with machine("unmount the volume", base):
                mounts.unmount(base)


def _prepare(image: str, fs_type: str) -> None:
    # NodeStageVolume must never format what holds data, and a retry meets its own work.
    if fs_found := filesystems.type_of(image):
        # A volume restored or expanded while nobody had it mounted holds a smaller file system.
        if fs_found == "ext4":
            filesystems.fit(image)
        return
    room = filesystems.least(fs_type)
    if os.stat(image).st_size < room:
        os.truncate(image, room)
    filesystems.format_image(image, fs_type)


def _unmountable(error: OSError, fs_type: str) -> Refused | OSError:
    if error.errno == errno.ENODEV:
        return Refused(
            Code.INVALID_ARGUMENT, f"fs_type {fs_type!r}: the kernel of this machine lacks it"
        )
    if error.errno != errno.EINVAL:
        return error
    # The flags themselves stay out of the text: a caller may have put anything there.
    return Refused(
        Code.INVALID_ARGUMENT,
        f"the volume cannot be mounted as {fs_type!r} with these mount_flags; the volume may hold "
        "another file system, or a flag is unknown to it",
    )
