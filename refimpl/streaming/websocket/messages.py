"""Whole messages over a connection; the frames are wsproto's business."""

from __future__ import annotations

import socket
import threading
from collections import deque
from contextlib import suppress

from wsproto import ConnectionType, WSConnection
from wsproto.events import (
    AcceptConnection,
    BytesMessage,
    CloseConnection,
    Event,
    Ping,
    Pong,
    Request,
    TextMessage,
)
from wsproto.utilities import LocalProtocolError, RemoteProtocolError

__all__ = ["Messages", "NotWebSocket", "Tunnel"]

_PIECE = 1 << 16
_LARGEST = 1 << 25


class NotWebSocket(Exception):
    """What the peer sent is no WebSocket handshake."""


class Messages:
    """The server's side of a connection, after its handshake. Threads may send at the same time."""

    def __init__(self, connection: socket.socket, handshake: bytes) -> None:
        """handshake: the request, and what was read behind it. Raises NotWebSocket."""
        self._connection, self._lock = connection, threading.Lock()
        self._protocol = WSConnection(ConnectionType.SERVER)
        self._heard: deque[bytes | None] = deque()
        self._partial = bytearray()
        try:
            self._protocol.receive_data(handshake)
            request = next(self._protocol.events(), None)
        except RemoteProtocolError as error:
            raise NotWebSocket(str(error)) from None
        if not isinstance(request, Request):
            raise NotWebSocket("there is no whole request")
        self.offered: tuple[str, ...] = tuple(request.subprotocols)

    def accept(self, name: str) -> None:
        """Switches to WebSocket. name: the subprotocol, "" for none. Raises OSError."""
        self._send(AcceptConnection(subprotocol=name or None))

    def receive(self) -> bytes:
        """The next message, of bytes or text; b"" is an empty one. Raises EOFError at the end."""
        while not self._heard:
            self._read()
        message = self._heard.popleft()
        if message is None:
            self._heard.append(None)  # the end stays the end
            raise EOFError("the WebSocket is closed")
        return message

    def send(self, message: bytes, *, text: bool = False) -> None:
        """Sends one message. Raises OSError."""
        self._send(TextMessage(message.decode()) if text else BytesMessage(message))

    def close(self, code: int = 1000) -> None:
        """Says farewell."""
        with suppress(OSError):
            self._send(CloseConnection(code))

    def _read(self) -> None:
        try:
            data = self._connection.recv(_PIECE)
            self._protocol.receive_data(data or None)
            for event in self._protocol.events():
                self._hear(event)
        except (OSError, RemoteProtocolError):
            self._heard.append(None)
            return
        if not data:
            self._heard.append(None)

    def _hear(self, event: Event) -> None:
        match event:
            case BytesMessage(data=bytes() | bytearray() as data) | TextMessage(data=data):
                self._piece(data.encode() if isinstance(data, str) else bytes(data), event)
            case Ping():
                self._send(event.response())
            case CloseConnection():
                with suppress(OSError):
                    self._send(event.response())
                self._heard.append(None)
            case Pong() | _:
                pass

    def _piece(self, data: bytes, event: BytesMessage | TextMessage) -> None:
        self._partial += data
        if len(self._partial) > _LARGEST:
            self.close(1009)
            self._heard.append(None)
        elif event.message_finished:
            self._heard.append(bytes(self._partial))
            self._partial.clear()

    def _send(self, event: Event) -> None:
        with self._lock:
            try:
                self._connection.sendall(self._protocol.send(event))
            except LocalProtocolError as error:
                raise OSError(f"the WebSocket is closed: {error}") from None


class Tunnel:
    """A stream of bytes in messages, whose boundaries mean nothing."""

    def __init__(self, messages: Messages) -> None:
        self._messages = messages

    def receive(self) -> bytes:
        """The next bytes; b"" at the end."""
        try:
            while not (message := self._messages.receive()):
                pass
        except EOFError:
            return b""
        return message

    def send(self, data: bytes) -> None:
        """Sends all of it."""
        self._messages.send(data)

    def close(self) -> None:
        """Ends the connection."""
        self._messages.close()
