"""What kubelet does with a runtime besides starting pods: it starts up, looks again and again at
what there is, probes, and collects what is left.
"""

from __future__ import annotations

import attrs

from refimpl.cri.api import cri_pb2 as pb
from refimpl.cri.kubelet.configs import POD_UID
from refimpl.cri.kubelet.pods import end_pod
from refimpl.cri.kubelet.remote import RemoteRuntime
from refimpl.wire.status import Code, Refused

__all__ = ["SeenPod", "collect", "probe", "relist", "start_up"]

_API_VERSION = "0.1.0"


@attrs.frozen
class SeenPod:
    """What a look at the runtime has told of a pod; its newest sandbox comes first."""

    uid: str
    sandboxes: tuple[pb.PodSandboxStatus, ...]
    containers: tuple[pb.ContainerStatus, ...]


def start_up(runtime: RemoteRuntime) -> pb.RuntimeStatus:
    """What a kubelet asks before it is ready, after Version, by which it connects; the conditions
    on which the readiness of its node depends. Raises Refused.

    A runtime without RuntimeConfig is asked no more; kubelet has a cgroup driver of its own then.
    """
    runtime.images.ImageFsInfo(pb.ImageFsInfoRequest())
    try:
        runtime.runtime.RuntimeConfig(pb.RuntimeConfigRequest())
    except Refused as refused:
        if refused.code != Code.UNIMPLEMENTED:
            raise
    runtime.runtime.Version(pb.VersionRequest(version=_API_VERSION))
    return runtime.status().status


def relist(runtime: RemoteRuntime, uid: str = "") -> list[SeenPod]:
    """All sandboxes and containers, unfiltered, and then the status of each of the pods that have
    kubelet's labels; with `uid` of that pod alone, as if no other had changed. Raises Refused."""
    sandboxes, containers = runtime.list_pod_sandboxes(), runtime.list_containers()
    labelled = [sandbox.labels.get(POD_UID, "") for sandbox in sandboxes]
    labelled += [container.labels.get(POD_UID, "") for container in containers]
    uids = [each for each in dict.fromkeys(labelled) if each and uid in ("", each)]
    return [_look(runtime, each) for each in uids]


def _look(runtime: RemoteRuntime, uid: str) -> SeenPod:
    """The newest sandbox counts, so it is the first."""
    labels = {POD_UID: uid}
    sandboxes = sorted(
        runtime.list_pod_sandboxes(labels), key=lambda each: each.created_at, reverse=True
    )
    statuses = [runtime.pod_sandbox_status(sandbox.id).status for sandbox in sandboxes]
    containers = [
        runtime.container_status(container.id).status
        for container in runtime.list_containers(labels)
    ]
    return SeenPod(uid, tuple(statuses), tuple(containers))


def probe(
    runtime: RemoteRuntime, container_id: str, command: tuple[str, ...], timeout_s: int = 1
) -> bool:
    """Whether the command ended with 0 in time, as an exec probe judges. Raises Refused."""
    try:
        return runtime.exec_sync(container_id, command, timeout_s).exit_code == 0
    except Refused as refused:
        if refused.code == Code.DEADLINE_EXCEEDED:
            return False
        raise


def collect(runtime: RemoteRuntime, namespace: str) -> list[str]:
    """Ends and removes the pods of a namespace, as kubelet does with pods that nobody wants any
    more; the ids of their sandboxes. Raises Refused."""
    sandboxes = [
        sandbox.id
        for sandbox in runtime.list_pod_sandboxes()
        if sandbox.metadata.namespace == namespace
    ]
    for sandbox_id in sandboxes:
        end_pod(runtime, sandbox_id, grace_s=0)
    return sandboxes
