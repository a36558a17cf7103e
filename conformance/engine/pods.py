"""Pods that killed runs left in a runtime; the uid is all that is on record of them."""

from __future__ import annotations

from functools import partial

from conformance.engine.options import BadOption
from conformance.engine.things import Leftovers
from refimpl.cri.api import cri_pb2 as pb
from refimpl.cri.api.cri_pb2_grpc import RuntimeServiceStub
from refimpl.wire.client import Channel, Unreachable
from refimpl.wire.endpoint import Endpoint, EndpointError

__all__ = ["POD", "leftovers", "remove"]

POD = "pod"
_READY_S = 10.0
_DEADLINE_S = 30.0


def remove(cri: RuntimeServiceStub, uid: str) -> bool:
    """Stops and removes the sandboxes of a pod; whether there was one. Raises Refused."""
    listed = cri.ListPodSandbox(pb.ListPodSandboxRequest()).items
    ids = [each.id for each in listed if each.metadata.uid == uid]
    for id in ids:
        cri.StopPodSandbox(pb.StopPodSandboxRequest(pod_sandbox_id=id))
        cri.RemovePodSandbox(pb.RemovePodSandboxRequest(pod_sandbox_id=id))
    return bool(ids)


def leftovers(endpoint: str) -> Leftovers:
    """Removes files and pods; raises BadOption, Unreachable."""
    try:
        channel = Channel(Endpoint.parse(endpoint), deadline_s=_DEADLINE_S)
    except EndpointError as error:
        raise BadOption(str(error)) from error
    try:
        channel.wait_ready(_READY_S)
    except Unreachable:
        channel.close()
        raise
    return Leftovers({POD: partial(remove, RuntimeServiceStub(channel))}, channel.close)
