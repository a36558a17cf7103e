"""What pod resources tells of devices: one entry a device and NUMA node (section 3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import attrs

from refimpl.deviceplugin.state.devices import Devices
from refimpl.deviceplugin.state.models import NO_NODE, Container, Pod
from refimpl.deviceplugin.state.records import DeviceRecord


@attrs.frozen
class DeviceEntry:
    """A ContainerDevices message with one id; `node` None: topology stays unset."""

    resource: str
    id: str
    node: int | None


def assigned(records: Iterable[DeviceRecord]) -> tuple[DeviceEntry, ...]:
    """Devices of a container, as List and Get show them: on two nodes, two entries."""
    return tuple(
        DeviceEntry(record.resource, name, None if node == NO_NODE else node)
        for record in records
        for node, names in record.ids_by_node.items()
        for name in names
    )


def allocatable(devices: Devices) -> tuple[DeviceEntry, ...]:
    """All healthy devices, in use or not. One with a topology of no nodes is left out."""
    healthy: Mapping[str, set[str]] = devices.healthy
    return tuple(
        DeviceEntry(resource, name, node)
        for resource, names in sorted(healthy.items())
        for name in sorted(names)
        for node in _nodes(devices, resource, name)
    )


def shown(pod: Pod) -> tuple[Container, ...]:
    """Containers of List and Get in v1: those that keep running, restartable ones first."""
    return (*(c for c in pod.init if c.restartable), *pod.app)


def _nodes(devices: Devices, resource: str, name: str) -> tuple[int | None, ...]:
    nodes = devices.device(resource, name).nodes
    return (None,) if nodes is None else nodes
