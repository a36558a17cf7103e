"""The checkpoint file as data, in kubelet's own form: each reads what the other has written (2.9).

Its sum is one over how Go shows the data structures that kubelet keeps it in (`shown`).
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import attrs

from refimpl.deviceplugin.state.models import NO_NODE, ContainerResponse
from refimpl.deviceplugin.state.records import DeviceRecord

Encode = Callable[[ContainerResponse], bytes]
Decode = Callable[[bytes], ContainerResponse]
"""To and from a serialized ContainerAllocateResponse; ValueError for bytes that are none."""
FILE_NAME = "kubelet_internal_checkpoint"
FILE_MODE = 0o600
_OFFSET, _PRIME = 0x811C9DC5, 0x01000193  # of FNV-1a with 32 bits


class Unreadable(ValueError):
    """A checkpoint that cannot be used: kubelet says so in its log and starts with empty state."""


@attrs.frozen
class Saved:
    """What a checkpoint holds: records, registered resources with the ids healthy then, boot id."""

    records: tuple[DeviceRecord, ...] = ()
    registered: Mapping[str, tuple[str, ...]] = attrs.field(factory=dict)
    boot_id: str = ""


def dump(saved: Saved, encode: Encode) -> dict[str, Any]:
    """The file's content, to be written as JSON with mode 0600."""
    data = {
        "PodDeviceEntries": [_entry(record, encode) for record in saved.records],
        "RegisteredDevices": {name: sorted(ids) for name, ids in saved.registered.items()},
    }
    content: dict[str, Any] = {"Data": data, "Checksum": checksum(data)}
    return content | ({"BootID": saved.boot_id} if saved.boot_id else {})


def load(text: str | bytes, decode: Decode, *, flat_ids: bool = True) -> Saved:
    """Read a checkpoint. Unreadable says what is wrong with it.

    `flat_ids`: allow the ids without NUMA nodes of kubelets before 1.20, which newer ones refuse;
    the sum of such a file is one over another form, and believed.
    """
    content = _mapping(_parsed(text), "the file")
    data = _mapping(content.get("Data"), "Data")
    entries = _list(data.get("PodDeviceEntries"), "PodDeviceEntries")
    registered = _mapping(data.get("RegisteredDevices") or {}, "RegisteredDevices")
    saved = Saved(
        tuple(_record(entry, decode, flat_ids) for entry in entries),
        {name: _names(ids, f"RegisteredDevices.{name}") for name, ids in registered.items()},
        str(content.get("BootID") or ""),
    )
    if not any(_flat(entry) for entry in entries):
        _check(content.get("Checksum"), data)
    return saved


def checksum(data: Mapping[str, Any]) -> int:
    """FNV-1a, 32 bits, of the data as Go shows it. Unreadable for what is no such data."""
    state = _OFFSET
    for byte in shown(data).encode():
        state = ((state ^ byte) * _PRIME) & 0xFFFFFFFF
    return state


def shown(data: Mapping[str, Any]) -> str:
    """Data as go-spew formats kubelet's structures for a hash: types of members, none of elements,
    maps in the order of their keys, and <nil> for null."""
    entries = _each(data.get("PodDeviceEntries"), "PodDeviceEntries", _shown_entry)
    registered = _shown_map(data.get("RegisteredDevices"), "RegisteredDevices", str)
    return (
        "(checkpoint.checkpointData){"
        f"PodDeviceEntries:([]checkpoint.PodDevicesEntry){entries}"
        f" RegisteredDevices:(map[string][]string){registered}}}"
    )


def _shown_entry(entry: object) -> str:
    fields = _mapping(entry, "an entry of PodDeviceEntries")
    names = ("PodUID", "ContainerName", "ResourceName")
    words = " ".join(f"{name}:(string){fields.get(name, '')}" for name in names)
    ids = _shown_map(fields.get("DeviceIDs"), "DeviceIDs", int)
    answer = fields.get("AllocResp")
    sent = "<nil>" if answer is None else f"[{' '.join(map(str, _bytes(answer)))}]"
    return f"{{{words} DeviceIDs:(checkpoint.DevicesPerNUMA){ids} AllocResp:([]uint8){sent}}}"


def _shown_map(value: object, what: str, key: Callable[[str], Any]) -> str:
    if value is None:
        return "<nil>"
    try:
        entries = {key(name): each for name, each in _mapping(value, what).items()}
    except ValueError as error:
        raise Unreadable(f"{what}: {error}") from error
    return (
        f"map[{' '.join(f'{name}:{_each(entries[name], what, str)}' for name in sorted(entries))}]"
    )


def _each(value: object, what: str, show: Callable[[Any], str]) -> str:
    return "<nil>" if value is None else f"[{' '.join(map(show, _list(value, what)))}]"


def _check(recorded: object, data: Mapping[str, Any]) -> None:
    wanted = checksum(data)
    if recorded != wanted:
        raise Unreadable(
            f"Checksum {recorded!r} is not that of Data, {wanted}; the file was changed, cut, or"
            " written by another release: remove it"
        )


def _flat(entry: object) -> bool:
    return isinstance(entry, dict) and isinstance(entry.get("DeviceIDs"), list)


def _entry(record: DeviceRecord, encode: Encode) -> dict[str, Any]:
    return {
        "PodUID": record.pod,
        "ContainerName": record.container,
        "ResourceName": record.resource,
        "DeviceIDs": {str(node): [*names] for node, names in record.ids_by_node.items()},
        "AllocResp": base64.b64encode(encode(record.response)).decode(),
    }


def _record(entry: object, decode: Decode, flat_ids: bool) -> DeviceRecord:
    fields = _mapping(entry, "an entry of PodDeviceEntries")
    words = [fields.get(name) for name in ("PodUID", "ContainerName", "ResourceName")]
    if not all(isinstance(word, str) for word in words):
        raise Unreadable(f"an entry of PodDeviceEntries lacks its names, it has {words}")
    pod, container, resource = map(str, words)
    where = f"DeviceIDs of {resource} in {container} of {pod}"
    ids = _ids_by_node(fields.get("DeviceIDs"), where, flat_ids)
    return DeviceRecord(
        pod, container, resource, ids, _response(fields.get("AllocResp"), where, decode)
    )


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
        return decode(_bytes(text or ""))
    except ValueError as error:
        raise Unreadable(f"AllocResp beside {where} is no allocation response: {error}") from error


def _bytes(text: object) -> bytes:
    """What stands in base64; Unreadable for what does not."""
    try:
        return base64.b64decode(str(text), validate=True)
    except binascii.Error as error:
        raise Unreadable(f"AllocResp {str(text)[:40]!r} is no base64: {error}") from error


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
