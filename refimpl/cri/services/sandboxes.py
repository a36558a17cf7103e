"""Sandboxes, from run to remove."""

from __future__ import annotations

from refimpl.cri import codec
from refimpl.cri.api import cri_pb2 as pb
from refimpl.cri.services.verbose import info
from refimpl.cri.state import RuntimeState
from refimpl.wire.server import Call

__all__ = ["Sandboxes"]


class Sandboxes:
    """The pod sandbox half of RuntimeService."""

    _state: RuntimeState

    def RunPodSandbox(
        self, request: pb.RunPodSandboxRequest, call: Call
    ) -> pb.RunPodSandboxResponse:
        """A READY sandbox with an address, unless it is on the host's network."""
        config = request.config
        network = config.linux.security_context.namespace_options.network
        sandbox = self._state.run_sandbox(
            codec.sandbox_key(config.metadata),
            config=config,
            labels=config.labels,
            handler=request.runtime_handler,
            host_network=network == pb.NODE,
        )
        return pb.RunPodSandboxResponse(pod_sandbox_id=sandbox.id)

    def StopPodSandbox(
        self, request: pb.StopPodSandboxRequest, call: Call
    ) -> pb.StopPodSandboxResponse:
        """Its containers are killed."""
        self._state.stop_sandbox(request.pod_sandbox_id)
        return pb.StopPodSandboxResponse()

    def RemovePodSandbox(
        self, request: pb.RemovePodSandboxRequest, call: Call
    ) -> pb.RemovePodSandboxResponse:
        """Its containers go with it."""
        self._state.remove_sandbox(request.pod_sandbox_id)
        return pb.RemovePodSandboxResponse()

    def PodSandboxStatus(
        self, request: pb.PodSandboxStatusRequest, call: Call
    ) -> pb.PodSandboxStatusResponse:
        """`containers_statuses` and `timestamp` stay empty together: there are no events."""
        sandbox = self._state.sandbox(request.pod_sandbox_id)
        return pb.PodSandboxStatusResponse(
            status=codec.sandbox_status(sandbox), info=info(request.verbose, sandbox.config)
        )

    def ListPodSandbox(
        self, request: pb.ListPodSandboxRequest, call: Call
    ) -> pb.ListPodSandboxResponse:
        """Those that all of the filter fits."""
        sandboxes = self._state.sandboxes(codec.wanted(request.filter))
        return pb.ListPodSandboxResponse(items=[codec.sandbox_out(each) for each in sandboxes])

    def UpdatePodSandboxResources(
        self, request: pb.UpdatePodSandboxResourcesRequest, call: Call
    ) -> pb.UpdatePodSandboxResourcesResponse:
        """Told after the fact, and nothing here depends on it; the journal has it."""
        self._state.sandbox(request.pod_sandbox_id)
        return pb.UpdatePodSandboxResourcesResponse()
