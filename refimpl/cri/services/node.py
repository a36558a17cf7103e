"""The runtime itself: version, conditions, configuration."""

from __future__ import annotations

import json

from refimpl import __version__
from refimpl.cri.api import cri_pb2 as pb
from refimpl.cri.state import RuntimeState
from refimpl.wire.server import Call

__all__ = ["NAME", "NodeCalls"]

NAME = "refimpl"
"""The runtime's name; kubelet begins container ids with it."""


class NodeCalls:
    """RPCs that are about no sandbox and no container."""

    _state: RuntimeState

    def Version(self, request: pb.VersionRequest, call: Call) -> pb.VersionResponse:
        """The same whatever is asked; kubelet refuses a runtime whose API is not 0.1.0."""
        return pb.VersionResponse(
            version="0.1.0",
            runtime_name=NAME,
            runtime_version=__version__,
            runtime_api_version="v1",
        )

    def Status(self, request: pb.StatusRequest, call: Call) -> pb.StatusResponse:
        """Both conditions that kubelet asks for hold."""
        conditions = [
            pb.RuntimeCondition(type=kind, status=True) for kind in ("RuntimeReady", "NetworkReady")
        ]
        reply = pb.StatusResponse(
            status=pb.RuntimeStatus(conditions=conditions),
            runtime_handlers=[pb.RuntimeHandler(name=name) for name in self._state.handlers],
            features=pb.RuntimeFeatures(),
        )
        if request.verbose:
            reply.info["config"] = json.dumps({"processes": "none"})
        return reply

    def RuntimeConfig(
        self, request: pb.RuntimeConfigRequest, call: Call
    ) -> pb.RuntimeConfigResponse:
        """Without processes any driver is right; cgroupfs asks nothing of the machine."""
        linux = pb.LinuxRuntimeConfiguration(cgroup_driver=pb.CGROUPFS)
        return pb.RuntimeConfigResponse(linux=linux)

    def UpdateRuntimeConfig(
        self, request: pb.UpdateRuntimeConfigRequest, call: Call
    ) -> pb.UpdateRuntimeConfigResponse:
        """A pod CIDR changes nothing here."""
        return pb.UpdateRuntimeConfigResponse()
