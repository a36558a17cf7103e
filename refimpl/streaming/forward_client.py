"""The caller's side of a port-forward over SPDY/3.1, as it is or through a WebSocket."""

from __future__ import annotations

import itertools
import socket
import threading
from contextlib import suppress
from types import TracebackType
from typing import Self

from refimpl.streaming.client import Unexpected, upgrade
from refimpl.streaming.protocols import FORWARD, SPDY_TUNNEL
from refimpl.streaming.spdy.link import ByteStream, Link, SocketBytes
from refimpl.streaming.spdy.session import Closed, Data, Event, Reset
from refimpl.streaming.websocket_client import WebSocketClient

__all__ = ["ForwardClient", "forward_over_spdy", "forward_through_websocket"]

_SPDY = (
    ("Connection", "Upgrade"),
    ("Upgrade", "SPDY/3.1"),
    ("X-Stream-Protocol-Version", FORWARD),
)


class ForwardClient:
    """One connection, with a pair of streams for each connection that is forwarded."""

    def __init__(self, stream: ByteStream) -> None:
        self.link = Link(stream, client=True)
        self._ids = itertools.count()
        self._heard: dict[int, bytearray] = {}
        self._ended, self._reset = set[int](), set[int]()
        self._over, self._changed = False, threading.Condition()
        self._reader = threading.Thread(target=self._read, name="refimpl-forward", daemon=True)
        self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: object, _trace: TracebackType | None
    ) -> None:
        self.close()

    def pair(self, port: object, *, numbered: bool = True) -> tuple[int, int]:
        """The error and the data stream of a new connection. numbered: with a request id, which old
        clients do not send. Raises OSError."""
        headers = {"port": (str(port),)}
        if numbered:
            headers["requestid"] = (str(next(self._ids)),)
        error = self.link.open({"streamtype": ("error",), **headers})
        with suppress(OSError):
            self.link.send(error, b"", fin=True)
        return error, self.link.open({"streamtype": ("data",), **headers})

    def ask(self, port: int, data: bytes, *, numbered: bool = True, fin: bool = True) -> bytes:
        """Connects, sends, and what came until the other side was done; what the error stream says
        where nothing came. Raises TimeoutError."""
        error, stream = self.pair(port, numbered=numbered)
        self.link.send(stream, data, fin=fin)
        return self.received(stream) or self.received(error)

    def received(self, stream: int, timeout_s: float = 20.0) -> bytes:
        """What came on a stream until it ended. Raises TimeoutError."""
        with self._changed:
            ended = self._changed.wait_for(lambda: stream in self._ended or self._over, timeout_s)
            if not ended:
                raise TimeoutError(f"stream {stream} goes on after {timeout_s} s")
            return bytes(self._heard.get(stream, b""))

    def was_reset(self, stream: int, timeout_s: float = 20.0) -> bool:
        """Whether the server gave the stream up, once it has ended. Raises TimeoutError."""
        self.received(stream, timeout_s)
        with self._changed:
            return stream in self._reset

    def close(self) -> None:
        """Leaves."""
        with suppress(OSError):
            self.link.close()
        self._reader.join(2.0)

    def _read(self) -> None:
        self.link.run(self._hear)
        with self._changed:
            self._over = True
            self._changed.notify_all()

    def _hear(self, event: Event) -> None:
        with self._changed:
            match event:
                case Data(stream, payload):
                    self._heard.setdefault(stream, bytearray()).extend(payload)
                case Closed(stream):
                    self._ended.add(stream)
                case Reset(stream):
                    self._ended.add(stream)
                    self._reset.add(stream)
            self._changed.notify_all()


class _Ending(SocketBytes):
    """A socket that is gone with the client."""

    def __init__(self, connection: socket.socket, read_ahead: bytes) -> None:
        super().__init__(connection, read_ahead)
        self._whole = connection

    def close(self) -> None:
        """Hangs up."""
        with suppress(OSError):
            self._whole.shutdown(socket.SHUT_RDWR)
        self._whole.close()


class _Tunnel(WebSocketClient):
    """A WebSocket that is gone with the client."""

    def close(self) -> None:
        """Says farewell, and hangs up."""
        with suppress(OSError):
            super().close()
        self.leave()


def forward_over_spdy(url: str, timeout_s: float = 10.0) -> ForwardClient:
    """Opened. Raises OSError, and Unexpected where the server does not switch."""
    answer = upgrade(url, _SPDY, timeout_s=timeout_s)
    if answer.status != 101:
        answer.connection.close()
        raise Unexpected(f"{url} answers {answer.status}", status=answer.status)
    answer.connection.settimeout(None)
    return ForwardClient(_Ending(answer.connection, answer.behind))


def forward_through_websocket(url: str, timeout_s: float = 10.0) -> ForwardClient:
    """As `forward_over_spdy`, through the tunnel that kubectl uses."""
    return ForwardClient(_Tunnel(url, SPDY_TUNNEL, timeout_s=timeout_s))
