"""Who holds which devices: the part of the state that outlives kubelet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import attrs

from refimpl.deviceplugin.state.devices import Devices
from refimpl.deviceplugin.state.models import NO_NODE, ContainerResponse


@attrs.frozen
class DeviceRecord:
    """Devices of one resource in one container, by NUMA node, and what Allocate answered.

    A device of two nodes is named under both; one of none under `NO_NODE`.
    """

    pod: str
    container: str
    resource: str
    ids_by_node: Mapping[int, tuple[str, ...]]
    response: ContainerResponse = attrs.field(factory=ContainerResponse)

    @property
    def ids(self) -> frozenset[str]:
        """All ids, each once."""
        return frozenset(name for names in self.ids_by_node.values() for name in names)


def by_node(devices: Devices, resource: str, ids: Iterable[str]) -> dict[int, tuple[str, ...]]:
    """Ids under the nodes that their devices name now."""
    nodes: dict[int, list[str]] = {}
    for name in sorted(ids):
        for node in devices.device(resource, name).nodes or (NO_NODE,):
            nodes.setdefault(node, []).append(name)
    return {node: tuple(names) for node, names in sorted(nodes.items())}


class Records:
    """Records by pod, container, resource; those of a pod are found without looking at others."""

    def __init__(self) -> None:
        self._pods: dict[str, dict[tuple[str, str], DeviceRecord]] = {}

    def __iter__(self) -> Iterator[DeviceRecord]:
        return (record for held in self._pods.values() for record in held.values())

    def put(self, record: DeviceRecord) -> None:
        """Add a record, or replace the one of the same pod, container and resource."""
        held = self._pods.setdefault(record.pod, {})
        held[record.container, record.resource] = record

    def get(self, pod: str, container: str, resource: str) -> DeviceRecord | None:
        """One record."""
        return self._pods.get(pod, {}).get((container, resource))

    def of_container(self, pod: str, container: str) -> tuple[DeviceRecord, ...]:
        """Records of a container, in the order in which they were made."""
        return tuple(record for record in self.of_pod(pod) if record.container == container)

    def of_pod(self, pod: str) -> tuple[DeviceRecord, ...]:
        """Records of a pod."""
        return tuple(self._pods.get(pod, {}).values())

    def pod_ids(self, pod: str, resource: str) -> frozenset[str]:
        """All ids of a resource that containers of a pod hold."""
        records = (r for r in self.of_pod(pod) if r.resource == resource)
        return frozenset().union(*(record.ids for record in records))

    def holders(self, resource: str | None) -> dict[str, str]:
        """Id -> the first pod that holds a device of it; resource None: of whatever resource."""
        pods: dict[str, str] = {}
        for record in self:
            if resource in (None, record.resource):
                for device_id in record.ids:
                    pods.setdefault(device_id, record.pod)
        return pods

    def drop(self, pods: Iterable[str]) -> None:
        """Forget all records of these pods."""
        for pod in pods:
            self._pods.pop(pod, None)

    def pods(self) -> set[str]:
        """Pods with at least one record."""
        return {*self._pods}

    def in_use(self) -> dict[str, set[str]]:
        """Resource -> ids that some record names."""
        ids: dict[str, set[str]] = {}
        for record in self:
            ids.setdefault(record.resource, set()).update(record.ids)
        return ids
