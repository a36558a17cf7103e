"""What a case asks of the pod resources of the node under test."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

import grpc

from conformance.engine.verdict import timeout
from conformance.kubelet.client import Client
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

__all__ = ["DEADLINE_S", "Resources"]

T = TypeVar("T")

DEADLINE_S = 20.0
"""For what a client does by itself; it returns as soon as it is done."""


class Resources:
    """Part of `node.Node`."""

    journal: Journal
    _channels: list[Channel]

    @property
    def client(self) -> Client:
        """The client under test."""
        raise NotImplementedError

    @property
    def pod_resources(self) -> Endpoint:
        """Where pod resources are served."""
        return Endpoint.parse(self.client.root / "pod-resources" / "kubelet.sock")

    def channel(self) -> Channel:
        """A connection of the case's own to pod resources."""
        made = Channel(self.pod_resources, journal=self.journal, deadline_s=timeout(DEADLINE_S))
        self._channels.append(made)
        return made

    def resources(self) -> PodResourcesListerStub:
        """The v1 service; calls in quick succession may be refused, see `patiently`."""
        return PodResourcesListerStub(cast("grpc.Channel", self._lasting()))

    def alpha(self) -> AlphaStub:
        """The v1alpha1 service."""
        return AlphaStub(cast("grpc.Channel", self._lasting()))

    def listed(self) -> list[pr.PodResources]:
        """What List says."""
        asked = pr.ListPodResourcesRequest()
        reply = self.patiently(lambda: self.resources().List(asked))
        return list(reply.pod_resources)

    def patiently(self, call: Callable[[], T]) -> T:
        """A call that is made again when it was one too many, or kubelet is just starting."""
        return patiently(call, DEADLINE_S, worth=self.client.running)

    def _lasting(self) -> Channel:
        return self._channels[0] if self._channels else self.channel()

    def allocatable(self, resource: str) -> set[str]:
        """Its healthy devices as the client tells them (GetAllocatableResources, else counts)."""
        if "pod-resources" not in self.client.able:
            count = self.client.node().allocatable.get(resource, 0)
            return {f"({count})"}
        asked = pr.AllocatableResourcesRequest()
        reply = self.patiently(lambda: self.resources().GetAllocatableResources(asked))
        return set(devices_of(reply.devices).get(resource, ()))

    def assigned(self, pod: PodSpec, resource: str, container: str = "main") -> set[str]:
        """Its devices as pod resources lists them."""
        found = (
            held
            for each in self.listed()
            if (each.name, each.namespace) == (pod.name, pod.namespace)
            for held in each.containers
            if held.name == container
        )
        return {id for held in found for id in devices_of(held.devices).get(resource, ())}
