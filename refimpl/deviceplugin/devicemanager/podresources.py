"""The pod resources service, both versions, over what kubelet knows (contract section 3)."""
# RPC methods keep the names of the protocol.
# ruff: noqa: N802

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

from attrs import define, field
from google.protobuf.descriptor import ServiceDescriptor

from refimpl.deviceplugin.api import podresources_v1_pb2 as v1
from refimpl.deviceplugin.api import podresources_v1alpha1_pb2 as v1alpha1
from refimpl.deviceplugin.state import listing
from refimpl.deviceplugin.state.models import Container, Pod
from refimpl.deviceplugin.state.tables import Tables
from refimpl.wire.server import Call
from refimpl.wire.status import Code, Refused

__all__ = [
    "Limiter",
    "Others",
    "PodResources",
    "PodResourcesAlpha",
    "RequestCounts",
    "View",
    "services",
]

QPS, BURST = 100.0, 10
METRIC = "kubelet_pod_resources_endpoint_"
GET_GATE = "KubeletPodResourcesGet"


class Limiter:
    """At most `burst` calls at once and `qps` a second in the long run; one for all methods."""

    def __init__(
        self, qps: float = QPS, burst: int = BURST, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._qps, self._burst, self._clock = qps, burst, clock
        self._lock = threading.Lock()
        self._tokens, self._then = float(burst), clock()

    def take(self) -> None:
        """Counts a call; Refused(RESOURCE_EXHAUSTED) for one too many."""
        with self._lock:
            now = self._clock()
            fresh = (now - self._then) * self._qps
            self._tokens, self._then = min(self._tokens + fresh, self._burst), now
            if self._tokens < 1:
                raise Refused(
                    Code.RESOURCE_EXHAUSTED,
                    f"more than {self._qps:g} calls a second (burst {self._burst}): ask less often",
                )
            self._tokens -= 1


@define
class Others:
    """What other managers of a kubelet would add: CPUs, memory, claims. All empty at first."""

    containers: dict[tuple[str, str], v1.ContainerResources] = field(factory=dict)
    """(pod uid, container) -> what is merged into its entry."""
    pods: dict[str, v1.PodResources] = field(factory=dict)
    """Pod uid -> what is merged into its entry."""
    allocatable: v1.AllocatableResourcesResponse = field(factory=v1.AllocatableResourcesResponse)


class View(Protocol):
    """What the service looks at."""

    @property
    def tables(self) -> Tables:
        """Devices and records."""

    @property
    def others(self) -> Others:
        """What other managers add."""

    def pods(self, *, active: bool) -> Iterable[Pod]:
        """Pods that kubelet knows; with `active` without those that are finished."""


class RequestCounts:
    """What one version of the service does with every request: `counts` has kubelet's metrics."""

    def __init__(self, limiter: Limiter, counts: Counter[str], version: str) -> None:
        self.limiter, self.counts, self.version = limiter, counts, version

    def request(self, *names: str) -> None:
        """Counts it in all and under these names; Refused where it is one too many."""
        # A call refused by the limiter reaches no metric.
        self.limiter.take()
        for name in ("requests_total", *names):
            self.counts[self.metric(name)] += 1

    def error(self, name: str, text: str) -> Refused:
        """Counts an error of a method, and returns it for raising."""
        self.counts[self.metric(f"errors_{name}")] += 1
        return Refused(Code.UNKNOWN, text)

    def metric(self, name: str) -> str:
        """The whole name of a metric."""
        return f'{METRIC}{name}{{server_api_version="{self.version}"}}'


class PodResources:
    """v1."""

    def __init__(self, view: View, requests: RequestCounts) -> None:
        self._view, self._requests = view, requests

    def List(
        self, _request: v1.ListPodResourcesRequest, _call: Call
    ) -> v1.ListPodResourcesResponse:
        """Every pod, those without devices as well; frees first what finished pods held."""
        self._requests.request("requests_list")
        tables = self._view.tables
        with tables.lock:
            tables.collect()
            pods = self._view.pods(active=tables.settings.list_pods == "active")
            return v1.ListPodResourcesResponse(pod_resources=map(self._pod, pods))

    def GetAllocatableResources(
        self, _request: v1.AllocatableResourcesRequest, _call: Call
    ) -> v1.AllocatableResourcesResponse:
        """All healthy devices, in use or not."""
        self._requests.request("requests_get_allocatable")
        tables = self._view.tables
        with tables.lock:
            entries = listing.allocatable(tables.devices)
        reply = v1.AllocatableResourcesResponse(devices=map(_devices, entries))
        reply.MergeFrom(self._view.others.allocatable)
        return reply

    def Get(self, request: v1.GetPodResourcesRequest, _call: Call) -> v1.GetPodResourcesResponse:
        """One active pod, by name and namespace; UNKNOWN for all others."""
        self._requests.request("requests_get")
        tables = self._view.tables
        if GET_GATE not in tables.settings.gates:
            raise self._requests.error("get", f"feature gate {GET_GATE} is off on this kubelet")
        with tables.lock:
            for pod in self._view.pods(active=True):
                if (pod.name, pod.namespace) == (request.pod_name, request.pod_namespace):
                    return v1.GetPodResourcesResponse(pod_resources=self._pod(pod))
        name = f"{request.pod_namespace}/{request.pod_name}"
        raise self._requests.error(
            "get", f"pod {name!a} is not active here: List names those that are"
        )

    def _pod(self, pod: Pod) -> v1.PodResources:
        containers = (self._container(pod, each) for each in listing.shown(pod))
        reply = v1.PodResources(name=pod.name, namespace=pod.namespace, containers=containers)
        whole = self._view.others.pods.get(pod.uid)
        if whole is not None:
            reply.MergeFrom(whole)
        return reply

    def _container(self, pod: Pod, container: Container) -> v1.ContainerResources:
        records = self._view.tables.records.of_container(pod.uid, container.name)
        devices = map(_devices, listing.assigned(records))
        reply = v1.ContainerResources(name=container.name, devices=devices)
        more = self._view.others.containers.get((pod.uid, container.name))
        if more is not None:
            reply.MergeFrom(more)
        return reply


class PodResourcesAlpha:
    """v1alpha1: names and ids of app containers, of all pods that kubelet knows; one entry a
    device and NUMA node as in v1, of which it tells neither (seen in 1.37.2)."""

    def __init__(self, view: View, requests: RequestCounts) -> None:
        self._view, self._requests = view, requests

    def List(
        self, _request: v1alpha1.ListPodResourcesRequest, _call: Call
    ) -> v1alpha1.ListPodResourcesResponse:
        """Finished pods are shown, without devices."""
        self._requests.request()
        tables = self._view.tables
        reply = v1alpha1.ListPodResourcesResponse()
        with tables.lock:
            tables.collect()
            for pod in self._view.pods(active=False):
                shown = reply.pod_resources.add(name=pod.name, namespace=pod.namespace)
                for container in pod.app:
                    entry = shown.containers.add(name=container.name)
                    records = tables.records.of_container(pod.uid, container.name)
                    for each in listing.assigned(records):
                        entry.devices.add(resource_name=each.resource, device_ids=[each.id])
        return reply


def services(
    view: View, limiter: Limiter, counts: Counter[str]
) -> Mapping[ServiceDescriptor, object]:
    """Both versions, for one server: they share the limiter."""
    first, second = (RequestCounts(limiter, counts, each) for each in ("v1", "v1alpha1"))
    return {
        v1.DESCRIPTOR.services_by_name["PodResourcesLister"]: PodResources(view, first),
        v1alpha1.DESCRIPTOR.services_by_name["PodResourcesLister"]: PodResourcesAlpha(view, second),
    }


def _devices(entry: listing.DeviceEntry) -> v1.ContainerDevices:
    message = v1.ContainerDevices(resource_name=entry.resource, device_ids=[entry.id])
    if entry.node is not None:
        message.topology.nodes.add(ID=entry.node)
    return message
