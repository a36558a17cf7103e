"""A driver's state on a desk: with a clock that is set by hand and a record of its changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import pytest

from refimpl.csi.state import DriverState
from refimpl.csi.state.models import (
    AccessMode,
    CapacityRange,
    Snapshot,
    Topology,
    TopologyRequirement,
    Volume,
    VolumeCapability,
)
from refimpl.csi.state.ports import numbered
from refimpl.csi.state.settings import DriverSettings
from refimpl.csi.state.volumes.requests import NewVolume

MIB = 1 << 20


@attrs.define
class Clock:
    """Time that passes only when told to."""

    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


@attrs.define
class Desk:
    """One state and short words for what tests ask of it."""

    state: DriverState
    clock: Clock
    changes: list[tuple[str, str, object | None]]

    def mount(self, mode: AccessMode = AccessMode.SINGLE_NODE_WRITER, **more: Any) -> Any:
        """A capability of a file system."""
        return VolumeCapability("mount", mode, **more)

    def block(self, mode: AccessMode = AccessMode.SINGLE_NODE_WRITER) -> VolumeCapability:
        """A capability of a device."""
        return VolumeCapability("block", mode)

    def request(self, name: str = "a", size: int = MIB, **more: Any) -> NewVolume:
        """A request for a volume of exactly `size`."""
        more.setdefault("capabilities", (self.mount(),))
        more.setdefault("capacity", CapacityRange(size, size))
        return NewVolume(name, **more)

    def volume(self, name: str = "a", size: int = MIB, **more: Any) -> Volume:
        """A volume that exists."""
        return self.state.volumes.create(self.request(name, size, **more))

    def snapshot(self, source: Volume, name: str = "s", **more: Any) -> Snapshot:
        """A snapshot that exists."""
        requirement = more.get("requirement")
        return self.state.snapshots.create(source.id, name, {}, requirement, {})

    def attach(self, volume: Volume, node: str = "node-0", **more: Any) -> Any:
        """An attachment that exists."""
        capability = more.get("capability", self.mount())
        readonly = more.get("readonly", False)
        context = more.get("context", volume.context)
        return self.state.attachments.publish(volume.id, node, capability, readonly, context, {})

    def zone(self, name: str) -> Topology:
        """A zone of the default settings."""
        return Topology.of({self.state.settings.topology_key: name})

    def require(self, *zones: str, preferred: tuple[str, ...] = ()) -> TopologyRequirement:
        """A requirement in zones."""
        return TopologyRequirement(tuple(map(self.zone, zones)), tuple(map(self.zone, preferred)))

    def ids(self) -> list[str]:
        """Of all volumes listed."""
        return [entry.volume.id for entry in self.state.queries.list("", 0).entries]


OpenDesk = Callable[..., Desk]


@pytest.fixture
def open_desk() -> OpenDesk:
    """`open_desk(without=("X",), nodes=2, granule=4096)`: a state with those settings."""

    def opened(*, without: tuple[str, ...] = (), nodes: int = 1, **values: Any) -> Desk:
        storage = values.pop("storage", None)
        settings = DriverSettings(revision=values.pop("revision", "1.13")).without(*without)
        clock, changes = Clock(), list[tuple[str, str, object | None]]()
        state = DriverState(
            attrs.evolve(settings, **values),
            clock=clock,
            ids=numbered(),
            storage=storage,
            on_change=lambda *change: changes.append(change),
            nodes=nodes,
        )
        return Desk(state, clock, changes)

    return opened


@pytest.fixture
def desk(open_desk: OpenDesk) -> Desk:
    """The default driver with three nodes: two in zone-a, one in zone-b."""
    return open_desk(nodes=3)
