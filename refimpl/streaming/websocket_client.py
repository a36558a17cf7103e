"""The caller's side over WebSocket: messages, and the channels of an exec or attach."""

from __future__ import annotations

import base64
import socket
from collections import deque
from contextlib import suppress
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

from wsproto import ConnectionType, WSConnection
from wsproto.events import (
    AcceptConnection,
    BytesMessage,
    CloseConnection,
    Event,
    Ping,
    RejectConnection,
    Request,
    TextMessage,
)
from wsproto.utilities import RemoteProtocolError

from refimpl.streaming.client import Unexpected
from refimpl.streaming.outcome import Outcome

__all__ = ["WebSocketClient", "WebSocketCommandClient"]

_PIECE = 1 << 16
_STDIN, _STDOUT, _STDERR, _ERROR, _RESIZE = range(5)
_CLOSE = 0xFF


class WebSocketClient:
    """A connection, opened: one thread receives, one sends. It is a `ByteStream`.

    names: the subprotocols that are offered. chosen: the one that the server took, None for none.
    code: with which the server closed, 0 before. Raises OSError, and Unexpected with the status
    where the server does not switch.
    """

    def __init__(self, url: str, *names: str, timeout_s: float = 10.0) -> None:
        parts = urlsplit(url)
        self._url = url
        self._socket = socket.create_connection((parts.hostname, parts.port or 80), timeout_s)
        self._protocol = WSConnection(ConnectionType.CLIENT)
        self._heard: deque[bytes] = deque()
        self.code, self._partial, self._standing = 0, b"", False
        self.chosen: str | None = None
        request = Request(host=parts.netloc, target=parts.path, subprotocols=list(names))
        try:
            self._socket.sendall(self._protocol.send(request))
            while not self._standing:
                self._read()
        except BaseException:
            self._socket.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: object, _trace: TracebackType | None
    ) -> None:
        self.leave()

    def receive(self) -> bytes:
        """The next message that is not empty; b"" at the end. Raises OSError."""
        while not self._heard and not self.code:
            self._read()
        return self._heard.popleft() if self._heard else b""

    def send(self, data: bytes, *, text: bool = False) -> None:
        """Sends one message. Raises OSError."""
        self._send(TextMessage(data.decode()) if text else BytesMessage(data))

    def close(self) -> None:
        """Says farewell."""
        self._send(CloseConnection(1000))

    def leave(self) -> None:
        """Hangs up without a word."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _send(self, event: Event) -> None:
        self._socket.sendall(self._protocol.send(event))

    def _read(self) -> None:
        data = self._socket.recv(_PIECE)
        try:
            self._protocol.receive_data(data or None)
            for event in self._protocol.events():
                self._hear(event)
        except RemoteProtocolError as error:
            raise Unexpected(f"{self._url} does not answer in WebSocket: {error}") from None
        if not data and not self.code:
            self.code = 1006
            if not self._standing:
                raise Unexpected(f"{self._url} hangs up before the handshake is over")

    def _hear(self, event: Event) -> None:
        match event:
            case AcceptConnection():
                self.chosen, self._standing = event.subprotocol, True
            case RejectConnection():
                refusal = f"{self._url} answers {event.status_code}"
                raise Unexpected(refusal, status=event.status_code)
            case BytesMessage() | TextMessage():
                piece = event.data
                self._partial += piece.encode() if isinstance(piece, str) else bytes(piece)
                if event.message_finished:
                    self._heard.extend([self._partial] if self._partial else [])
                    self._partial = b""
            case Ping():
                self._send(event.response())
            case CloseConnection():
                self.code = event.code


class WebSocketCommandClient:
    """An exec or attach, opened. name: of the subprotocol; raises as `WebSocketClient`."""

    def __init__(self, url: str, name: str, *, timeout_s: float = 10.0) -> None:
        self._messages = WebSocketClient(url, *filter(None, [name]), timeout_s=timeout_s)
        self.chosen = self._messages.chosen
        self._base64 = "base64" in name
        self._output: dict[int, bytes] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: object, _trace: TracebackType | None
    ) -> None:
        self._messages.leave()

    def send(self, data: bytes, channel: int = _STDIN) -> None:
        """Sends input, or whatever for another channel."""
        if self._base64:
            text = str(channel).encode() + base64.b64encode(data)
            self._messages.send(text, text=True)
        else:
            self._messages.send(bytes([channel]) + data)

    def end_input(self) -> None:
        """Closes the input, which only v5 can; the output goes on."""
        self.send(bytes([_STDIN]), _CLOSE)

    def resize(self, width: int, height: int) -> None:
        """Tells the size of the terminal, in characters."""
        self.send(f'{{"Width":{width},"Height":{height}}}'.encode(), _RESIZE)

    def output(self, name: str = "stdout") -> bytes:
        """What has come so far on stdout, stderr or error."""
        channel = {"stdout": _STDOUT, "stderr": _STDERR, "error": _ERROR}[name]
        return self._output.get(channel, b"")

    def until(self, text: bytes) -> bool:
        """Whether this comes on stdout before the end. Raises TimeoutError."""
        while text not in self.output():
            if not self._receive():
                return False
        return True

    def wait(self) -> Outcome:
        """How it ended. Raises TimeoutError, and ValueError for a status that is none."""
        while self._receive():
            pass
        return Outcome.parse(self.output("error"))

    def _receive(self) -> bool:
        message = self._messages.receive()
        if not message:
            return False
        if self._base64:
            channel, content = int(message[:1]), base64.b64decode(message[1:])
        else:
            channel, content = message[0], message[1:]
        self._output[channel] = self._output.get(channel, b"") + content
        return True
