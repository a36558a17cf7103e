"""A container runtime at the other end of a socket, called as kubelet calls it."""

from __future__ import annotations

import contextlib
import json
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Self

import attrs

from refimpl.cri.api import cri_pb2 as pb
from refimpl.cri.api.cri_pb2_grpc import ImageServiceStub, RuntimeServiceStub
from refimpl.wire.client import Channel, Unreachable
from refimpl.wire.endpoint import Endpoint
from refimpl.wire.journal import Entry
from refimpl.wire.status import Refused

__all__ = ["REQUEST_S", "RemoteRuntime", "connect", "info_of"]

REQUEST_S = 120.0
"""The default of kubelet's runtimeRequestTimeout."""


@attrs.frozen
class RemoteRuntime:
    """Both services of a runtime that `runtime_name` and `runtime_version` (without a v, as kubelet
    shows it) are of. Each method is the RPC of its name and raises Refused.

    `request_s` stands for kubelet's runtimeRequestTimeout. It is the deadline of every call, also
    of those that are made by `runtime` and `images`, the stubs; RunPodSandbox has twice as long,
    StopContainer and ExecSync have what they are given on top of it, PullImage has no deadline.
    A method that takes `timeout` (seconds) has that one instead.
    """

    channel: Channel
    request_s: float
    runtime_name: str
    runtime_version: str
    runtime: RuntimeServiceStub
    images: ImageServiceStub

    # The runtime itself

    def version(self, *, timeout: float | None = None) -> pb.VersionResponse:
        """Its name and version, and that it is there."""
        return self.runtime.Version(pb.VersionRequest(), timeout=timeout)

    def status(self, *, verbose: bool = False, timeout: float | None = None) -> pb.StatusResponse:
        """Its conditions; `verbose` adds `info`."""
        return self.runtime.Status(pb.StatusRequest(verbose=verbose), timeout=timeout)

    # Sandboxes

    def run_pod_sandbox(
        self, config: pb.PodSandboxConfig, handler: str = "", *, timeout: float | None = None
    ) -> str:
        """The id of a sandbox that is ready; `handler` is that of a RuntimeClass."""
        request = pb.RunPodSandboxRequest(config=config, runtime_handler=handler)
        seconds = 2 * self.request_s if timeout is None else timeout
        return self.runtime.RunPodSandbox(request, timeout=seconds).pod_sandbox_id

    def stop_pod_sandbox(self, sandbox_id: str) -> None:
        """Ends its containers and its network; success also where it is unknown."""
        self.runtime.StopPodSandbox(pb.StopPodSandboxRequest(pod_sandbox_id=sandbox_id))

    def remove_pod_sandbox(self, sandbox_id: str) -> None:
        """Removes it with its containers; success also where it is unknown."""
        self.runtime.RemovePodSandbox(pb.RemovePodSandboxRequest(pod_sandbox_id=sandbox_id))

    def pod_sandbox_status(
        self, sandbox_id: str, *, verbose: bool = False
    ) -> pb.PodSandboxStatusResponse:
        """All that is known of it; `verbose` adds `info`. NOT_FOUND where it is unknown."""
        request = pb.PodSandboxStatusRequest(pod_sandbox_id=sandbox_id, verbose=verbose)
        return self.runtime.PodSandboxStatus(request)

    def list_pod_sandboxes(
        self, labels: Mapping[str, str] | None = None, *, uid: str = ""
    ) -> list[pb.PodSandbox]:
        """Those with all of these labels. `uid` is that of a pod, for which CRI has no filter."""
        request = pb.ListPodSandboxRequest(filter=pb.PodSandboxFilter(label_selector=labels))
        items = self.runtime.ListPodSandbox(request).items
        return [item for item in items if uid in ("", item.metadata.uid)]

    # Containers

    def create_container(
        self, sandbox_id: str, config: pb.ContainerConfig, sandbox: pb.PodSandboxConfig
    ) -> str:
        """The id of a container that is not started; its image has to be there."""
        request = pb.CreateContainerRequest(
            pod_sandbox_id=sandbox_id, config=config, sandbox_config=sandbox
        )
        return self.runtime.CreateContainer(request).container_id

    def start_container(self, container_id: str) -> None:
        """Starts what was created; a second start is refused."""
        self.runtime.StartContainer(pb.StartContainerRequest(container_id=container_id))

    def stop_container(self, container_id: str, grace_s: int) -> None:
        """Ends it, by SIGKILL after the grace; success also where it is unknown."""
        request = pb.StopContainerRequest(container_id=container_id, timeout=grace_s)
        self.runtime.StopContainer(request, timeout=self.request_s + grace_s)

    def remove_container(self, container_id: str) -> None:
        """Removes it in whatever state; success also where it is unknown."""
        self.runtime.RemoveContainer(pb.RemoveContainerRequest(container_id=container_id))

    def container_status(
        self, container_id: str, *, verbose: bool = False
    ) -> pb.ContainerStatusResponse:
        """All that is known of it; `verbose` adds `info`. NOT_FOUND where it is unknown."""
        request = pb.ContainerStatusRequest(container_id=container_id, verbose=verbose)
        return self.runtime.ContainerStatus(request)

    def list_containers(
        self,
        labels: Mapping[str, str] | None = None,
        *,
        sandbox_id: str = "",
        state: pb.ContainerState.ValueType | None = None,
    ) -> list[pb.Container]:
        """Those that all of this fits."""
        selected = pb.ContainerFilter(label_selector=labels, pod_sandbox_id=sandbox_id)
        if state is not None:
            selected.state.state = state
        return list(
            self.runtime.ListContainers(pb.ListContainersRequest(filter=selected)).containers
        )

    def exec_sync(
        self, container_id: str, command: Iterable[str], timeout_s: int = 0
    ) -> pb.ExecSyncResponse:
        """What the command wrote and its exit code; for 0 it may run for ever, as in kubelet."""
        request = pb.ExecSyncRequest(container_id=container_id, cmd=command, timeout=timeout_s)
        seconds = self.request_s + timeout_s if timeout_s else math.inf
        return self.runtime.ExecSync(request, timeout=seconds)

    # Images

    def image_status(self, image: str) -> pb.Image | None:
        """The image of a name or id; None where it is not on the node."""
        request = pb.ImageStatusRequest(image=pb.ImageSpec(image=image))
        reply = self.images.ImageStatus(request)
        return reply.image if reply.HasField("image") else None

    def pull_image(self, image: str, sandbox: pb.PodSandboxConfig | None = None) -> str:
        """The reference by which containers are created from what was pulled."""
        request = pb.PullImageRequest(image=pb.ImageSpec(image=image), sandbox_config=sandbox)
        return self.images.PullImage(request, timeout=math.inf).image_ref

    def list_images(self) -> list[pb.Image]:
        """All of the node."""
        return list(self.images.ListImages(pb.ListImagesRequest()).images)

    # The connection

    @property
    def endpoint(self) -> Endpoint:
        """Where it was called."""
        return self.channel.endpoint

    def close(self) -> None:
        """Hangs up; pods go on running."""
        self.channel.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()


def connect(
    endpoint: Endpoint | os.PathLike[str] | str,
    *,
    ready_s: float = REQUEST_S,
    request_s: float = REQUEST_S,
    observers: Sequence[Callable[[Entry], object]] = (),
) -> RemoteRuntime:
    """The runtime that answers there to Version, which is the first that kubelet asks, too.

    Waits up to `ready_s` for it; each observer is handed every call. Raises EndpointError,
    Unreachable.
    """
    there = endpoint if isinstance(endpoint, Endpoint) else Endpoint.parse(endpoint)
    channel = Channel(there, deadline_s=request_s, observers=observers)
    runtime = RuntimeServiceStub(channel)
    try:
        channel.wait_ready(ready_s)
        about = runtime.Version(pb.VersionRequest())
    except Refused as error:
        channel.close()
        raise Unreachable(f"{there} does not serve the CRI: {error}") from error
    except BaseException:
        channel.close()
        raise
    version = about.runtime_version.removeprefix("v")
    images = ImageServiceStub(channel)
    return RemoteRuntime(channel, request_s, about.runtime_name, version, runtime, images)


def info_of(
    reply: pb.StatusResponse | pb.PodSandboxStatusResponse | pb.ContainerStatusResponse,
    member: str = "info",
) -> dict[str, Any]:
    """A member of what a verbose reply tells besides, which is JSON; empty where it is none."""
    with contextlib.suppress(json.JSONDecodeError):
        value = json.loads(reply.info.get(member, "{}"))
        return value if isinstance(value, dict) else {}
    return {}
