"""A pod's life in a runtime: in which order kubelet makes, ends and removes what it is made of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from threading import Event
from time import monotonic

import attrs

from refimpl.cri.api import cri_pb2 as pb
from refimpl.cri.kubelet.configs import pod_labels
from refimpl.cri.kubelet.remote import RemoteRuntime
from refimpl.wire.client import timeout_factor

__all__ = [
    "StartedPod",
    "end_pod",
    "ensure_image",
    "kill_pod",
    "remove_pod",
    "start_container",
    "start_pod",
    "wait_container",
]

_LEAST_GRACE_S = 2
"""Kubelet never gives a container less time to end."""
_POLL_S = 0.02


@attrs.frozen
class StartedPod:
    """`sandbox` as the runtime tells of it, addresses included; container name -> id."""

    sandbox: pb.PodSandboxStatus
    containers: Mapping[str, str]


def start_pod(
    runtime: RemoteRuntime,
    sandbox: pb.PodSandboxConfig,
    containers: Iterable[pb.ContainerConfig] = (),
    handler: str = "",
) -> StartedPod:
    """A sandbox, whose addresses are looked up, and the containers in it, one after the other.

    Raises Refused; what was made until then stays, as kubelet leaves it.
    """
    sandbox_id = runtime.run_pod_sandbox(sandbox, handler)
    status = runtime.pod_sandbox_status(sandbox_id).status
    started = {
        config.metadata.name: start_container(runtime, sandbox_id, config, sandbox)
        for config in containers
    }
    return StartedPod(status, started)


def start_container(
    runtime: RemoteRuntime,
    sandbox_id: str,
    config: pb.ContainerConfig,
    sandbox: pb.PodSandboxConfig,
) -> str:
    """The id of a running container, with the labels of its pod, of an image that was pulled where
    it was not there. Raises Refused."""
    sent = pb.ContainerConfig()
    sent.CopyFrom(config)
    sent.image.image = ensure_image(runtime, config.image.image, sandbox)
    sent.image.user_specified_image = config.image.image
    sent.labels.update(pod_labels(sandbox.metadata))
    container_id = runtime.create_container(sandbox_id, sent, sandbox)
    runtime.start_container(container_id)
    return container_id


def ensure_image(
    runtime: RemoteRuntime, image: str, sandbox: pb.PodSandboxConfig | None = None
) -> str:
    """What containers are created from: the id of an image that is there, else what pulling it
    returns (imagePullPolicy IfNotPresent). Raises Refused."""
    present = runtime.image_status(image)
    return present.id if present else runtime.pull_image(image, sandbox)


def kill_pod(runtime: RemoteRuntime, sandbox_id: str, grace_s: int = 30) -> list[pb.Container]:
    """Ends the containers that run, each in `grace_s` (at least 2), then the sandbox; the
    containers, which stay until they are removed. Raises Refused."""
    containers = runtime.list_containers(sandbox_id=sandbox_id)
    for container in containers:
        if container.state == pb.CONTAINER_RUNNING:
            runtime.stop_container(container.id, max(grace_s, _LEAST_GRACE_S))
    runtime.stop_pod_sandbox(sandbox_id)
    return containers


def end_pod(runtime: RemoteRuntime, sandbox_id: str, grace_s: int = 30) -> None:
    """Kills a pod, and removes its containers, then the sandbox. Raises Refused."""
    for container in kill_pod(runtime, sandbox_id, grace_s):
        runtime.remove_container(container.id)
    runtime.remove_pod_sandbox(sandbox_id)


def remove_pod(runtime: RemoteRuntime, uid: str) -> bool:
    """Removes the sandboxes of a pod with all that is in them, stopped first, as kubelet does with
    what is left of one that is gone; whether there was any. Raises Refused."""
    sandboxes = runtime.list_pod_sandboxes(uid=uid)
    for sandbox in sandboxes:
        runtime.stop_pod_sandbox(sandbox.id)
        runtime.remove_pod_sandbox(sandbox.id)
    return bool(sandboxes)


def wait_container(
    runtime: RemoteRuntime,
    container_id: str,
    state: pb.ContainerState.ValueType,
    limit_s: float = 60.0,
) -> pb.ContainerStatus:
    """The status of a container once it is in that state; raises TimeoutError, Refused."""
    end = monotonic() + limit_s * timeout_factor()
    while (status := runtime.container_status(container_id).status).state != state:
        if monotonic() > end:
            present, wanted = map(pb.ContainerState.Name, (status.state, state))
            raise TimeoutError(
                f"container {container_id}: {present}, not {wanted}, in {limit_s:g} s"
            )
        Event().wait(_POLL_S)
    return status
