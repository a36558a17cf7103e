"""A fake runtime and a client of it, with messages as kubelet sends them."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Any, Self, cast

import grpc

from refimpl.cri.api import cri_pb2 as pb
from refimpl.cri.api.cri_pb2_grpc import ImageServiceStub, RuntimeServiceStub
from refimpl.cri.fake import FakeRuntime
from refimpl.wire.client import Channel

__all__ = ["RuntimeRig", "container_config", "sandbox_config"]


def sandbox_config(name: str = "pod", **more: Any) -> pb.PodSandboxConfig:
    """Of the first attempt of a pod; its uid is uid-NAME."""
    metadata = pb.PodSandboxMetadata(name=name, namespace="default", uid=f"uid-{name}")
    labels = {"io.kubernetes.pod.uid": f"uid-{name}"}
    fields = {"metadata": metadata, "labels": labels, "log_directory": f"/logs/{name}", **more}
    return pb.PodSandboxConfig(**fields)


def container_config(name: str = "main", attempt: int = 0, **more: Any) -> pb.ContainerConfig:
    """Of one attempt of a container."""
    fields = {
        "metadata": pb.ContainerMetadata(name=name, attempt=attempt),
        "image": pb.ImageSpec(image="sha256:1", user_specified_image="example.com/a:1"),
        "labels": {"io.kubernetes.container.name": name},
        "annotations": {"hash": "12"},
        "log_path": f"{name}/{attempt}.log",
        **more,
    }
    return pb.ContainerConfig(**fields)


class RuntimeRig:
    """A context manager. `fake` serves, `runtime` and `images` call it."""

    def __init__(self, endpoint: Path | None = None, **choices: Any) -> None:
        self.fake = FakeRuntime(endpoint, **choices)
        self._channel: Channel | None = None

    def __enter__(self) -> Self:
        self._channel = Channel(self.fake.start())
        channel = cast("grpc.Channel", self._channel)
        self.runtime, self.images = RuntimeServiceStub(channel), ImageServiceStub(channel)
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _where: TracebackType | None,
    ) -> None:
        if self._channel is not None:
            self._channel.close()
        self.fake.stop()

    def sandbox(self, name: str = "pod", **more: Any) -> str:
        """The id of a new one."""
        asked = pb.RunPodSandboxRequest(config=sandbox_config(name, **more))
        return self.runtime.RunPodSandbox(asked).pod_sandbox_id

    def create(self, sandbox_id: str, config: pb.ContainerConfig | None = None) -> str:
        """The id of a new container."""
        asked = pb.CreateContainerRequest(
            pod_sandbox_id=sandbox_id,
            config=config or container_config(),
            sandbox_config=sandbox_config(),
        )
        return self.runtime.CreateContainer(asked).container_id

    def run(self, sandbox_id: str, config: pb.ContainerConfig | None = None) -> str:
        """The id of a container that runs."""
        created = self.create(sandbox_id, config)
        self.runtime.StartContainer(pb.StartContainerRequest(container_id=created))
        return created

    def status(self, container_id: str) -> pb.ContainerStatus:
        """What the runtime says of a container."""
        asked = pb.ContainerStatusRequest(container_id=container_id)
        return self.runtime.ContainerStatus(asked).status
