"""Port-forward over SPDY: for each connection an error and a data stream with one request id."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from contextlib import suppress

import attrs

from refimpl.streaming.pipe import Pipe
from refimpl.streaming.spdy.frames import Status
from refimpl.streaming.spdy.headers import Headers
from refimpl.streaming.spdy.link import Link
from refimpl.streaming.spdy.session import Closed, Data, Event, Opened, Reset
from refimpl.streaming.streams import ForwardFailed

__all__ = ["Dial", "serve_forward"]

Dial = Callable[[int], socket.socket]
"""Connects to a port of the sandbox; raises ForwardFailed."""

PAIR_S = 30.0
"""How long the second stream of a pair may take."""
LINGER_S = 1.0
"""How long the other direction goes on when one has ended."""
_PIECE = 1 << 16


@attrs.define(eq=False)
class _Pair:
    port: int
    error: int = 0
    data: int = 0
    inbox: Pipe = attrs.field(factory=Pipe)
    whole: threading.Event = attrs.field(factory=threading.Event)


class _Forwarding:
    """The pairs of one connection."""

    def __init__(self, link: Link, dial: Dial, pair_s: float) -> None:
        self._link, self._dial, self._pair_s = link, dial, pair_s
        self._pairs: dict[str, _Pair] = {}
        self._by_data: dict[int, _Pair] = {}

    def hear(self, event: Event) -> None:
        """What the client sends."""
        match event:
            case Opened(stream, headers):
                self._opened(stream, headers)
            case Data(stream, payload) if stream in self._by_data:
                self._by_data[stream].inbox.write(payload)
            case Closed(stream) if stream in self._by_data:
                self._by_data[stream].inbox.end()
            case Reset(stream) if stream in self._by_data:
                self._by_data[stream].inbox.abandon()

    def leave(self) -> None:
        """The client has left."""
        for pair in list(self._pairs.values()):
            pair.inbox.abandon()

    def _opened(self, stream: int, headers: Headers) -> None:
        kind, port = _value(headers, "streamtype"), _port(_value(headers, "port"))
        if kind not in ("error", "data") or port is None:
            self._link.reset(stream, Status.PROTOCOL_ERROR)
            return
        # Old clients tell no id: their data stream follows its error stream.
        id = _value(headers, "requestid") or str(stream if kind == "error" else stream - 2)
        pair = self._pairs.get(id)
        if pair is None:
            pair = self._pairs[id] = _Pair(port)
            self._start(id, pair)
        if getattr(pair, kind):
            self._link.reset(stream, Status.PROTOCOL_ERROR)
            return
        setattr(pair, kind, stream)
        if kind == "data":
            self._by_data[stream] = pair
        self._link.accept(stream)
        if pair.error and pair.data:
            pair.whole.set()

    def _start(self, id: str, pair: _Pair) -> None:
        threading.Thread(
            target=self._serve, args=(id, pair), name="refimpl-forward", daemon=True
        ).start()

    def _serve(self, id: str, pair: _Pair) -> None:
        try:
            self._forward(pair)
        except ForwardFailed as failure:
            with suppress(OSError):
                self._link.send(pair.error, str(failure).encode(), fin=True)
        except OSError:
            pass  # the client has left, or what it talks to
        finally:
            for stream in (pair.error, pair.data):
                self._link.reset(stream)
            pair.inbox.abandon()
            self._by_data.pop(pair.data, None)
            self._pairs.pop(id, None)

    def _forward(self, pair: _Pair) -> None:
        if not pair.whole.wait(self._pair_s):
            raise ForwardFailed(f"the pair of streams for port {pair.port} never became whole")
        with self._dial(pair.port) as peer:
            inward = threading.Thread(
                target=_inward, args=(pair.inbox, peer), name="refimpl-forward-in", daemon=True
            )
            inward.start()
            while data := peer.recv(_PIECE):
                if not self._link.send(pair.data, data):
                    return
            self._link.send(pair.data, b"", fin=True)
            self._link.send(pair.error, b"", fin=True)
            inward.join(LINGER_S)


def _inward(inbox: Pipe, peer: socket.socket) -> None:
    """From the client to the port, then the end of it."""
    with suppress(OSError):
        while data := inbox.read():
            peer.sendall(data)
        peer.shutdown(socket.SHUT_WR)


def _value(headers: Headers, name: str) -> str:
    return next(iter(headers.get(name, ())), "")


def _port(text: str) -> int | None:
    valid = text.isascii() and text.isdecimal() and len(text) <= 5 and 0 < int(text) < 1 << 16
    return int(text) if valid else None


def serve_forward(link: Link, dial: Dial, pair_s: float = PAIR_S) -> None:
    """One connection, until the client leaves."""
    forwarding = _Forwarding(link, dial, pair_s)
    link.run(forwarding.hear)
    forwarding.leave()
