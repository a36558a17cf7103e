"""The loop devices over block volumes: one for writers, one for readers, each while somebody looks.

A volume published read-only gets a device of its own, since a device is read-only as a whole.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping

import attrs

from refimpl.csi.storage import loops
from refimpl.csi.storage.machine import machine

__all__ = ["LoopDevice", "LoopDevices"]


@attrs.define
class LoopDevice:
    """A loop device over one block volume, and the targets that show it."""

    path: str
    number: int
    targets: set[str] = attrs.field(factory=set)


class LoopDevices:
    """The devices, by volume and by whether they are read-only."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, bool], LoopDevice] = {}

    def of(self, key: str) -> list[LoopDevice]:
        """The devices of one volume."""
        both = (self._known.get((key, readonly)) for readonly in (False, True))
        return [device for device in both if device is not None]

    def get(self, key: str, readonly: bool) -> LoopDevice | None:
        """The device for writers or readers, if there is one."""
        return self._known.get((key, readonly))

    def attached(self, key: str, content: str, readonly: bool) -> LoopDevice:
        """The same, attached over the file `content` if need be. Raises Refused."""
        if device := self.get(key, readonly):
            return device
        with machine("attach a loop device", content):
            path, descriptor = loops.attach(content, readonly=readonly)
            number = os.fstat(descriptor).st_rdev
            os.close(descriptor)
        return self._known.setdefault((key, readonly), LoopDevice(path, number))

    def release(self, key: str, target: str) -> None:
        """Takes a target out; detaches a device that has no other target. Raises OSError."""
        for readonly in (False, True):
            device = self._known.get((key, readonly))
            if device is None:
                continue
            device.targets.discard(target)
            if not device.targets:
                del self._known[key, readonly]
                loops.detach(device.path)

    def find(self, contents: Mapping[str, str]) -> None:
        """Learns what an earlier process attached; `contents`: file -> volume."""
        for path, backing in loops.attached().items():
            if backing in contents and not loops.autoclears(path):
                identity = contents[backing], loops.is_readonly(path)
                self._known[identity] = LoopDevice(path, os.stat(path).st_rdev)

    def sweep(self, owns: Callable[[str], bool]) -> None:
        """Detaches every device over a file of ours that no target shows."""
        self._known = {i: device for i, device in self._known.items() if device.targets}
        used = {device.path for device in self._known.values()}
        for path, backing in loops.attached().items():
            if owns(backing) and path not in used and not loops.autoclears(path):
                with contextlib.suppress(OSError):
                    loops.detach(path)
