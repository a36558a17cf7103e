"""Protobuf messages as JSON values, by a schema that is a table."""

from __future__ import annotations

import base64
import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Schema = Mapping[str, Mapping[str, Sequence[Any]]]
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
KINDS = {"string": BYTES, "bytes": BYTES, "double": FIXED64, "float": FIXED32}


def varint(number: int) -> bytes:
    number, octets = number & (1 << 64) - 1, bytearray()
    while number > 0x7F:
        octets.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*octets, number])


class Codec:
    """JSON values to messages and back. schema: type -> field -> its number, its kind, and
    `one`, `many` or `map`. A kind is a scalar's, an enum of `enums`, or a type of the schema."""

    def __init__(self, schema: Schema, enums: Mapping[str, Mapping[str, int]]) -> None:
        self._schema, self._enums = schema, enums

    def encode(self, kind: str, value: Mapping[str, Any]) -> bytes:
        fields = self._schema[kind]
        return b"".join(self._field(fields[name], each) for name, each in value.items())

    def _field(self, field: Sequence[Any], value: Any) -> bytes:
        number, kind, label = field
        if label == "map":
            pairs = [{"key": key, "value": each} for key, each in value.items()]
            return b"".join(self._one(number, kind, pair) for pair in pairs)
        return b"".join(
            self._one(number, kind, each) for each in (value if label == "many" else [value])
        )

    def _one(self, number: int, kind: str, value: Any) -> bytes:
        wire = KINDS.get(kind, BYTES if kind in self._schema else VARINT)
        return varint(number << 3 | wire) + self._payload(kind, value)

    def _payload(self, kind: str, value: Any) -> bytes:
        if kind == "double":
            return struct.pack("<d", float(value))
        if kind == "float":
            return struct.pack("<f", float(value))
        data: bytes
        if kind == "string":
            data = value.encode()
        elif kind == "bytes":
            data = base64.b64decode(value)
        elif kind in self._schema:
            data = self.encode(kind, value)
        else:
            return varint(int(self._enums.get(kind, {}).get(value, value)))
        return varint(len(data)) + data

    def decode(self, kind: str, data: bytes) -> dict[str, Any]:
        fields = {number: (name, of, label) for name, (number, of, label) in self._of(kind)}
        message: dict[str, Any] = {}
        for number, raw in parts(data):
            if number not in fields:
                continue
            name, of, label = fields[number]
            values = list(packed(raw)) if label == "many" and self._packs(of, raw) else [raw]
            for value in (self._value(of, each) for each in values):
                if label == "one":
                    message[name] = value
                elif label == "map":
                    message.setdefault(name, {})[value.get("key", "")] = value.get("value", "")
                else:
                    message.setdefault(name, []).append(value)
        return message

    def _of(self, kind: str) -> Sequence[tuple[str, Sequence[Any]]]:
        return list(self._schema[kind].items())

    def _packs(self, kind: str, raw: Any) -> bool:
        return isinstance(raw, bytes) and kind not in self._schema and kind not in KINDS

    def _value(self, kind: str, raw: Any) -> Any:
        if kind == "string":
            return raw.decode(errors="replace")
        if kind == "bytes":
            return base64.b64encode(raw).decode()
        if kind in self._schema:
            return self.decode(kind, raw)
        if kind == "bool":
            return bool(raw)
        if kind in ("double", "float"):
            return struct.unpack("<d" if kind == "double" else "<f", raw)[0]
        if kind in self._enums:
            return next((name for name, number in self._enums[kind].items() if number == raw), raw)
        return raw - (1 << 64) if kind.startswith("int") and raw >> 63 else raw


def read(data: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        octet = data[at]
        number |= (octet & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if octet < 0x80:
            return number, at


def parts(data: bytes) -> Iterator[tuple[int, Any]]:
    """Number and raw value of each field."""
    at = 0
    while at < len(data):
        tag, at = read(data, at)
        wire = tag & 7
        if wire == VARINT:
            value, at = read(data, at)
            yield tag >> 3, value
            continue
        size = {FIXED64: 8, FIXED32: 4}.get(wire, 0)
        if wire == BYTES:
            size, at = read(data, at)
        yield tag >> 3, data[at : at + size]
        at += size


def packed(data: bytes) -> Iterator[int]:
    at = 0
    while at < len(data):
        number, at = read(data, at)
        yield number
