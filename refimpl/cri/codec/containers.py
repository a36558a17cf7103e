"""Containers between the messages of `api` and the records of `state`."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import cast

from refimpl.cri.api import cri_pb2 as pb
from refimpl.cri.codec.lists import Item, Listing
from refimpl.cri.codec.signals import name_of, number_of
from refimpl.cri.state.models import Container, ContainerKey, NewContainer
from refimpl.cri.state.settings import RuntimeSettings

__all__ = ["attributes", "listed", "metadata", "new", "prepared", "status"]


def new(request: pb.CreateContainerRequest) -> NewContainer:
    """A container as it is asked for; metadata that are missing are empty."""
    config = request.config
    return NewContainer(
        sandbox_id=request.pod_sandbox_id,
        key=ContainerKey(config.metadata.name, config.metadata.attempt),
        image=config.image.image,
        config=config,
        labels=config.labels,
        log_path=_log_path(request.sandbox_config, config),
        resources=config.linux.resources,
        stop_signal=number_of(config.stop_signal),
        volumes={
            number: each.image.image
            for number, each in enumerate(config.mounts)
            if each.HasField("image")
        },
        needs=_needs(config),
    )


def _needs(config: pb.ContainerConfig) -> dict[str, str]:
    """What must never be done by halves; the word is one that kubelet looks for (cri-api
    pkg/errors)."""
    recursive = any(each.recursive_read_only for each in config.mounts)
    return {"recursive_read_only_mounts": "RROUnsupported"} if recursive else {}


def _log_path(sandbox: pb.PodSandboxConfig, container: pb.ContainerConfig) -> str:
    """The whole path; no log without a directory or without a path in it."""
    if not (sandbox.log_directory and container.log_path):
        return ""
    return os.path.join(sandbox.log_directory, container.log_path)


def metadata(container: Container) -> pb.ContainerMetadata:
    """As it was sent."""
    return pb.ContainerMetadata(name=container.key.name, attempt=container.key.attempt)


def listed(containers: Iterable[Container]) -> pb.ListContainersResponse:
    """All of them."""
    return pb.ListContainersResponse.FromString(_LISTING.joined(containers))


def prepared(container: Container) -> Item:
    """Its item, ready for any list."""
    return _LISTING.prepared(container)


def _item(container: Container) -> pb.Container:
    return pb.Container(
        id=container.id,
        pod_sandbox_id=container.sandbox_id,
        metadata=metadata(container),
        image=_spec(container),
        image_ref=container.image.id,
        image_id=container.image.id,
        state=_state(container),
        created_at=container.created_at,
        labels=container.labels,
        annotations=_config(container).annotations,
    )


_LISTING = Listing(pb.ListContainersResponse.DESCRIPTOR.fields_by_name["containers"], _item)


def status(container: Container, settings: RuntimeSettings) -> pb.ContainerStatus:
    """All that is known of a container."""
    config, image = _config(container), container.image
    choices = settings.containers
    by_digest = choices.status_ref == "digest"
    signal = name_of(container.stop_signal)
    return pb.ContainerStatus(
        id=container.id,
        metadata=metadata(container),
        state=_state(container),
        created_at=container.created_at,
        started_at=container.started_at,
        finished_at=container.finished_at,
        exit_code=container.exit_code,
        image=_spec(container),
        image_ref=next(iter(image.digests), image.id) if by_digest else image.id,
        image_id=image.id,
        reason=container.reason,
        message=container.message,
        labels=container.labels,
        annotations=config.annotations,
        mounts=_mounts(container, shows_reference=settings.mounts.volume_reference),
        log_path=container.log_path,
        resources=pb.ContainerResources(linux=container.resources),
        stop_signal=signal if choices.status_stop_signal else pb.SIGNAL_RUNTIME_DEFAULT,
    )


def _mounts(container: Container, *, shows_reference: bool) -> list[pb.Mount]:
    """As they were asked for; of an image also which one it is (ImageSpec.image_ref)."""
    shown = []
    for number, asked in enumerate(_config(container).mounts):
        mount = pb.Mount()
        mount.CopyFrom(asked)
        if shows_reference and number in container.volumes:
            mount.image.image_ref = container.volumes[number].id
        shown.append(mount)
    return shown


def attributes(container: Container) -> pb.ContainerAttributes:
    """By what statistics tell whose they are."""
    return pb.ContainerAttributes(
        id=container.id,
        metadata=metadata(container),
        labels=container.labels,
        annotations=_config(container).annotations,
    )


def _spec(container: Container) -> pb.ImageSpec:
    """Kubelet shows `image` as the name of the image, and itself sends the id in it."""
    sent = _config(container).image
    return pb.ImageSpec(
        image=sent.user_specified_image or container.image_name,
        annotations=sent.annotations,
        user_specified_image=sent.user_specified_image,
    )


def _config(container: Container) -> pb.ContainerConfig:
    return cast(pb.ContainerConfig, container.config)


def _state(container: Container) -> pb.ContainerState.ValueType:
    return cast("pb.ContainerState.ValueType", int(container.state))
