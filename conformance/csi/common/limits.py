"""How long the fields of CSI messages may be (CSI, "Size Limits"), measured by reflection."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

import attrs
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

STRING_BYTES, NODE_ID_BYTES, MAP_BYTES = 128, 256, 4096
Kind = Literal["string", "node id", "text", "flags", "path", "map", "message", "other"]

_HEALTH = ("VolumeHealth.VolumeHealthEntry", "NodeGetStorageHealthResponse.StorageBackendHealth")
_SPECIAL: dict[str, Kind] = {
    # Fields whose own comment overrides the table.
    "csi.v1.NodeGetInfoResponse.node_id": "node id",
    "csi.v1.ControllerPublishVolumeRequest.node_id": "node id",
    "csi.v1.ControllerUnpublishVolumeRequest.node_id": "node id",
    "csi.v1.ListVolumesResponse.VolumeStatus.published_node_ids": "node id",
    "csi.v1.ControllerGetVolumeResponse.VolumeStatus.published_node_ids": "node id",
    "csi.v1.VolumeCapability.MountVolume.mount_flags": "flags",
    "csi.v1.NodeGetVolumeStatsRequest.volume_path": "path",
    # For people: no limit of its own, callers take more than 128 bytes.
    **{f"csi.v1.{entry}.{name}": "text" for entry in _HEALTH for name in ("reason", "message")},
}


@attrs.frozen
class Excess:
    """One field that is too long. Debatable: whether the table means such a field at all."""

    field: str
    size: int
    limit: int
    debatable: bool

    def __str__(self) -> str:
        return f"{self.field} of {self.size} bytes, where {self.limit} are allowed"


def excess(whole: Message) -> Iterator[Excess]:
    """Every field of the message, at whatever depth, that is longer than CSI allows."""
    if whole.ByteSize() <= STRING_BYTES:
        return  # nothing in it can be too long, which is soon known of most of a long list
    for field, value in whole.ListFields():
        kind = _kind(field)
        if kind == "message":
            for part in (value,) if isinstance(value, Message) else value:
                yield from excess(part)
            continue
        for size, limit, debatable in _measured(kind, value):
            if size > limit:
                yield Excess(str(field.full_name), size, limit, debatable)


def _measured(kind: Kind, value: Any) -> Iterator[tuple[int, int, bool]]:
    """Sizes in bytes, what is allowed, and whether that is debatable."""
    texts = list(_texts(kind, value))
    if kind in ("map", "flags"):
        yield sum(map(_size, texts)), MAP_BYTES, False
    # A string in a map: the table can be read as if a map had its own limit only.
    debatable = kind in ("map", "text")
    if kind in ("string", "node id", "map", "text"):
        limit = NODE_ID_BYTES if kind == "node id" else STRING_BYTES
        for text in texts:
            yield _size(text), limit, debatable


def _texts(kind: Kind, value: Any) -> Iterable[str]:
    if kind in ("other", "path"):
        return ()
    if isinstance(value, Mapping):
        return [*value.keys(), *value.values()]
    return (value,) if isinstance(value, str) else value


def _size(text: str) -> int:
    return len(text.encode())


@functools.cache
def _kind(field: FieldDescriptor) -> Kind:
    if field.message_type is not None:
        if not field.message_type.GetOptions().map_entry:
            return "message"
        values = field.message_type.fields_by_name["value"]
        return "map" if values.type == FieldDescriptor.TYPE_STRING else "other"
    if field.type != FieldDescriptor.TYPE_STRING:
        return "other"
    # Paths are at least 128 bytes long, without an upper bound.
    usual: Kind = "path" if field.name.endswith("_path") else "string"
    return _SPECIAL.get(field.full_name, usual)
