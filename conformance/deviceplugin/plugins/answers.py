"""What Allocate answers for a container, as parts that can be compared."""

from __future__ import annotations

import contextlib
import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import cast

import grpc

from conformance.deviceplugin.plugins.plugin import DevicePluginUnderTest
from refimpl.deviceplugin.api import deviceplugin_pb2 as pb
from refimpl.deviceplugin.api import deviceplugin_pb2_grpc as stubs
from refimpl.wire.endpoint import Endpoint

__all__ = ["Parts", "kept", "lacking", "own", "parts", "repeated", "singles"]

Part = tuple[str, ...]
Parts = frozenset[Part]
"""("device", host, container, permissions), ("mount", host, container, ro), ("cdi", name),
("env", key, text), ("annotation", key, text)."""

_TEXTS = ("env", "annotation")


def parts(answer: pb.ContainerAllocateResponse) -> Parts:
    """All that one container gets."""
    return frozenset(_parts(answer))


def _parts(answer: pb.ContainerAllocateResponse) -> Iterator[Part]:
    for device in answer.devices:
        yield "device", device.host_path, device.container_path, device.permissions
    for mount in answer.mounts:
        yield "mount", mount.host_path, mount.container_path, "ro" if mount.read_only else "rw"
    yield from (("cdi", each.name) for each in answer.cdi_devices)
    for kind, texts in (("env", answer.envs), ("annotation", answer.annotations)):
        yield from ((kind, key, text) for key in texts for text in _texts(texts[key]))


def _texts(value: str) -> Iterator[str]:
    """The value; the members of a JSON object one by one, as their order is nobody's promise."""
    parsed = None
    with contextlib.suppress(ValueError):
        parsed = json.loads(value)
    if not isinstance(parsed, dict) or not parsed:
        yield value
        return
    for name, member in parsed.items():
        yield f"{json.dumps(name)}: {json.dumps(member, sort_keys=True)}"


def kept(plugin: DevicePluginUnderTest, id: str, socket: Endpoint | None = None) -> Parts:
    """What the plugin (the instance at a socket) answers for one id each time it is asked: what it
    makes anew for every container, such as a folder of its own, is no mark of the device."""
    first, second = (_answers(plugin, id, socket) for _ in range(2))
    return parts(first[0]) & parts(second[0]) if first and second else frozenset()


def _answers(
    plugin: DevicePluginUnderTest, id: str, socket: Endpoint | None
) -> Sequence[pb.ContainerAllocateResponse]:
    channel = plugin.calls.channel if socket is None else plugin.calls.channel_to(socket)
    stub = stubs.DevicePluginStub(cast("grpc.Channel", channel))
    request = pb.AllocateRequest(container_requests=[pb.ContainerAllocateRequest(devices_ids=[id])])
    return stub.Allocate(request, timeout=10.0).container_responses


def own(id: str, of: dict[str, Parts]) -> Parts:
    """Of the parts of each id those that no other id has."""
    others = [given for other, given in of.items() if other != id]
    return of[id].difference(*others)


def lacking(answer: pb.ContainerAllocateResponse, id: str, of: dict[str, Parts]) -> str:
    """What an answer that is to cover `id` lacks of it, given the parts of each id alone.

    Files and CDI names have to be there. Texts are often joined in one, so of those that name the
    device one has to be found within the text of the same key. Empty if nothing is lacking.
    """
    there = parts(answer)
    files = {part for part in of[id] if part[0] not in _TEXTS}
    if missing := sorted(files - there):
        return f"{id!r} lacks {_text(missing)}"
    texts = [part for part in own(id, of) if part[0] in _TEXTS]
    if texts and not any(_within(text, there) for text in texts):
        return f"{id!r} lacks {_text(sorted(texts))}"
    return ""


def _within(text: Part, there: Parts) -> bool:
    return any(part[:2] == text[:2] and text[2] in part[2] for part in there if len(part) == 3)


def _text(missing: Collection[Part]) -> str:
    return ", ".join(" ".join(part) for part in missing)


def repeated(values: Iterable[str]) -> list[str]:
    """Those that come more than once, sorted."""
    return sorted(value for value, times in Counter(values).items() if times > 1)


def singles(
    plugin: DevicePluginUnderTest, most: int = 8
) -> Iterator[tuple[str, pb.ContainerAllocateResponse]]:
    """(id, its answer) for each of the first healthy devices, asked for alone."""
    for id in plugin.ids()[:most]:
        for answer in plugin.calls.allocate([id]).container_responses:
            yield id, answer
