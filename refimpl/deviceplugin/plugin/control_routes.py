"""Changing what a fake plugin has while it runs, over its control socket."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import attrs

from refimpl.deviceplugin.plugin.inventory import HEALTHY, Device
from refimpl.wire.control import Route
from refimpl.wire.routes import route

__all__ = ["SteeredPlugin", "control_routes"]


class SteeredPlugin(Protocol):
    """What the routes have of a fake plugin."""

    @property
    def devices(self) -> tuple[Device, ...]:
        """All devices."""

    def set_health(self, id: str, health: str) -> None:
        """Gives a device another health; raises LookupError."""

    def add(self, device: Device | str) -> None:
        """Adds a device; raises ValueError."""

    def remove(self, id: str) -> None:
        """Takes a device away; raises LookupError."""

    def register_again(self) -> None:
        """Registers anew."""

    def registration(self) -> dict[str, Any]:
        """Whether it is registered, how often it was, and what keeps it from being so."""


def control_routes(plugin: SteeredPlugin) -> Mapping[str, Route]:
    """POST /health {id, health}; GET, POST {id, health, nodes} and DELETE {id} /devices;
    GET /registration, and POST to register anew."""

    def add(id: str, health: str = HEALTHY, nodes: list[int] | None = None) -> None:
        if not all(type(node) is int for node in nodes or ()):
            raise ValueError(f"nodes={nodes!r}: NUMA nodes are numbers")
        plugin.add(Device(id, health, None if nodes is None else tuple(nodes)))

    return {
        "POST /health": route(plugin.set_health, id=str, health=str),
        "GET /devices": route(lambda: {"devices": [attrs.asdict(each) for each in plugin.devices]}),
        "POST /devices": route(add, id=str, health=(str,), nodes=(list,)),
        "DELETE /devices": route(plugin.remove, id=str),
        "GET /registration": route(plugin.registration),
        "POST /registration": route(plugin.register_again),
    }
