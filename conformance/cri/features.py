"""What a runtime lacks, found out when a case asks."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from google.protobuf.message_factory import GetMessageClass

from conformance.engine.needs import Lacks
from refimpl.cri.api import cri_pb2 as pb
from refimpl.cri.kubelet import RemoteRuntime
from refimpl.wire.client import Unreachable
from refimpl.wire.status import Code, Refused

__all__ = ["image_of", "lacks"]

_RPC = "rpc "
_TRY_S = 5.0
_HEARD_S = 0.5


def lacks(
    runtime: RemoteRuntime,
    image: str,
    registry: Callable[[], str],
    probes: Mapping[str, Callable[[], str]],
    *,
    ours: bool,
) -> Lacks:
    """The reasons by feature; each is found out once. registry: why the runtime cannot come to
    ours. probes: of more features, by their name."""
    known: dict[str, str] = {}

    def once(name: str, find: Callable[[], str]) -> Callable[[], str]:
        def reason() -> str:
            if name not in known:
                known[name] = find()
            return known[name]

        return reason

    return Lacks(
        {
            "image": once("image", lambda: _image(runtime, image)),
            "handler": once("handler", lambda: _handler(runtime)),
            "events": once("events", lambda: _events(runtime)),
            "pod network": once("pod network", lambda: _network(runtime)),
            "registry": once("registry", registry),
            "mount options": once("mount options", lambda: _mount_options(runtime)),
            "recursive read-only": once(
                "recursive read-only", lambda: _default(runtime, "recursive_read_only_mounts")
            ),
            "user namespaces": once(
                "user namespaces", lambda: _default(runtime, "user_namespaces")
            ),
            "plain handler": once("plain handler", lambda: _plain(runtime)),
            **{name: once(name, probe) for name, probe in probes.items()},
            "ours": "" if ours else "only our own fake can be steered so",
        },
        lambda name: once(name, lambda: _rpc(runtime, name.removeprefix(_RPC)))(),
    )


def image_of(runtime: RemoteRuntime, chosen: str) -> str:
    """The image to make containers of: the one that the user names, else the first there is; empty
    where there is none. Raises Refused."""
    if chosen:
        return chosen
    tags = (tag for image in runtime.list_images() for tag in image.repo_tags)
    return next(tags, "")


def _image(runtime: RemoteRuntime, image: str) -> str:
    if not image:
        return f"{runtime.runtime_name} has no image; pull one, and name it by --cri-image"
    if runtime.image_status(image) is None:
        return f"{runtime.runtime_name} has no image {image}; pull it before"
    return ""


def _handler(runtime: RemoteRuntime) -> str:
    handlers = runtime.status().runtime_handlers
    return "" if any(each.name for each in handlers) else "Status lists no handler with a name"


def _default(runtime: RemoteRuntime, feature: str) -> str:
    """Why the default handler has not got a feature."""
    for each in runtime.status().runtime_handlers:
        if not each.name and getattr(each.features, feature):
            return ""
    return f"the default handler has not got {feature}"


def _plain(runtime: RemoteRuntime) -> str:
    """Of a runtime that lists no handlers none tells that it has features."""
    handlers = runtime.status().runtime_handlers
    every = handlers and all(each.features.recursive_read_only_mounts for each in handlers)
    return "each handler has got recursive_read_only_mounts" if every else ""


def _mount_options(runtime: RemoteRuntime) -> str:
    told = runtime.status().features.mount_options
    return "" if told else "Status does not tell the feature mount_options"


def _network(runtime: RemoteRuntime) -> str:
    for condition in runtime.status().status.conditions:
        if condition.type == "NetworkReady" and not condition.status:
            return f"NetworkReady is false: {condition.reason} {condition.message}".strip()
    return ""


def _events(runtime: RemoteRuntime) -> str:
    """A stream that stays open is one; CRI-O ends it at once unless enable_pod_events is set."""
    try:
        stream = runtime.runtime.GetContainerEvents(pb.GetEventsRequest(), timeout=_HEARD_S)
        next(iter(stream))
    except StopIteration:
        return f"{runtime.runtime_name} ends the stream of events at once"
    except Refused as refusal:
        if refusal.code == Code.UNIMPLEMENTED:
            return f"{runtime.runtime_name} does not serve GetContainerEvents"
    return ""


def _rpc(runtime: RemoteRuntime, name: str) -> str:
    """Tried with an empty request, which no RPC does anything for."""
    for service in pb.DESCRIPTOR.services_by_name.values():
        for method in service.methods:
            if method.name == name:
                break
        else:
            continue
        stub = runtime.runtime if service.name == "RuntimeService" else runtime.images
        request = GetMessageClass(method.input_type)()
        try:
            reply = getattr(stub, name)(request, timeout=_TRY_S)
            if method.server_streaming:
                next(iter(reply), None)
        except Refused as refusal:
            if refusal.code == Code.UNIMPLEMENTED:
                return f"{runtime.runtime_name} does not serve {name}"
        except Unreachable as error:
            return str(error)
        return ""
    raise KeyError(name)
