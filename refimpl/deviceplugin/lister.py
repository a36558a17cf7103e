"""A client of pod resources that behaves: it waits for kubelet, asks again when it asked too often,
and puts together what is told in pieces."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import Self, TypeVar, cast

import grpc

from refimpl.deviceplugin.api import podresources_v1_pb2 as v1
from refimpl.deviceplugin.api import podresources_v1alpha1_pb2 as v1alpha1
from refimpl.deviceplugin.api.podresources_v1_pb2_grpc import PodResourcesListerStub
from refimpl.deviceplugin.api.podresources_v1alpha1_pb2_grpc import (
    PodResourcesListerStub as AlphaStub,
)
from refimpl.wire.client import Channel, timeout_factor
from refimpl.wire.endpoint import Endpoint
from refimpl.wire.journal import Journal
from refimpl.wire.status import Code, Refused

__all__ = ["Devices", "PodResourcesClient", "devices_of", "patiently"]

T = TypeVar("T")

Devices = Mapping[str, Mapping[str, frozenset[int]]]
"""Resource -> device -> its NUMA nodes, none where none are told."""

_PASSING = (Code.RESOURCE_EXHAUSTED, Code.UNAVAILABLE)
_PAUSE_S = 0.02


class PodResourcesClient:
    """Calls kubelet's pod resources at an endpoint; a context manager.

    `patience_s`: how long it waits for a kubelet that is not there yet, and how long it asks again
    (kubelet answers 100 calls a second). Calls raise Refused, Unreachable.
    """

    def __init__(
        self, endpoint: Endpoint, *, patience_s: float = 10.0, journal: Journal | None = None
    ) -> None:
        self._patience_s = patience_s
        self._channel = Channel(endpoint, deadline_s=patience_s, journal=journal)
        self.v1 = PodResourcesListerStub(cast("grpc.Channel", self._channel))
        self.v1alpha1 = AlphaStub(cast("grpc.Channel", self._channel))

    def pods(self) -> list[v1.PodResources]:
        """The pods of the node with what they hold."""
        request = v1.ListPodResourcesRequest()
        return [*self.patiently(lambda: self.v1.List(request)).pod_resources]

    def allocatable(self) -> v1.AllocatableResourcesResponse:
        """All that can be given to pods, given or not."""
        request = v1.AllocatableResourcesRequest()
        return self.patiently(lambda: self.v1.GetAllocatableResources(request))

    def get(self, name: str, namespace: str = "default") -> v1.PodResources:
        """One pod; Refused for one that is unknown or has ended."""
        request = v1.GetPodResourcesRequest(pod_name=name, pod_namespace=namespace)
        return self.patiently(lambda: self.v1.Get(request)).pod_resources

    def pods_v1alpha1(self) -> list[v1alpha1.PodResources]:
        """What the old version tells: names and ids, finished pods among them."""
        request = v1alpha1.ListPodResourcesRequest()
        return [*self.patiently(lambda: self.v1alpha1.List(request)).pod_resources]

    def patiently(self, call: Callable[[], T]) -> T:
        """A call that is made again while it was one too many, or kubelet is not there."""
        self._channel.wait_ready(self._patience_s)
        return patiently(call, self._patience_s)

    def close(self) -> None:
        """Hangs up."""
        self._channel.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _where: TracebackType | None,
    ) -> None:
        self.close()


def patiently(
    call: Callable[[], T], patience_s: float, worth: Callable[[], bool] = lambda: True
) -> T:
    """A call that is made again while it was one too many or nobody answers, for that long and as
    long as it is `worth` it. Raises Refused."""
    end = time.monotonic() + patience_s * timeout_factor()
    while True:
        try:
            return call()
        except Refused as refused:
            if refused.code not in _PASSING or time.monotonic() > end or not worth():
                raise
            threading.Event().wait(_PAUSE_S)


def devices_of(entries: Iterable[v1.ContainerDevices]) -> Devices:
    """Kubelet has an entry for each device and NUMA node: here each device is there once."""
    devices: dict[str, dict[str, frozenset[int]]] = {}
    for entry in entries:
        nodes = frozenset(node.ID for node in entry.topology.nodes)
        for id in entry.device_ids:
            known = devices.setdefault(entry.resource_name, {})
            known[id] = known.get(id, frozenset()) | nodes
    return devices
