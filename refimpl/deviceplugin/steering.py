"""Changing what a fake plugin has while it runs, from Python and over the control socket."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import attrs

from refimpl.deviceplugin.inventory import HEALTHY, Device, Inventory
from refimpl.wire.control import Route

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
            "POST /health": _route(self._told_health, id=str, health=str),
            "GET /devices": _route(self._told_devices),
            "POST /devices": _route(self._told_add, id=str, health=(str,), nodes=(list,)),
            "DELETE /devices": _route(self.remove, id=str),
            "GET /registration": _route(self.registration),
            "POST /registration": _route(self.register_again),
        }

    def _told_health(self, id: str, health: str) -> None:
        self.set_health(id, health)

    def _told_add(self, id: str, health: str = HEALTHY, nodes: list[int] | None = None) -> None:
        if not all(type(node) is int for node in nodes or ()):
            raise ValueError(f"nodes={nodes!r}: NUMA nodes are numbers")
        self.add(Device(id, health, None if nodes is None else tuple(nodes)))

    def _told_devices(self) -> dict[str, Any]:
        return {"devices": [attrs.asdict(device) for device in self.devices]}


def _route(act: Callable[..., dict[str, Any] | None], **members: Any) -> Route:
    """A route whose body has these members: name and type, in a tuple where it may be missing."""

    def answer(body: dict[str, Any]) -> dict[str, Any]:
        for name in (*members, *body):
            kind = members.get(name)
            if kind is None:
                raise ValueError(f"{name!r} is not known here; known are: {', '.join(members)}")
            if name not in body:
                if isinstance(kind, tuple):
                    continue
                raise ValueError(f"{name!r} is missing in the body")
            if not isinstance(body[name], kind):
                raise ValueError(f"{name}={body[name]!r} is of the wrong type")
        return act(**body) or {}

    return answer
