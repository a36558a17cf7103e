"""DRA drivers for the claims of pods: they prepare what a claim was allocated, as it says."""
# RPC methods keep the names of the protocol.
# ruff: noqa: N802

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from conformance.kubelet.claims import named_claims
from refimpl.dra.api import dra_v1_pb2 as pb
from refimpl.node.pods import Claim, PodSpec
from refimpl.registration.plugin import RegistrationService
from refimpl.wire.endpoint import Endpoint
from refimpl.wire.journal import Journal
from refimpl.wire.server import Call, Server

__all__ = ["Drivers"]

_SERVICE = pb.DESCRIPTOR.services_by_name["DRAPlugin"]


class Drivers:
    """The drivers of one node. They stay until `close`: a pod that is gone leaves claims behind
    that kubelet has them take back."""

    def __init__(self) -> None:
        self._servers: list[Server] = []

    def serve(self, registry: Path, pod: PodSpec) -> None:
        """Has a driver of each claim of the pod in that plugins_registry, where kubelet finds it
        under this same path."""
        used: dict[str, dict[str, Claim]] = {}
        for claim in named_claims(pod):
            used.setdefault(claim.driver, {})[claim.name] = claim
        for name, claims in used.items():
            services = RegistrationService("DRAPlugin", name, versions=["v1.DRAPlugin"]).services()
            server = Server({_SERVICE: _Driver(claims), **services}, journal=Journal(keep=0))
            self._servers.append(server)
            server.start(Endpoint.parse(registry / f"{name}.sock"))

    def close(self) -> None:
        """Ends them all."""
        for server in self._servers:
            server.stop(0)
        self._servers = []


class _Driver:
    """By name of the claim, what it gives."""

    def __init__(self, claims: Mapping[str, Claim]) -> None:
        self._claims = claims

    def NodePrepareResources(
        self, request: pb.NodePrepareResourcesRequest, _call: Call
    ) -> pb.NodePrepareResourcesResponse:
        reply = pb.NodePrepareResourcesResponse()
        for entry in request.claims:
            claim = self._claims[entry.name]
            device = reply.claims[entry.uid].devices.add(
                pool_name=claim.pool, device_name=claim.device, cdi_device_ids=claim.cdi
            )
            if claim.share:
                device.share_id = claim.share
        return reply

    def NodeUnprepareResources(
        self, request: pb.NodeUnprepareResourcesRequest, _call: Call
    ) -> pb.NodeUnprepareResourcesResponse:
        reply = pb.NodeUnprepareResourcesResponse()
        for entry in request.claims:
            reply.claims[entry.uid].SetInParent()
        return reply
