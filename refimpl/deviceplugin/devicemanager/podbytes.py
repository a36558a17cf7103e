"""A core/v1 Pod in protobuf, as far as the pods API needs one: who it is, what is in it, how it is.

The messages of core/v1 are many and large, and four of their fields are told here: so no schema.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import attrs

from refimpl.wire import varint

__all__ = ["PodNote", "from_bytes", "to_bytes"]

# Field numbers of core/v1: Pod, its ObjectMeta, PodSpec and PodStatus, and Container.
_METADATA, _SPEC, _STATUS = 1, 2, 3
_NAME, _NAMESPACE, _UID = 1, 3, 5
_APP, _INIT = 2, 20
_PHASE = 1
_CONTAINER_NAME = 1

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


@attrs.frozen
class PodNote:
    """A pod as it is told: `app` and `init` are names of containers."""

    name: str
    namespace: str
    uid: str
    app: tuple[str, ...] = ()
    init: tuple[str, ...] = ()
    phase: str = ""


def to_bytes(pod: PodNote) -> bytes:
    """As `Marshal` of a core/v1 Pod writes it."""
    meta = ((_NAME, pod.name), (_NAMESPACE, pod.namespace), (_UID, pod.uid))
    spec = [(_APP, name) for name in pod.app] + [(_INIT, name) for name in pod.init]
    containers = [(number, _message([(_CONTAINER_NAME, name.encode())])) for number, name in spec]
    return _message(
        [
            (_METADATA, _message((number, text.encode()) for number, text in meta)),
            (_SPEC, _message(containers)),
            (_STATUS, _message([(_PHASE, pod.phase.encode())])),
        ]
    )


def from_bytes(data: bytes) -> PodNote:
    """From a whole Pod, whatever else is in it; ValueError for bytes that are none."""
    parts = dict(_fields(data))
    meta, status = (dict(_fields(parts.get(number, b""))) for number in (_METADATA, _STATUS))
    spec = list(_fields(parts.get(_SPEC, b"")))
    return PodNote(
        name=_text(meta.get(_NAME)),
        namespace=_text(meta.get(_NAMESPACE)),
        uid=_text(meta.get(_UID)),
        app=_names(part for number, part in spec if number == _APP),
        init=_names(part for number, part in spec if number == _INIT),
        phase=_text(status.get(_PHASE)),
    )


def _names(containers: Iterable[bytes]) -> tuple[str, ...]:
    return tuple(_text(dict(_fields(each)).get(_CONTAINER_NAME)) for each in containers)


def _text(data: bytes | None) -> str:
    return (data or b"").decode()


def _message(fields: Iterable[tuple[int, bytes]]) -> bytes:
    return b"".join(
        varint.encoded(number << 3 | _BYTES) + varint.encoded(len(data)) + data
        for number, data in fields
    )


def _fields(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The fields of a message that have a length; numbers are passed over."""
    at = 0
    while at < len(data):
        tag, at = _number(data, at)
        kind = tag & 7
        if kind == _VARINT:
            _, at = _number(data, at)
            continue
        if kind == _BYTES:
            length, at = _number(data, at)
        elif kind in (_FIXED64, _FIXED32):
            length = 8 if kind == _FIXED64 else 4
        else:
            raise ValueError(f"byte {at} of {len(data)}: no field of protobuf has kind {kind}")
        if at + length > len(data):
            raise ValueError(f"byte {at} of {len(data)}: a field of {length} bytes is cut short")
        if kind == _BYTES:
            yield tag >> 3, data[at : at + length]
        at += length


def _number(data: bytes, at: int) -> tuple[int, int]:
    """A varint, and where it ends."""
    value = 0
    for place, byte in enumerate(data[at : at + 10]):
        value |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            return value, at + place + 1
    raise ValueError(f"byte {at} of {len(data)}: a number without an end")
