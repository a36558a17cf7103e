"""Between the messages of `api` and the records of `state`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import cast

from refimpl.cri.api import cri_pb2 as pb
from refimpl.cri.state.models import (
    Container,
    ContainerKey,
    Image,
    Sandbox,
    SandboxKey,
    Wanted,
)

__all__ = [
    "container_key",
    "container_metadata",
    "container_out",
    "container_status",
    "image_out",
    "log_path",
    "sandbox_key",
    "sandbox_metadata",
    "sandbox_out",
    "sandbox_status",
    "wanted",
]

Filter = (
    pb.PodSandboxFilter | pb.ContainerFilter | pb.ContainerStatsFilter | pb.PodSandboxStatsFilter
)

_OF_CONTAINERS = (pb.ContainerFilter, pb.ContainerStatsFilter)

# -- in ---------------------------------------------------------------------------------------


def sandbox_key(sent: pb.PodSandboxMetadata) -> SandboxKey:
    """Metadata as sent; what is missing is empty."""
    return SandboxKey(sent.name, sent.namespace, sent.uid, sent.attempt)


def container_key(sent: pb.ContainerMetadata) -> ContainerKey:
    """Metadata as sent; what is missing is empty."""
    return ContainerKey(sent.name, sent.attempt)


def wanted(sent: Filter) -> Wanted:
    """A filter of any of the lists; each has some of the fields."""
    state: int | None = None
    if isinstance(sent, pb.PodSandboxFilter | pb.ContainerFilter) and sent.HasField("state"):
        state = sent.state.state
    sandbox = sent.pod_sandbox_id if isinstance(sent, _OF_CONTAINERS) else ""
    return Wanted(sent.id, state, sandbox, dict(sent.label_selector))


def log_path(sandbox: pb.PodSandboxConfig, container: pb.ContainerConfig) -> str:
    """The whole path; no log without a directory or without a path in it."""
    if not (sandbox.log_directory and container.log_path):
        return ""
    return os.path.join(sandbox.log_directory, container.log_path)


# -- out --------------------------------------------------------------------------------------


def sandbox_metadata(key: SandboxKey) -> pb.PodSandboxMetadata:
    """As it was sent."""
    return pb.PodSandboxMetadata(
        name=key.name, namespace=key.namespace, uid=key.uid, attempt=key.attempt
    )


def container_metadata(key: ContainerKey) -> pb.ContainerMetadata:
    """As it was sent."""
    return pb.ContainerMetadata(name=key.name, attempt=key.attempt)


def sandbox_out(sandbox: Sandbox) -> pb.PodSandbox:
    """An item of a list."""
    return pb.PodSandbox(
        id=sandbox.id,
        metadata=sandbox_metadata(sandbox.key),
        state=_sandbox_state(sandbox),
        created_at=sandbox.created_at,
        labels=sandbox.labels,
        annotations=_annotations(sandbox),
        runtime_handler=sandbox.handler,
    )


def sandbox_status(sandbox: Sandbox) -> pb.PodSandboxStatus:
    """All that is known of a sandbox; no address is an empty network."""
    config = cast(pb.PodSandboxConfig, sandbox.config)
    options = config.linux.security_context.namespace_options
    return pb.PodSandboxStatus(
        id=sandbox.id,
        metadata=sandbox_metadata(sandbox.key),
        state=_sandbox_state(sandbox),
        created_at=sandbox.created_at,
        network=pb.PodSandboxNetworkStatus(ip=sandbox.address),
        linux=pb.LinuxPodSandboxStatus(namespaces=pb.Namespace(options=options)),
        labels=sandbox.labels,
        annotations=_annotations(sandbox),
        runtime_handler=sandbox.handler,
    )


def container_out(container: Container) -> pb.Container:
    """An item of a list."""
    return pb.Container(
        id=container.id,
        pod_sandbox_id=container.sandbox_id,
        metadata=container_metadata(container.key),
        image=_spec(container),
        image_ref=container.image.id,
        image_id=container.image.id,
        state=_container_state(container),
        created_at=container.created_at,
        labels=container.labels,
        annotations=_annotations(container),
    )


def container_status(container: Container) -> pb.ContainerStatus:
    """All that is known of a container."""
    config = cast(pb.ContainerConfig, container.config)
    return pb.ContainerStatus(
        id=container.id,
        metadata=container_metadata(container.key),
        state=_container_state(container),
        created_at=container.created_at,
        started_at=container.started_at,
        finished_at=container.finished_at,
        exit_code=container.exit_code,
        image=_spec(container),
        image_ref=container.image.id,
        image_id=container.image.id,
        reason=container.reason,
        labels=container.labels,
        annotations=config.annotations,
        mounts=config.mounts,
        log_path=container.log_path,
        resources=pb.ContainerResources(linux=container.resources),
        stop_signal=config.stop_signal,
    )


def image_out(image: Image) -> pb.Image:
    """One image under one name, which may be its id."""
    return pb.Image(
        id=image.id,
        repo_tags=[] if image.name == image.id else [image.name],
        size=image.size,
        spec=pb.ImageSpec(image=image.name),
    )


def _spec(container: Container) -> pb.ImageSpec:
    """Kubelet shows `image` as the name of the image, and itself sends the id in it."""
    sent = cast(pb.ContainerConfig, container.config).image
    return pb.ImageSpec(
        image=sent.user_specified_image or sent.image,
        annotations=sent.annotations,
        user_specified_image=sent.user_specified_image,
    )


def _annotations(record: Sandbox | Container) -> Mapping[str, str]:
    return cast("pb.PodSandboxConfig | pb.ContainerConfig", record.config).annotations


def _sandbox_state(sandbox: Sandbox) -> pb.PodSandboxState.ValueType:
    return cast("pb.PodSandboxState.ValueType", int(sandbox.state))


def _container_state(container: Container) -> pb.ContainerState.ValueType:
    return cast("pb.ContainerState.ValueType", int(container.state))
