"""The devices of one resource as a plugin has them: changed from anywhere, told to every stream."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable

import attrs

from refimpl.deviceplugin.state.models import HEALTHY, Device

__all__ = ["HEALTHY", "UNHEALTHY", "Device", "Inventory"]

UNHEALTHY = "Unhealthy"
"""The other word of the protocol; whatever is not exactly `HEALTHY` counts as this."""


class Inventory:
    """Devices in the order they were added; each change gives the list a higher `version`."""

    def __init__(self, devices: Iterable[Device] = ()) -> None:
        self._changed = threading.Condition()
        self._devices: dict[str, Device] = {}
        self._version = 0
        self._allocating, self._leaving = 0, set[str]()
        for device in devices:
            self.add(device)

    @property
    def devices(self) -> tuple[Device, ...]:
        """All of them."""
        with self._changed:
            return tuple(self._devices.values())

    def find(self, id: str) -> Device:
        """The device; LookupError where there is none of that id."""
        with self._changed:
            return self._device(id)

    def add(self, device: Device) -> None:
        """Adds a device, or takes one back that is about to leave. ValueError for an id that is
        taken or empty."""
        with self._changed:
            if not device.id or device.id in self._devices.keys() - self._leaving:
                raise ValueError(f"device {device.id!r}: an id is not empty, and of one device")
            self._leaving.discard(device.id)
            self._devices[device.id] = device
            self._touch()

    def set_health(self, id: str, health: str) -> None:
        """Sets a device's health, to any word. Raises LookupError."""
        with self._changed:
            before = self._device(id)
            if before.health != health:
                self._devices[id] = attrs.evolve(before, health=health)
                self._touch()

    def remove(self, id: str) -> None:
        """Takes a device out; while an Allocate is being answered it stays, as unhealthy.

        Kubelet 1.37.2 dies of a list without a device that it is waiting for. Raises LookupError.
        """
        with self._changed:
            device = self._device(id)
            if self._allocating:
                self._leaving.add(id)
                self._devices[id] = attrs.evolve(device, health=UNHEALTHY)
            else:
                del self._devices[id]
            self._touch()

    def allocating(self) -> None:
        """An Allocate has come; until it is `answered` no device leaves."""
        with self._changed:
            self._allocating += 1

    def answered(self) -> None:
        """The answer of an Allocate is on its way."""
        with self._changed:
            self._allocating -= 1
            if not self._allocating and self._leaving:
                for id in self._leaving:
                    self._devices.pop(id, None)
                self._leaving.clear()
                self._touch()

    def changed(
        self, version: int, ended: Callable[[], bool]
    ) -> tuple[int, tuple[Device, ...]] | None:
        """Waits for another list than that of `version`; None once `ended` says so, which
        `wake` has it look at."""
        with self._changed:
            self._changed.wait_for(lambda: self._version != version or ended())
            if ended():
                return None
            return self._version, tuple(self._devices.values())

    def wake(self) -> None:
        """Has those who wait look again whether they are to end."""
        with self._changed:
            self._changed.notify_all()

    def _device(self, id: str) -> Device:
        if id not in self._devices:
            raise LookupError(f"there is no device {id!r}")
        return self._devices[id]

    def _touch(self) -> None:
        self._version += 1
        self._changed.notify_all()
