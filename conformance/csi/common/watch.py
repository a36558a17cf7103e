"""What holds for every answer of a driver, whichever RPC gave it: functions of journal entries.

Each returns what is wrong with one call as sentences, none where all is well.
"""

from __future__ import annotations

import functools
import string
from collections.abc import Collection, Iterator

from google.protobuf.descriptor import Descriptor
from google.protobuf.empty_pb2 import Empty
from google.protobuf.message import DecodeError, Message
from google.protobuf.unknown_fields import UnknownFieldSet

from conformance.csi.common import limits
from refimpl.wire.journal import Entry
from refimpl.wire.status import Code

# The enums of answers whose zero means nothing.
_ENUMS = {
    "csi.v1.PluginCapability.Service": "type",
    "csi.v1.PluginCapability.VolumeExpansion": "type",
    "csi.v1.ControllerServiceCapability.RPC": "type",
    "csi.v1.GroupControllerServiceCapability.RPC": "type",
    "csi.v1.NodeServiceCapability.RPC": "type",
    "csi.v1.VolumeCapability.AccessMode": "mode",
    "csi.v1.VolumeUsage": "unit",
    "csi.v1.GetMetadataAllocatedResponse": "block_metadata_type",
    "csi.v1.GetMetadataDeltaResponse": "block_metadata_type",
    "csi.v1.VolumeHealth.VolumeHealthEntry": "status",
    "csi.v1.NodeGetStorageHealthResponse.StorageBackendHealth": "status",
}
_CONDITIONS = frozenset(
    f"csi.v1.{name}"
    for name in (
        "ListVolumesResponse.VolumeStatus",
        "ControllerGetVolumeResponse.VolumeStatus",
        "NodeGetVolumeStatsResponse",
    )
)
_OWN_CASE = ("GetPluginCapabilities", "NodeGetCapabilities")  # CSI-ID-006, CSI-NODE-001
_DETAILS = 3  # the number of `details` in google.rpc.Status


def details(entry: Entry) -> list[str]:
    """A status carries no details (CSI, "Error Scheme")."""
    try:
        status = UnknownFieldSet(Empty.FromString(entry.details))
    except DecodeError:
        return [f"{_refused(entry)} with a grpc-status-details-bin that is no google.rpc.Status"]
    count = sum(status[index].field_number == _DETAILS for index in range(len(status)))
    return [f"{_refused(entry)} with {count} details"] if count else []


def message(entry: Entry) -> list[str]:
    """A refusal says why, in words that can be shown (CSI, "Error Scheme")."""
    if entry.code == Code.OK:
        return []
    if not entry.message.strip():
        return [f"{_refused(entry)} without a message"]
    if all(char.isprintable() or char in string.whitespace for char in entry.message):
        return []
    return [f"{_refused(entry)} with control characters in its message: {entry.message!a}"]


def code(entry: Entry) -> list[str]:
    """UNKNOWN and INTERNAL tell a caller nothing that it could act on."""
    vague = entry.code in (Code.UNKNOWN, Code.INTERNAL)
    return [f"{_refused(entry)}: {entry.message}"] if vague else []


def sizes(entry: Entry) -> list[str]:
    """Strings and maps of an answer keep the limits (CSI, "Size Limits")."""
    return _too_long(entry, debatable=False)


def texts(entry: Entry) -> list[str]:
    """The same where it is debatable: texts for people, and the single strings of maps."""
    return _too_long(entry, debatable=True)


def enums(entry: Entry) -> list[str]:
    """An enum that has to be set is not 0. Some lists have a case of their own that sees to it."""
    if entry.rpc in _OWN_CASE:
        return []
    names = _zeros(_replies(entry, frozenset(_ENUMS)))
    # An answer to a request that left it unset itself may be its echo.
    echoed = _zeros(_messages(entry.requests)) if names else []
    return [f"{entry.rpc} answered with {name} = 0" for name in names if name not in echoed]


def _zeros(frames: list[Message]) -> list[str]:
    """The enums left unset in messages, each once: `csi.v1.VolumeUsage.unit`."""
    parts = [part for frame in frames for part in _parts(frame, frozenset(_ENUMS))]
    named = [(part, part.DESCRIPTOR.full_name) for part in parts]
    names = [f"{kind}.{_ENUMS[kind]}" for part, kind in named if not getattr(part, _ENUMS[kind])]
    return list(dict.fromkeys(names))


def removed(entry: Entry) -> list[str]:
    """volume_condition, field 2, is gone since CSI 1.13."""
    problems = [
        f"{entry.rpc} answered with {part.DESCRIPTOR.full_name}.volume_condition"
        for part in _answered(entry, _CONDITIONS)
        if part.HasField("volume_condition")
    ]
    return list(dict.fromkeys(problems))


def _refused(entry: Entry) -> str:
    return f"{entry.rpc} was refused with {entry.code.name}"


def _too_long(entry: Entry, *, debatable: bool) -> list[str]:
    if entry.size <= limits.STRING_BYTES:
        return []  # request and reply together are shorter than the shortest limit
    problems = [
        f"{entry.rpc} answered with {excess}"
        for reply in _messages(entry.replies)
        for excess in limits.excess(reply)
        if excess.debatable == debatable
    ]
    # An answer to a request that broke the limits itself may be its echo.
    echoes = problems and any(any(limits.excess(sent)) for sent in _messages(entry.requests))
    return [] if echoes else list(dict.fromkeys(problems))


def _answered(entry: Entry, types: frozenset[str]) -> Iterator[Message]:
    for reply in _replies(entry, types):
        yield from _parts(reply, types)


def _replies(entry: Entry, types: frozenset[str]) -> list[Message]:
    """The replies, if they can hold a message of one of the types: most cannot, and decoding all
    calls of a run takes its time."""
    kind = entry.reply_type.DESCRIPTOR if entry.reply_type else None
    if kind and kind.full_name not in types and not _ways(kind, types):
        return []
    return _messages(entry.replies)


def _parts(whole: Message, types: frozenset[str]) -> Iterator[Message]:
    """The messages of these types at whatever depth; what cannot hold one is passed over."""
    if whole.DESCRIPTOR.full_name in types:
        yield whole
    for name in _ways(whole.DESCRIPTOR, types):
        value = getattr(whole, name)
        if not isinstance(value, Message):
            for part in value:
                yield from _parts(part, types)
        elif whole.HasField(name):
            yield from _parts(value, types)


@functools.cache
def _ways(descriptor: Descriptor, types: frozenset[str]) -> Collection[str]:
    """The fields through which a message of one of the types can be reached."""
    return [
        field.name
        for field in descriptor.fields
        if (kind := field.message_type)
        and not kind.GetOptions().map_entry
        and (kind.full_name in types or _ways(kind, types))
    ]


def _messages(frames: tuple[bytes | Message, ...]) -> list[Message]:
    return [frame for frame in frames if isinstance(frame, Message)]
