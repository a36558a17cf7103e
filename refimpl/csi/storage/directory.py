"""Storage without privileges: directories and sparse files, shown through symbolic links.

A mount volume is a directory and a block volume a sparse file of its size, both below the driver's
root; publishing puts a link at the target. So what a workload writes is the volume's content: it
is there again after the next publish and at every other target, it can be copied for a snapshot.
What a link cannot do is be read-only or have options, and nobody stops a directory at its size.
Staging is remembered by the caller and leaves no trace.
"""

# ruff: noqa: ARG002  (a port: each implementation takes what any of them needs)
from __future__ import annotations

import contextlib
import os
from collections.abc import Container, Iterable, Iterator
from typing import ClassVar

from refimpl.csi.state.models import Access, VolumeCapability
from refimpl.csi.state.ports import SpaceUsage, VolumePath
from refimpl.csi.storage import group, mounts, points, sparse
from refimpl.csi.storage.bounds import ANYWHERE, Bounds
from refimpl.csi.storage.layout import StorageLayout
from refimpl.csi.storage.machine import machine
from refimpl.wire.status import Code, Refused

__all__ = ["DirectoryStorage"]


class DirectoryStorage:
    """Port `Storage` without root. `root` is made if need be and belongs to the driver alone."""

    capabilities: frozenset[str] = frozenset({"data"})
    mode: ClassVar[str] = "directory"
    bounds: Bounds = ANYWHERE
    """Where a caller's paths may lie."""

    def __init__(self, root: str) -> None:
        self.layout = StorageLayout(root, self.mode)
        self._shown: dict[str, str] = {}

    # content ---------------------------------------------------------------------------------

    def provision(self, key: str, access: Access, size: int, source: str | None) -> None:
        """Make the content of `key`, a copy of `source` where that has any; see the port."""
        content = self.layout.content(key, access)
        if os.path.lexists(content):
            return
        if source is not None and self.layout.found(source) != access:
            return
        with machine("make volume content", content):
            fresh = self.layout.fresh(key)
            try:
                self._fill(fresh, access, source)
                if access == "block":
                    _lengthen(fresh, size)
                self.layout.settle(key, fresh, content, size)
            except OSError:
                self.layout.remove(key)
                raise

    def destroy(self, key: str) -> None:
        """Remove the content of a volume or snapshot."""
        with machine("delete volume content", self.layout.home(key)):
            self.layout.remove(key)

    def resize(self, key: str, size: int) -> None:
        """Grow; a smaller size changes nothing."""
        access = self.layout.found(key)
        if access is None or size <= self._size(key, access):
            return
        with machine("grow volume content", self.layout.content(key, access)):
            if access == "block":
                _lengthen(self.layout.content(key, access), size)
            self.layout.note_size(key, size)

    def fill(self, key: str) -> None:
        """A directory has no size of its own to follow."""

    def snapshot(self, key: str, source: str) -> None:
        """Copy the present content; an unused source leaves no copy."""
        access = self.layout.found(source)
        if access is not None:
            self.provision(key, access, self._size(source, access), source)

    # paths -----------------------------------------------------------------------------------

    def is_directory(self, path: str) -> bool:
        """True for an existing directory; a path no system takes is none."""
        try:
            return os.path.isdir(path)
        except ValueError:
            return False

    def stage(self, key: str, path: str, capability: VolumeCapability) -> None:
        """Nothing appears at the path; the group of the volume is set here."""
        self.bounds.check(path)
        mounts.options(capability.mount_flags)
        self._set_group(self.layout.content(key, capability.access), capability.mount_group)

    def unstage(self, key: str, path: str) -> None:
        """Nothing to undo."""

    def publish(
        self, key: str, target: str, capability: VolumeCapability, readonly: bool, staging: str
    ) -> None:
        """A link to the content, in place of nothing or of an empty directory."""
        content = self.layout.content(key, capability.access)
        mounts.options(capability.mount_flags)
        self._set_group(content, capability.mount_group)
        self._outside(target)
        with machine("publish", target):
            if _link(target) != content:
                points.clear(target, capability.access)
                os.symlink(content, target)
        self._shown[target] = key

    def unpublish(self, key: str, target: str) -> None:
        """Take our link away; anything else at the target stays, unless it is empty."""
        if target not in self._shown:
            self._outside(target)
        with machine("unpublish", target):
            if self.holds(key, target):
                os.unlink(target)
            else:
                points.clear(target)
        self._shown.pop(target, None)

    def holds(self, key: str, path: str) -> bool:
        """True for our link to the volume, whoever remembers it."""
        return _link(path).startswith(self.layout.home(key) + "/")

    def adopt(self, paths: Iterable[VolumePath], keys: Container[str]) -> None:
        """After a restart: every path still in use, and the ids whose content has an owner."""
        for volume_path in paths:
            if self.holds(volume_path.volume_id, volume_path.path):
                self._shown[volume_path.path] = volume_path.volume_id
        self._discard(keys)

    def close(self, *, keep: bool = False) -> None:
        """Take everything shown away, unless a later driver is to find it (`keep`)."""
        if not keep:
            self._take_away()
        self.layout.close()

    # facts -----------------------------------------------------------------------------------

    def usage(self, key: str, path: str) -> SpaceUsage:
        """Promised size against what the content occupies; inodes against the file system."""
        access = self.layout.found(key) or "mount"
        content = self.layout.content(key, access)
        with machine("measure the volume", content):
            size = self._size(key, access)
            if access == "block":
                used = min(os.stat(content).st_blocks * 512, size)
                return SpaceUsage((size, used, size - used))
            return _usage_of_a_tree(content, size)

    def allocated(self, key: str) -> Iterable[tuple[int, int]]:
        """Extents of a block snapshot that hold data."""
        return self._extents(self.layout.content(key, "block"))

    def changed(self, base: str, target: str) -> Iterable[tuple[int, int]]:
        """Extents that differ between two block snapshots, compared by content."""
        return sparse.changed(
            self.layout.content(base, "block"), self.layout.content(target, "block")
        )

    # inner -----------------------------------------------------------------------------------

    def _take_away(self) -> None:
        for target, key in list(self._shown.items()):
            with contextlib.suppress(Refused):
                self.unpublish(key, target)

    def _discard(self, keys: Container[str]) -> None:
        for key in list(self.layout.known()):
            if key not in keys:
                self.destroy(key)

    def _fill(self, fresh: str, access: Access, source: str | None) -> None:
        original = None if source is None else self.layout.content(source, access)
        if access == "block":
            if original is None:
                os.close(os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            else:
                sparse.copy_file(original, fresh)
        elif original is None:
            os.mkdir(fresh, 0o755)
        else:
            sparse.copy_tree(original, fresh)

    def _size(self, key: str, access: Access) -> int:
        if access == "block":
            return os.stat(self.layout.content(key, access)).st_size
        return self.layout.size(key)

    def _extents(self, content: str) -> Iterator[tuple[int, int]]:
        if not os.path.lexists(content):
            return
        with machine("read the snapshot", content):
            descriptor = os.open(content, os.O_RDONLY | os.O_NOFOLLOW)
            try:
                yield from sparse.extents(descriptor, os.fstat(descriptor).st_size)
            finally:
                os.close(descriptor)

    def _outside(self, target: str) -> None:
        self.bounds.check(target)
        if self._inside(target):
            raise Refused(
                Code.INVALID_ARGUMENT,
                f"target {target!r} lies in the driver's own directory {self.layout.root!r}; "
                "name a path outside of it",
            )

    def _inside(self, path: str) -> bool:
        # Through whatever links the parents are: content must not be taken for a target.
        parent, name = os.path.split(path)
        return self.layout.owns(os.path.join(os.path.realpath(parent), name))

    def _set_group(self, content: str, name: str) -> None:
        if name and os.path.isdir(content):
            group.give(content, name)


def _link(path: str) -> str:
    try:
        return os.readlink(path)
    except (OSError, ValueError):
        return ""


def _lengthen(path: str, size: int) -> None:
    if size > os.stat(path).st_size:
        os.truncate(path, size)


def _usage_of_a_tree(content: str, size: int) -> SpaceUsage:
    used, count = sparse.tree_size(content)
    below = os.statvfs(content)
    # Nobody stops a directory at its size, so the total follows a workload that wrote more.
    total = max(size, used)
    free = min(total - used, below.f_bavail * below.f_frsize)
    # What others on the disk use is not the volume's: its total must not change with them.
    spare = min(below.f_favail, below.f_files - count)
    inodes = (below.f_files, count, spare) if below.f_files else None
    return SpaceUsage((total, used, free), inodes)
