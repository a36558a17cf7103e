"""Frames of SPDY/3.1 and their bytes (SPDY/3, 2.2 and 2.6). Big endian throughout."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from enum import IntEnum

import attrs

from refimpl.streaming.spdy.errors import Broken

__all__ = ["FIN", "UNIDIRECTIONAL", "Broken", "Control", "DataFrame", "Frames", "Kind", "Status"]

FIN = 0x01
"""Flag: nothing more comes from this side."""
UNIDIRECTIONAL = 0x02
"""Flag of SYN_STREAM: the other side never sends."""

_VERSION = 3
_CONTROL = 0x8000
_HEAD = struct.Struct(">II")
LARGEST = (1 << 24) - 1
"""The longest body of a frame, in bytes."""


class Kind(IntEnum):
    """What a control frame is."""

    SYN_STREAM = 1
    SYN_REPLY = 2
    RST_STREAM = 3
    SETTINGS = 4
    PING = 6
    GOAWAY = 7
    HEADERS = 8
    WINDOW_UPDATE = 9


class Status(IntEnum):
    """Why a stream was reset."""

    PROTOCOL_ERROR = 1
    INVALID_STREAM = 2
    REFUSED_STREAM = 3
    UNSUPPORTED_VERSION = 4
    CANCEL = 5
    INTERNAL_ERROR = 6
    FLOW_CONTROL_ERROR = 7
    STREAM_IN_USE = 8
    STREAM_ALREADY_CLOSED = 9


@attrs.frozen
class Control:
    """A control frame. body: what follows the eight bytes that all have."""

    kind: int
    flags: int
    body: bytes

    def encode(self) -> bytes:
        """Its bytes."""
        return _head((_CONTROL | _VERSION) << 16 | self.kind, self.flags, self.body) + self.body


@attrs.frozen
class DataFrame:
    """A piece of a stream."""

    stream: int
    flags: int
    payload: bytes

    def encode(self) -> bytes:
        """Its bytes."""
        return _head(self.stream, self.flags, self.payload) + self.payload


def _head(first: int, flags: int, body: bytes) -> bytes:
    if len(body) > LARGEST:
        raise ValueError(f"a frame of {len(body)} bytes: {LARGEST} are the most")
    return _HEAD.pack(first, flags << 24 | len(body))


class Frames:
    """Cuts what arrives into frames, wherever the pieces of the network begin and end."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, received: bytes) -> Iterator[Control | DataFrame]:
        """The frames that are complete now; raises Broken for another version of SPDY."""
        self._buffer += received
        while len(self._buffer) >= _HEAD.size:
            first, second = _HEAD.unpack_from(self._buffer)
            end = _HEAD.size + (second & LARGEST)
            self._check(first)
            if len(self._buffer) < end:
                return
            body = bytes(self._buffer[_HEAD.size : end])
            del self._buffer[:end]
            yield _frame(first, second >> 24, body)

    @property
    def partial(self) -> int:
        """Bytes of a frame whose rest has not come."""
        return len(self._buffer)

    def _check(self, first: int) -> None:
        if first >> 31 and (first >> 16) & 0x7FFF != _VERSION:
            head = bytes(self._buffer[:8])
            raise Broken(f"no frame of SPDY/3.1 begins with {head!r}")


def _frame(first: int, flags: int, body: bytes) -> Control | DataFrame:
    if first >> 31:
        return Control(first & 0xFFFF, flags, body)
    return DataFrame(first, flags, body)
