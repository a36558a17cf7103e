"""Sandboxes, from run to remove."""

from __future__ import annotations

from refimpl.cri.api import cri_pb2 as pb
from refimpl.cri.checks import sandboxes as checks
from refimpl.cri.codec import sandboxes as codec
from refimpl.cri.codec.filters import wanted
from refimpl.cri.services.verbose import info
from refimpl.cri.state import RuntimeState
from refimpl.wire.server import Call

__all__ = ["SandboxRpcs"]


class SandboxRpcs:
    """The pod sandbox half of RuntimeService."""

    def __init__(self, state: RuntimeState) -> None:
        self._sandboxes, self._choices = state.sandboxes, state.settings.sandboxes

    def RunPodSandbox(
        self, request: pb.RunPodSandboxRequest, call: Call
    ) -> pb.RunPodSandboxResponse:
        """A READY sandbox with an address, unless it is on the host's network."""
        checks.check(request.config, self._choices)
        sandbox = self._sandboxes.run(codec.new(request, self._choices))
        codec.prepared(sandbox)  # now, so that the first list of many is as fast as any
        return pb.RunPodSandboxResponse(pod_sandbox_id=sandbox.id)

    def StopPodSandbox(
        self, request: pb.StopPodSandboxRequest, call: Call
    ) -> pb.StopPodSandboxResponse:
        """Its containers are killed."""
        self._sandboxes.stop(request.pod_sandbox_id)
        return pb.StopPodSandboxResponse()

    def RemovePodSandbox(
        self, request: pb.RemovePodSandboxRequest, call: Call
    ) -> pb.RemovePodSandboxResponse:
        """Its containers go with it."""
        self._sandboxes.remove(request.pod_sandbox_id)
        return pb.RemovePodSandboxResponse()

    def PodSandboxStatus(
        self, request: pb.PodSandboxStatusRequest, call: Call
    ) -> pb.PodSandboxStatusResponse:
        """`containers_statuses` and `timestamp` stay empty together: there are no events."""
        sandbox = self._sandboxes.get(request.pod_sandbox_id)
        verbose = request.verbose or self._choices.always_info
        return pb.PodSandboxStatusResponse(
            status=codec.status(sandbox, self._choices), info=info(verbose, sandbox.config)
        )

    def ListPodSandbox(
        self, request: pb.ListPodSandboxRequest, call: Call
    ) -> pb.ListPodSandboxResponse:
        """Those that all of the filter fits."""
        return codec.listed(self._sandboxes.select(wanted(request.filter)))

    def UpdatePodSandboxResources(
        self, request: pb.UpdatePodSandboxResourcesRequest, call: Call
    ) -> pb.UpdatePodSandboxResourcesResponse:
        """Told after the fact, and nothing here depends on it; the journal has it."""
        self._sandboxes.get(request.pod_sandbox_id)
        return pb.UpdatePodSandboxResourcesResponse()
