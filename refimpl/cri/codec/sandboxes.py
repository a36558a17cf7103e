"""Sandboxes between the messages of `api` and the records of `state`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from refimpl.cri.api import cri_pb2 as pb
from refimpl.cri.codec.lists import Item, Listing
from refimpl.cri.state.models import NewSandbox, Sandbox, SandboxKey
from refimpl.cri.state.settings.sandboxes import SandboxChoices

__all__ = ["attributes", "listed", "metadata", "new", "prepared", "status"]


def new(request: pb.RunPodSandboxRequest, choices: SandboxChoices) -> NewSandbox:
    """A sandbox as it is asked for; metadata that are missing are empty."""
    config, sent = request.config, request.config.metadata
    labels = {**_pod_labels(sent), **config.labels} if choices.pod_labels else config.labels
    return NewSandbox(
        key=SandboxKey(sent.name, sent.namespace, sent.uid, sent.attempt),
        config=config,
        labels=labels,
        handler=request.runtime_handler,
        host_network=config.linux.security_context.namespace_options.network == pb.NODE,
    )


def _pod_labels(sent: pb.PodSandboxMetadata) -> dict[str, str]:
    facts = {"name": sent.name, "namespace": sent.namespace, "uid": sent.uid}
    return {f"io.kubernetes.pod.{name}": value for name, value in facts.items()}


def metadata(sandbox: Sandbox) -> pb.PodSandboxMetadata:
    """As it was sent."""
    key = sandbox.key
    return pb.PodSandboxMetadata(
        name=key.name, namespace=key.namespace, uid=key.uid, attempt=key.attempt
    )


def listed(sandboxes: Iterable[Sandbox]) -> pb.ListPodSandboxResponse:
    """All of them."""
    return pb.ListPodSandboxResponse.FromString(_LISTING.joined(sandboxes))


def prepared(sandbox: Sandbox) -> Item:
    """Its item, ready for any list."""
    return _LISTING.prepared(sandbox)


def _item(sandbox: Sandbox) -> pb.PodSandbox:
    return pb.PodSandbox(
        id=sandbox.id,
        metadata=metadata(sandbox),
        state=_state(sandbox),
        created_at=sandbox.created_at,
        labels=sandbox.labels,
        annotations=_config(sandbox).annotations,
        runtime_handler=sandbox.handler,
    )


_LISTING = Listing(pb.ListPodSandboxResponse.DESCRIPTOR.fields_by_name["items"], _item)


def status(sandbox: Sandbox, choices: SandboxChoices) -> pb.PodSandboxStatus:
    """All that is known of a sandbox; no address is an empty network."""
    config = _config(sandbox)
    options = config.linux.security_context.namespace_options
    first, *others = sandbox.addresses or ("",)
    return pb.PodSandboxStatus(
        id=sandbox.id,
        metadata=metadata(sandbox),
        state=_state(sandbox),
        created_at=sandbox.created_at,
        network=pb.PodSandboxNetworkStatus(
            ip=first, additional_ips=[pb.PodIP(ip=each) for each in others]
        ),
        linux=pb.LinuxPodSandboxStatus(namespaces=pb.Namespace(options=options)),
        labels=sandbox.labels,
        annotations=config.annotations,
        runtime_handler=sandbox.handler if choices.status_handler else "",
    )


def attributes(sandbox: Sandbox) -> pb.PodSandboxAttributes:
    """By what statistics tell whose they are."""
    return pb.PodSandboxAttributes(
        id=sandbox.id,
        metadata=metadata(sandbox),
        labels=sandbox.labels,
        annotations=_config(sandbox).annotations,
    )


def _config(sandbox: Sandbox) -> pb.PodSandboxConfig:
    return cast(pb.PodSandboxConfig, sandbox.config)


def _state(sandbox: Sandbox) -> pb.PodSandboxState.ValueType:
    return cast("pb.PodSandboxState.ValueType", int(sandbox.state))
