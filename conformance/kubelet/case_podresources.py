"""What a case asks of the pod resources of the node under test."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

import grpc

from conformance.engine.verdict import timeout
from conformance.kubelet.client import DEADLINE_S, Client
from refimpl.deviceplugin.api import podresources_v1_pb2 as pr
from refimpl.deviceplugin.api.podresources_v1_pb2_grpc import PodResourcesListerStub
from refimpl.deviceplugin.api.podresources_v1alpha1_pb2_grpc import (
    PodResourcesListerStub as AlphaStub,
)
from refimpl.deviceplugin.lister import devices_of, patiently
from refimpl.node.pods import PodSpec
from refimpl.wire.client import Channel
from refimpl.wire.endpoint import Endpoint
from refimpl.wire.journal import Journal

__all__ = ["CasePodResources"]

T = TypeVar("T")


class CasePodResources:
    """Calls of a case to pod resources of the client, which runs when it is first asked for."""

    def __init__(self, client: Callable[[], Client], journal: Journal) -> None:
        self._client, self._journal = client, journal
        self._channels: list[Channel] = []

    @property
    def endpoint(self) -> Endpoint:
        """Where pod resources are served."""
        return Endpoint.parse(self._client().root / "pod-resources" / "kubelet.sock")

    def channel(self) -> Channel:
        """A connection of the case's own."""
        channel = Channel(self.endpoint, journal=self._journal, deadline_s=timeout(DEADLINE_S))
        self._channels.append(channel)
        return channel

    def v1(self) -> PodResourcesListerStub:
        """The v1 service; it refuses calls in quick succession, which `patiently` makes again."""
        return PodResourcesListerStub(cast("grpc.Channel", self._lasting()))

    def v1alpha1(self) -> AlphaStub:
        """The v1alpha1 service."""
        return AlphaStub(cast("grpc.Channel", self._lasting()))

    def listed(self) -> list[pr.PodResources]:
        """What List says."""
        request = pr.ListPodResourcesRequest()
        return list(self.patiently(lambda: self.v1().List(request)).pod_resources)

    def patiently(self, call: Callable[[], T]) -> T:
        """A call that is made again when it was one too many, or kubelet is just starting."""
        return patiently(call, DEADLINE_S, worth=self._client().running)

    def allocatable(self, resource: str) -> set[str]:
        """Its healthy devices as the client tells them (GetAllocatableResources, else counts)."""
        client = self._client()
        if "pod-resources" not in client.able:
            return {f"({client.node().allocatable.get(resource, 0)})"}
        request = pr.AllocatableResourcesRequest()
        reply = self.patiently(lambda: self.v1().GetAllocatableResources(request))
        return set(devices_of(reply.devices).get(resource, ()))

    def assigned(self, pod: PodSpec, resource: str, container: str = "main") -> set[str]:
        """Devices of a container, as List shows them."""
        containers = (
            held
            for listed in self.listed()
            if (listed.name, listed.namespace) == (pod.name, pod.namespace)
            for held in listed.containers
            if held.name == container
        )
        return {id for held in containers for id in devices_of(held.devices).get(resource, ())}

    def close(self) -> None:
        """Hangs up; it may be used again."""
        for channel in self._channels:
            channel.close()
        self._channels.clear()

    def _lasting(self) -> Channel:
        return self._channels[0] if self._channels else self.channel()
