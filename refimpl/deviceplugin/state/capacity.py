"""What the node offers: counted when asked, which is also when a lost resource goes (2.3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import attrs

from refimpl.deviceplugin.state.devices import Devices
from refimpl.deviceplugin.state.endpoints import Endpoints


@attrs.frozen
class ResourceCount:
    """Counts by resource; `removed`: those that went in this very count, to be shown as 0/0."""

    capacity: dict[str, int]
    allocatable: dict[str, int]
    removed: tuple[str, ...] = ()


def count(devices: Devices, endpoints: Endpoints) -> ResourceCount:
    """Count all resources, and drop those whose plugin has been gone for more than five minutes.

    There is no timer: where nobody counts, nothing is dropped. Whoever gets a non-empty `removed`
    writes the checkpoint anew.
    """
    names = devices.healthy.keys() | devices.unhealthy.keys()
    removed = tuple(sorted(name for name in names if endpoints.expired(name)))
    for name in removed:
        endpoints.remove(name)
        devices.remove(name)
    healthy = {name: len(ids) for name, ids in devices.healthy.items()}
    unhealthy = {name: len(ids) for name, ids in devices.unhealthy.items()}
    capacity = {
        name: healthy.get(name, 0) + unhealthy.get(name, 0) for name in sorted(names - {*removed})
    }
    return ResourceCount(capacity, {name: healthy.get(name, 0) for name in capacity}, removed)


@attrs.frozen
class Capacity:
    """The counts of the node's status, by resource; one that was lost stays with 0."""

    capacity: Mapping[str, int] = attrs.field(factory=dict)
    allocatable: Mapping[str, int] = attrs.field(factory=dict)


class NodeStatus:
    """The two maps of a node's status. A key once shown stays, with 0 for a resource removed."""

    def __init__(self) -> None:
        self.capacity: dict[str, int] = {}
        self.allocatable: dict[str, int] = {}

    def update(self, counted: ResourceCount) -> None:
        """Take over a count."""
        gone = dict.fromkeys(counted.removed, 0)
        self.capacity |= gone | counted.capacity
        self.allocatable |= gone | counted.allocatable

    def zero(self, names: Iterable[str] | None = None) -> None:
        """A kubelet that finds no checkpoint takes its node for a new one: all counts are 0."""
        zeros = dict.fromkeys([*self.capacity] if names is None else names, 0)
        self.capacity |= zeros
        self.allocatable |= zeros
