"""Breaking and repairing what a fake driver reports, from Python and over the control socket."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import attrs

from refimpl.csi.state import DriverState
from refimpl.csi.state.guard import Guard
from refimpl.csi.state.models import VolumeCapability
from refimpl.wire.control import Route


class Breakable:
    """Part of `fake.FakeDriver`: the health that it reports, and what it depends on."""

    @property
    def state(self) -> DriverState:
        """The state of the driver."""
        raise NotImplementedError

    def break_volume(
        self,
        volume_id: str,
        status: str = "DEGRADED",
        reason: str = "Broken",
        message: str = "",
        node: str | int | None = None,
    ) -> None:
        """Adds a fault to the health of a volume, reported by all or by one node (number or id).
        Raises ValueError for what the interface cannot carry, Refused NOT_FOUND."""
        self.state.health.break_volume(volume_id, status, reason, message, _node_id(node) or "")

    def repair_volume(
        self, volume_id: str, reason: str = "", node: str | int | None = None
    ) -> None:
        """Take faults of a volume away: those with the reason and node given, else all."""
        self.state.health.repair_volume(volume_id, reason, _node_id(node))

    def break_storage(
        self,
        status: str = "STORAGE_DEGRADED",
        reason: str = "Broken",
        message: str = "",
        node: str | int | None = None,
        capability: VolumeCapability | None = None,
    ) -> None:
        """Adds a fault to the health of the storage behind all volumes; as `break_volume`."""
        node_id = _node_id(node) or ""
        self.state.health.break_storage(status, reason, message, node_id, capability)

    def repair_storage(self, reason: str = "", node: str | int | None = None) -> None:
        """Take faults of the storage away: those with the reason and node given, else all."""
        self.state.health.repair_storage(reason, _node_id(node))

    def hold_volume(self, volume_id: str) -> None:
        """Let every call that works on a volume hang until `release_volume`, as where the storage
        behind it does not answer. Calls that only ask about it go on. Waits for one at work."""
        guard = self.state.tables.guards.hold(volume_id)
        guard.__enter__()
        self._held[volume_id] = guard

    def release_volume(self, volume_id: str) -> None:
        """Let the calls that were held go on."""
        if guard := self._held.pop(volume_id, None):
            guard.__exit__(None, None, None)

    @functools.cached_property
    def _held(self) -> dict[str, Guard]:
        return {}

    def break_dependency(self, name: str = "its storage network") -> None:
        """Take away what the driver depends on: Probe is FAILED_PRECONDITION from now on."""
        self.state.missing_dependency = name

    def repair_dependency(self) -> None:
        """Give it back."""
        self.state.missing_dependency = ""

    def routes(self) -> Mapping[str, Route]:
        """GET, POST and DELETE /health: what is broken, break, repair. With a volume_id of a
        volume, else of the storage; the other keys are the arguments of the methods."""
        return {
            "GET /health": self._health,
            "POST /health": self._break,
            "DELETE /health": self._repair,
        }

    def _health(self, _body: dict[str, Any]) -> dict[str, Any]:
        tables = self.state.tables
        with tables.lock:
            volumes = [attrs.asdict(health) for health in tables.health.values()]
            faults = [attrs.asdict(fault) for fault in tables.storage_faults]
        for fault in [
            *faults,
            *(volume_fault for health in volumes for volume_fault in health["faults"]),
        ]:
            fault["status"] = fault["status"].name
        return {"volumes": volumes, "storage": faults}

    def _break(self, body: dict[str, Any]) -> dict[str, Any]:
        arguments = _known(body, "volume_id", "status", "reason", "message", "node")
        (self.break_volume if "volume_id" in arguments else self.break_storage)(**arguments)
        return {}

    def _repair(self, body: dict[str, Any]) -> dict[str, Any]:
        arguments = _known(body, "volume_id", "reason", "node")
        (self.repair_volume if "volume_id" in arguments else self.repair_storage)(**arguments)
        return {}


def _node_id(node: str | int | None) -> str | None:
    return f"node-{node}" if isinstance(node, int) else node


def _known(body: dict[str, Any], *names: str) -> dict[str, Any]:
    if strange := body.keys() - set(names):
        raise ValueError(f"{', '.join(sorted(strange))}: known are {', '.join(names)}")
    return body
