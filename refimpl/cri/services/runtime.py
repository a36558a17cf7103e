"""The runtime itself: version, conditions, configuration."""

from __future__ import annotations

import ipaddress
import json

from refimpl import __version__
from refimpl.cri.api import cri_pb2 as pb
from refimpl.cri.state import RuntimeState
from refimpl.wire.server import Call
from refimpl.wire.status import Code, Refused

__all__ = ["RuntimeRpcs"]


class RuntimeRpcs:
    """RPCs that are about no sandbox and no container."""

    def __init__(self, state: RuntimeState) -> None:
        self._state, self._choices = state, state.settings.runtime

    def Version(self, request: pb.VersionRequest, call: Call) -> pb.VersionResponse:
        """The same whatever is asked; kubelet refuses a runtime whose API is not 0.1.0."""
        return pb.VersionResponse(
            version="0.1.0",
            runtime_name=self._choices.name,
            runtime_version=self._choices.version or __version__,
            runtime_api_version="v1",
        )

    def Status(self, request: pb.StatusRequest, call: Call) -> pb.StatusResponse:
        """Both conditions that kubelet asks for, handlers and what they can do."""
        conditions = [
            pb.RuntimeCondition(
                type=name, status=each.holds, reason=each.reason, message=each.message
            )
            for name, each in self._state.conditions().items()
        ]
        handlers = [
            pb.RuntimeHandler(name=name, features=pb.RuntimeHandlerFeatures(**model.features))
            for name, model in self._state.ports.handlers.items()
        ]
        reply = pb.StatusResponse(
            status=pb.RuntimeStatus(conditions=conditions),
            runtime_handlers=handlers,
            features=pb.RuntimeFeatures(mount_options=self._state.settings.mounts.options),
        )
        if request.verbose:
            reply.info["config"] = json.dumps({"runtime": self._choices.name})
            reply.info.update(self._state.ports.info)
            if self._choices.bare_texts:
                reply.info["lastCNILoadStatus"] = "OK"
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
        """A pod CIDR changes nothing here; INVALID_ARGUMENT for one that is none."""
        sent = request.runtime_config.network_config.pod_cidr
        for cidr in sent.split(",") if sent and self._choices.pod_cidr else ():
            try:
                ipaddress.ip_network(cidr, strict=False)
            except ValueError:
                raise Refused(
                    Code.INVALID_ARGUMENT,
                    f"pod_cidr {sent!r}: {cidr!r} is no range; write 10.1.0.0/16, or two with a"
                    " comma between",
                ) from None
        return pb.UpdateRuntimeConfigResponse()
