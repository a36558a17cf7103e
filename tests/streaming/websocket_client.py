"""A WebSocket client, small: one message after the other."""

from __future__ import annotations

import socket
from collections import deque
from types import TracebackType
from urllib.parse import urlsplit

from wsproto import ConnectionType, WSConnection
from wsproto.events import (
    AcceptConnection,
    BytesMessage,
    CloseConnection,
    RejectConnection,
    Request,
    TextMessage,
)


class WebSocketClient:
    """Raises ConnectionError with the status where the server refuses."""

    def __init__(self, url: str, *names: str) -> None:
        parts = urlsplit(url)
        self._socket = socket.create_connection((parts.hostname, parts.port), 10)
        self._protocol = WSConnection(ConnectionType.CLIENT)
        self._heard: deque[bytes] = deque()
        self.code, self._partial = 0, b""
        self.chosen: str | None = None
        request = Request(host=parts.netloc, target=parts.path, subprotocols=list(names))
        self._socket.sendall(self._protocol.send(request))
        self._standing = False
        while not self._standing:
            self._read()

    def __enter__(self) -> WebSocketClient:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: object, _trace: TracebackType | None
    ) -> None:
        self._socket.close()

    def receive(self) -> bytes:
        """The next message; b"" at the end."""
        while not self._heard and not self.code:
            self._read()
        return self._heard.popleft() if self._heard else b""

    def send(self, data: bytes, *, text: bool = False) -> None:
        event = TextMessage(data.decode()) if text else BytesMessage(data)
        self._socket.sendall(self._protocol.send(event))

    def close(self) -> None:
        self._socket.sendall(self._protocol.send(CloseConnection(1000)))

    def _read(self) -> None:
        data = self._socket.recv(1 << 16)
        self._protocol.receive_data(data or None)
        for event in self._protocol.events():
            match event:
                case AcceptConnection():
                    self.chosen, self._standing = event.subprotocol, True
                case RejectConnection():
                    self._socket.close()
                    raise ConnectionError(event.status_code)
                case BytesMessage() | TextMessage():
                    piece = event.data
                    self._partial += piece.encode() if isinstance(piece, str) else bytes(piece)
                    if event.message_finished:
                        self._heard.append(self._partial)
                        self._partial = b""
                case CloseConnection():
                    self.code = event.code
