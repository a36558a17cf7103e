"""A fake runtime and a client of it, with messages as kubelet sends them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

from refimpl.cri import kubelet
from refimpl.cri.api import cri_pb2 as pb
from refimpl.cri.fake import FakeRuntime
from refimpl.cri.virtual.images import image_of
from refimpl.images.references import parse

__all__ = ["IMAGE", "IMAGE_ID", "RuntimeRig", "container_config", "sandbox_config"]

IMAGE = "example.com/a:1"
IMAGE_ID = image_of(parse(IMAGE)).id


def sandbox_config(name: str = "pod", **more: Any) -> pb.PodSandboxConfig:
    """Of the first attempt of a pod; its uid is uid-NAME."""
    fields = {"uid": f"uid-{name}", **more}
    return kubelet.sandbox_config(name, **fields)


def container_config(
    name: str = "main", attempt: int = 0, image: str = IMAGE_ID, **more: Any
) -> pb.ContainerConfig:
    """Of one attempt of a container; its pod names the image example.com/a:1."""
    fields = {"annotations": {"hash": "12"}, "log_path": f"{name}/{attempt}.log", **more}
    config = kubelet.container_config(name, image, attempt=attempt, **fields)
    config.image.user_specified_image = IMAGE
    return config


class RuntimeRig:
    """A context manager. `fake` serves, `cri` calls it; `runtime` and `images` are its stubs."""

    def __init__(self, endpoint: Path | None = None, **choices: Any) -> None:
        self.fake = FakeRuntime(endpoint, **{"images": [IMAGE], **choices})

    def __enter__(self) -> Self:
        self.cri = kubelet.connect(self.fake.start())
        self.runtime, self.images = self.cri.runtime, self.cri.images
        return self

    def __exit__(self, *_exception: object) -> None:
        self.cri.close()
        self.fake.close()

    def sandbox(self, name: str = "pod", **more: Any) -> str:
        """The id of a new one."""
        return self.cri.run_pod_sandbox(sandbox_config(name, **more))

    def create(
        self, sandbox_id: str, config: pb.ContainerConfig | None = None, logs: Path | str = ""
    ) -> str:
        """The id of a new container; `logs` is the log directory of its sandbox."""
        sent = config or container_config()
        return self.cri.create_container(sandbox_id, sent, sandbox_config(log_directory=str(logs)))

    def run(
        self, sandbox_id: str, config: pb.ContainerConfig | None = None, logs: Path | str = ""
    ) -> str:
        """The id of a container that runs."""
        container_id = self.create(sandbox_id, config, logs)
        self.cri.start_container(container_id)
        return container_id

    def status(self, container_id: str) -> pb.ContainerStatus:
        """What the runtime says of a container."""
        return self.cri.container_status(container_id).status
