"""Changing what a fake plugin has while it runs, from Python and over the control socket."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from refimpl.deviceplugin.plugin.inventory import HEALTHY, Device, Inventory
from refimpl.wire.control import Route
from refimpl.wire.routes import route

__all__ = ["Steerable"]


class Steerable:
    """Part of `fake.FakePlugin`: its devices, and the routes to them."""

    inventory: Inventory

    @property
    def devices(self) -> tuple[Device, ...]:
        """All devices, in the order they were added."""
        return self.inventory.devices

    def set_health(self, id: str, health: str) -> None:
        """Tells every stream another health of a device, in any word. Raises LookupError."""
        self.inventory.set_health(id, health)

    def add(self, device: Device | str) -> None:
        """Adds a device. Raises ValueError for an id that is taken or empty."""
        self.inventory.add(Device(device) if isinstance(device, str) else device)

    def remove(self, id: str) -> None:
        """Takes a device away, see `Inventory.remove`. Raises LookupError."""
        self.inventory.remove(id)

    def register_again(self) -> None:
        """Registers anew at another socket, as after a restart."""
        raise NotImplementedError

    def registration(self) -> dict[str, Any]:
        """Whether it is registered, how often it was, and what keeps it from being so."""
        raise NotImplementedError

    def routes(self) -> Mapping[str, Route]:
        """POST /health {id, health}; GET, POST {id, health, nodes} and DELETE {id} /devices;
        GET /registration, and POST to register anew."""
        return {
            "POST /health": route(self._told_health, id=str, health=str),
            "GET /devices": route(self._told_devices),
            "POST /devices": route(self._told_add, id=str, health=(str,), nodes=(list,)),
            "DELETE /devices": route(self.remove, id=str),
            "GET /registration": route(self.registration),
            "POST /registration": route(self.register_again),
        }

    def _told_health(self, id: str, health: str) -> None:
        self.set_health(id, health)

    def _told_add(self, id: str, health: str = HEALTHY, nodes: list[int] | None = None) -> None:
        if not all(type(node) is int for node in nodes or ()):
            raise ValueError(f"nodes={nodes!r}: NUMA nodes are numbers")
        self.add(Device(id, health, None if nodes is None else tuple(nodes)))

    def _told_devices(self) -> dict[str, Any]:
        return {"devices": [attrs.asdict(device) for device in self.devices]}
