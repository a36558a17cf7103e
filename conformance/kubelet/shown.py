"""What pod resources show, in forms that cases compare."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol, TypeVar

import pytest

from conformance.engine.needs import Feature
from conformance.kubelet.node import NodeUnderTest
from refimpl.deviceplugin.api import deviceplugin_pb2 as dp
from refimpl.deviceplugin.api import podresources_v1_pb2 as pr
from refimpl.node.pods import PodSpec
from refimpl.wire.status import Code

__all__ = [
    "REFUSED",
    "RUNS",
    "SERVES",
    "DeviceEntry",
    "PodName",
    "canonical",
    "device",
    "entries",
    "find",
    "get",
    "held",
    "name_of",
    "offered",
    "runs_ours",
    "shown",
    "some",
]

SERVES = (Feature("pod-resources"),)
"""The need of a case that judges what pod resources show of whatever there is."""
RUNS = (*SERVES, Feature("pods"))
"""The needs of a case with pods of its own."""
REFUSED = {Code.UNKNOWN, Code.NOT_FOUND, Code.INVALID_ARGUMENT, Code.FAILED_PRECONDITION}
"""What says that a pod is not to be had; kubelet says UNKNOWN."""

T = TypeVar("T")

PodName = tuple[str, str]
"""Namespace and name."""

DeviceEntry = tuple[str, tuple[int, ...] | None]
"""A device and the NUMA nodes that are told with it; None: no topology."""


class _Pod(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def namespace(self) -> str: ...


class _Devices(Protocol):
    @property
    def resource_name(self) -> str: ...
    @property
    def device_ids(self) -> Sequence[str]: ...


class _Container(Protocol):
    @property
    def devices(self) -> Iterable[_Devices]: ...


def device(id: str, *nodes: int, health: str = "Healthy", placed: bool = False) -> dp.Device:
    """An entry of a plugin's list; `placed`: with a topology although it has no node."""
    device = dp.Device(ID=id, health=health)
    if nodes or placed:
        device.topology.SetInParent()
    for node in nodes:
        device.topology.nodes.add(ID=node)
    return device


def entries(devices: Iterable[pr.ContainerDevices], resource: str) -> list[DeviceEntry]:
    """Each id of each entry of a resource, sorted."""
    entries = [
        (id, tuple(node.ID for node in each.topology.nodes) if each.HasField("topology") else None)
        for each in devices
        if each.resource_name == resource
        for id in each.device_ids
    ]
    return sorted(entries, key=repr)


def held(container: _Container) -> dict[str, set[str]]:
    """Resource -> ids, of a container in either version."""
    ids: dict[str, set[str]] = {}
    for each in container.devices:
        ids.setdefault(each.resource_name, set()).update(each.device_ids)
    return ids


def name_of(pod: _Pod) -> PodName:
    """Its namespace and name."""
    return pod.namespace, pod.name


def runs_ours(node: NodeUnderTest) -> bool:
    """Whether the client runs pods of the case; else it has pods of its own, or none."""
    return "pods" in node.able


def some(items: Sequence[T], what: str) -> Sequence[T]:
    """What is to be judged; the case is skipped where a node with pods of its own has none."""
    if not items:
        pytest.skip(f"there is no {what} on this node")
    return items


def find(listed: Iterable[pr.PodResources], pod: _Pod) -> pr.PodResources | None:
    """That pod in a list."""
    return next((each for each in listed if name_of(each) == name_of(pod)), None)


def shown(node: NodeUnderTest, pod: PodSpec) -> pr.PodResources:
    """Waits until List shows the pod; raises Broken."""
    entry = node.until(lambda: find(node.podresources.listed(), pod), f"List shows pod {pod.name}")
    assert entry is not None
    return entry


def get(node: NodeUnderTest, name: PodName) -> pr.PodResources:
    """What Get says of a pod. Raises Refused."""
    request = pr.GetPodResourcesRequest(pod_namespace=name[0], pod_name=name[1])
    return node.podresources.patiently(lambda: node.podresources.v1().Get(request)).pod_resources


def offered(node: NodeUnderTest) -> pr.AllocatableResourcesResponse:
    """What GetAllocatableResources says."""
    request = pr.AllocatableResourcesRequest()
    return node.podresources.patiently(
        lambda: node.podresources.v1().GetAllocatableResources(request)
    )


def canonical(pod: pr.PodResources) -> Mapping[str, object]:
    """A pod in a form that does not depend on the order of what has none: devices, CPUs."""
    return {
        "pod": (name_of(pod), sorted(pod.cpu_ids), _sorted(pod.memory)),
        **{
            each.name: (
                _sorted(each.devices),
                sorted(each.cpu_ids),
                _sorted(each.memory),
                _sorted(each.dynamic_resources),
            )
            for each in pod.containers
        },
    }


def _sorted(messages: Iterable[object]) -> list[str]:
    return sorted(map(str, messages))
