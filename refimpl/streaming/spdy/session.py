"""One connection: bytes in, events out; what is to be sent gathers until somebody takes it."""

from __future__ import annotations

import struct
from collections.abc import Callable

import attrs

from refimpl.streaming.spdy.errors import Broken
from refimpl.streaming.spdy.frames import (
    FIN,
    UNIDIRECTIONAL,
    Control,
    DataFrame,
    Frames,
    Kind,
    Status,
)
from refimpl.streaming.spdy.headers import Compressor, Decompressor, Headers

__all__ = [
    "Closed",
    "Data",
    "Event",
    "GoneAway",
    "Opened",
    "Pong",
    "Replied",
    "Reset",
    "Session",
]

_UINT = struct.Struct(">I")
_SYN_STREAM = struct.Struct(">IIBB")
_PAIR = struct.Struct(">II")
_ID = 0x7FFFFFFF


@attrs.frozen
class Opened:
    """The peer opened a stream; it waits for `Session.accept` or `Session.reset`."""

    stream: int
    headers: Headers


@attrs.frozen
class Replied:
    """The peer accepted a stream of ours."""

    stream: int
    headers: Headers


@attrs.frozen
class Data:
    """A piece of a stream arrived."""

    stream: int
    payload: bytes


@attrs.frozen
class Closed:
    """The peer sends nothing more on this stream."""

    stream: int


@attrs.frozen
class Reset:
    """The peer gave up this stream, in both directions. status: mostly a `Status`."""

    stream: int
    status: int


@attrs.frozen
class Pong:
    """The answer to a ping of ours."""

    number: int


@attrs.frozen
class GoneAway:
    """The peer opens no more streams and takes none. last: the last one of ours that it took."""

    last: int
    status: int


Event = Opened | Replied | Data | Closed | Reset | Pong | GoneAway


@attrs.define
class _Stream:
    """Which directions are still open."""

    sending: bool = True
    receiving: bool = True


class Session:
    """A side of a connection. client: whether it is the one that dialled, whose streams are odd.

    There is no flow control: peers of this family ignore windows, so does this side.
    """

    def __init__(self, *, client: bool) -> None:
        self._frames, self._compressor, self._decompressor = Frames(), Compressor(), Decompressor()
        self._streams: dict[int, _Stream] = {}
        self._next = 1 if client else 2
        self._next_ping = self._next
        self._last_of_peer = 0
        self._parity = 0 if client else 1
        self._outgoing = bytearray()

    # What this side does

    def open(self, headers: Headers, *, fin: bool = False) -> int:
        """Opens a stream; its id. fin: this side sends nothing on it."""
        id = self._next
        self._next += 2
        self._streams[id] = _Stream(sending=not fin)
        body = _SYN_STREAM.pack(id, 0, 0, 0) + self._compressor.compress(headers)
        self._send(Control(Kind.SYN_STREAM, FIN if fin else 0, body))
        return id

    def accept(self, stream: int, headers: Headers | None = None) -> None:
        """Answers a stream that the peer opened."""
        body = _UINT.pack(stream) + self._compressor.compress(headers or {})
        self._send(Control(Kind.SYN_REPLY, 0, body))

    def send(self, stream: int, payload: bytes, *, fin: bool = False) -> bool:
        """Sends a piece, and with `fin` the end of this direction; False where it is closed."""
        state = self._streams.get(stream)
        if state is None or not state.sending:
            return False
        self._send(DataFrame(stream, FIN if fin else 0, payload))
        if fin:
            state.sending = False
            self._forget(stream)
        return True

    def reset(self, stream: int, status: Status = Status.CANCEL) -> None:
        """Gives up a stream, in both directions; nothing where it is not known any more."""
        if self._streams.pop(stream, None) is not None:
            self._send(Control(Kind.RST_STREAM, 0, _PAIR.pack(stream, status)))

    def ping(self) -> int:
        """Asks whether the peer is there; the number that its answer will have."""
        number = self._next_ping
        self._next_ping += 2
        self._send(Control(Kind.PING, 0, _UINT.pack(number)))
        return number

    def go_away(self, status: int = 0) -> None:
        """Tells that no more streams are taken."""
        self._send(Control(Kind.GOAWAY, 0, _PAIR.pack(self._last_of_peer, status)))

    def take(self) -> bytes:
        """The bytes that have to be sent now; whoever takes them sends them."""
        outgoing = bytes(self._outgoing)
        self._outgoing.clear()
        return outgoing

    @property
    def pending(self) -> bool:
        """Whether there are bytes to take."""
        return bool(self._outgoing)

    def writable(self, stream: int) -> bool:
        """Whether this side may still send on it."""
        state = self._streams.get(stream)
        return state is not None and state.sending

    # What the peer does

    def feed(self, received: bytes) -> list[Event]:
        """What these bytes mean; raises Broken, after which the connection is of no use."""
        events: list[Event] = []
        for frame in self._frames.feed(received):
            if isinstance(frame, DataFrame):
                events += self._data(frame)
            elif (handle := _HANDLERS.get(frame.kind)) is not None:
                events += handle(self, frame)
        return events

    def _data(self, frame: DataFrame) -> list[Event]:
        state = self._streams.get(frame.stream)
        if state is None or not state.receiving:
            # It may have crossed with our reset, so this is no reason to end the connection.
            return []
        events: list[Event] = [Data(frame.stream, frame.payload)] if frame.payload else []
        return events + (self._closed(frame.stream, state) if frame.flags & FIN else [])

    def _closed(self, stream: int, state: _Stream) -> list[Event]:
        state.receiving = False
        self._forget(stream)
        return [Closed(stream)]

    def _syn_stream(self, frame: Control) -> list[Event]:
        id, _associated, _priority, _slot = _unpack(_SYN_STREAM, frame)
        headers = self._decompressor.decompress(frame.body[_SYN_STREAM.size :])
        id &= _ID
        if id % 2 != self._parity or id <= self._last_of_peer:
            self._send(Control(Kind.RST_STREAM, 0, _PAIR.pack(id, Status.PROTOCOL_ERROR)))
            return []
        self._last_of_peer = id
        self._streams[id] = state = _Stream(sending=not frame.flags & UNIDIRECTIONAL)
        events: list[Event] = [Opened(id, headers)]
        return events + (self._closed(id, state) if frame.flags & FIN else [])

    def _syn_reply(self, frame: Control) -> list[Event]:
        (id,) = _unpack(_UINT, frame)
        headers = self._decompressor.decompress(frame.body[_UINT.size :])
        state = self._streams.get(id & _ID)
        if state is None:
            return []
        events: list[Event] = [Replied(id & _ID, headers)]
        return events + (self._closed(id & _ID, state) if frame.flags & FIN else [])

    def _headers(self, frame: Control) -> list[Event]:
        # Nobody uses them, but the next block can only be read after this one.
        self._decompressor.decompress(frame.body[_UINT.size :])
        return []

    def _rst_stream(self, frame: Control) -> list[Event]:
        id, status = _unpack(_PAIR, frame)
        gone = self._streams.pop(id & _ID, None)
        return [] if gone is None else [Reset(id & _ID, status)]

    def _ping(self, frame: Control) -> list[Event]:
        (number,) = _unpack(_UINT, frame)
        if number % 2 == self._next_ping % 2:
            return [Pong(number)]
        self._send(frame)
        return []

    def _goaway(self, frame: Control) -> list[Event]:
        last, status = _unpack(_PAIR, frame)
        return [GoneAway(last & _ID, status)]

    def _forget(self, stream: int) -> None:
        state = self._streams[stream]
        if not state.sending and not state.receiving:
            del self._streams[stream]

    def _send(self, frame: Control | DataFrame) -> None:
        self._outgoing += frame.encode()


_HANDLERS: dict[int, Callable[[Session, Control], list[Event]]] = {
    Kind.SYN_STREAM: Session._syn_stream,
    Kind.SYN_REPLY: Session._syn_reply,
    Kind.HEADERS: Session._headers,
    Kind.RST_STREAM: Session._rst_stream,
    Kind.PING: Session._ping,
    Kind.GOAWAY: Session._goaway,
}
# SETTINGS and WINDOW_UPDATE are of no consequence, nor is any kind that is not known.


def _unpack(layout: struct.Struct, frame: Control) -> tuple[int, ...]:
    if len(frame.body) < layout.size:
        raise Broken(f"a control frame of kind {frame.kind} has only {len(frame.body)} bytes")
    return layout.unpack_from(frame.body)
