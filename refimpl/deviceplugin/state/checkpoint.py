"""The checkpoint file as data: written in our own form of the format, read tolerantly (2.9).

A real kubelet checks a sum over a dump of its own data structures, which we do not make: it starts
with empty state on our file. Ours carries a sum over its JSON, and a word that says so.
"""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import attrs

from refimpl.deviceplugin.state.models import NO_NODE, ContainerResponse
from refimpl.deviceplugin.state.records import Record

Encode = Callable[[ContainerResponse], bytes]
Decode = Callable[[bytes], ContainerResponse]
"""To and from a serialized ContainerAllocateResponse; ValueError for bytes that are none."""
FILE_NAME = "kubelet_internal_checkpoint"
FILE_MODE = 0o600
FORM = "refimpl"


class Unreadable(ValueError):
    """A checkpoint that cannot be used: kubelet says so in its log and starts with empty state."""


@attrs.frozen
class Saved:
    """What a checkpoint holds: records, registered resources with the ids healthy then, boot id."""

    records: tuple[Record, ...] = ()
    registered: Mapping[str, tuple[str, ...]] = attrs.field(factory=dict)
    boot_id: str = ""


def dump(saved: Saved, encode: Encode) -> dict[str, Any]:
    """The file's content, to be written as JSON with mode 0600."""
    data = {
        "PodDeviceEntries": [_entry(record, encode) for record in saved.records],
        "RegisteredDevices": {name: sorted(ids) for name, ids in saved.registered.items()},
    }
    content: dict[str, Any] = {"Data": data, "Checksum": checksum(data), "Form": FORM}
    return content | ({"BootID": saved.boot_id} if saved.boot_id else {})


def load(text: str | bytes, decode: Decode, *, flat_ids: bool = True) -> Saved:
    """Read a checkpoint. Unreadable says what is wrong with it.

    The sum is checked where the file says that it is ours; that of a real kubelet is believed.
    `flat_ids`: allow the ids without NUMA nodes of kubelets before 1.20, which newer ones refuse.
    """
    content = _mapping(_parsed(text), "the file")
    data = _mapping(content.get("Data"), "Data")
    if content.get("Form") == FORM and content.get("Checksum") != checksum(data):
        raise Unreadable(
            f"Checksum {content.get('Checksum')!r} is not that of Data, {checksum(data)}; the file"
            " was changed or cut: remove it"
        )
    entries = _list(data.get("PodDeviceEntries"), "PodDeviceEntries")
    registered = _mapping(data.get("RegisteredDevices") or {}, "RegisteredDevices")
    return Saved(
        tuple(_record(entry, decode, flat_ids) for entry in entries),
        {name: _names(ids, f"RegisteredDevices.{name}") for name, ids in registered.items()},
        str(content.get("BootID") or ""),
    )


def checksum(data: object) -> int:
    """CRC-32 of the canonical JSON of the data: quick, for it is made anew with each list."""
    return zlib.crc32(json.dumps(data, sort_keys=True, separators=(",", ":")).encode())


def _entry(record: Record, encode: Encode) -> dict[str, Any]:
    return {
        "PodUID": record.pod,
        "ContainerName": record.container,
        "ResourceName": record.resource,
        "DeviceIDs": {str(node): [*names] for node, names in record.ids_by_node.items()},
        "AllocResp": base64.b64encode(encode(record.response)).decode(),
    }


def _record(entry: object, decode: Decode, flat_ids: bool) -> Record:
    fields = _mapping(entry, "an entry of PodDeviceEntries")
    words = [fields.get(name) for name in ("PodUID", "ContainerName", "ResourceName")]
    if not all(isinstance(word, str) for word in words):
        raise Unreadable(f"an entry of PodDeviceEntries lacks its names, it has {words}")
    pod, container, resource = map(str, words)
    where = f"DeviceIDs of {resource} in {container} of {pod}"
    ids = _ids_by_node(fields.get("DeviceIDs"), where, flat_ids)
    return Record(pod, container, resource, ids, _response(fields.get("AllocResp"), where, decode))


def _ids_by_node(ids: object, where: str, flat_ids: bool) -> dict[int, tuple[str, ...]]:
    if isinstance(ids, list) and flat_ids:
        return {NO_NODE: _names(ids, where)}
    try:
        return {
            int(node): _names(names, where) for node, names in _mapping(ids or {}, where).items()
        }
    except ValueError as error:
        raise Unreadable(f"{where}: {error}") from error


def _response(text: object, where: str, decode: Decode) -> ContainerResponse:
    try:
        return decode(base64.b64decode(str(text or ""), validate=True))
    except (binascii.Error, ValueError) as error:
        raise Unreadable(f"AllocResp beside {where} is no allocation response: {error}") from error


def _parsed(text: str | bytes) -> object:
    try:
        parsed: object = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"the file is no JSON: {error}") from error
    return parsed


def _mapping(value: object, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise Unreadable(f"{what} is {_kind(value)}, not an object")
    return value


def _list(value: object, what: str) -> list[Any]:
    """Go writes an empty list as null."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise Unreadable(f"{what} is {_kind(value)}, not a list")
    return value


def _names(value: object, what: str) -> tuple[str, ...]:
    names: Iterable[object] = _list(value, what)
    return tuple(map(str, names))


def _kind(value: object) -> str:
    return "missing" if value is None else f"a {type(value).__name__}"
