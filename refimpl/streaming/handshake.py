"""The HTTP request that becomes a stream, and the answers to one that cannot."""

from __future__ import annotations

import socket
from http import HTTPStatus

import attrs
import h11

from refimpl.wire.http_server import HttpError

__all__ = ["Handshake", "Refusal", "read"]

_LONGEST = 1 << 16
_PIECE = 1 << 14


class Refusal(HttpError):
    """An answer with headers of its own."""

    def __init__(
        self, status: HTTPStatus, sentence: str, headers: tuple[tuple[str, str], ...] = ()
    ) -> None:
        super().__init__(status, sentence)
        self.headers = headers


@attrs.frozen
class Handshake:
    """A request: method, path, headers in lower case with all their values, every byte that was
    read, and what of it stands behind the request."""

    method: str
    path: str
    headers: dict[str, tuple[str, ...]]
    raw: bytes
    behind: bytes

    def listed(self, name: str) -> tuple[str, ...]:
        """The values of a header, also where several stand behind commas."""
        texts = (part.strip() for value in self.headers.get(name, ()) for part in value.split(","))
        return tuple(text for text in texts if text)

    def upgrades_to(self, protocol: str) -> bool:
        """Whether the client wants to speak this."""
        connection = {value.lower() for value in self.listed("connection")}
        wanted = {value.lower() for value in self.listed("upgrade")}
        return "upgrade" in connection and protocol.lower() in wanted


def read(connection: socket.socket) -> Handshake:
    """Reads one request without a body. Raises HttpError for what is none, and OSError."""
    protocol, raw = h11.Connection(h11.SERVER, max_incomplete_event_size=_LONGEST), b""
    while True:
        try:
            event = protocol.next_event()
        except h11.RemoteProtocolError as error:
            raise HttpError(HTTPStatus.BAD_REQUEST, f"this is no HTTP request: {error}") from None
        if isinstance(event, h11.Request):
            return _handshake(event, protocol, raw)
        piece = connection.recv(_PIECE)
        if not piece:
            raise ConnectionResetError("the client left before its request was there")
        raw += piece
        protocol.receive_data(piece)


def _handshake(request: h11.Request, protocol: h11.Connection, raw: bytes) -> Handshake:
    headers: dict[str, tuple[str, ...]] = {}
    for name, value in request.headers:
        key = name.decode()
        headers[key] = (*headers.get(key, ()), value.decode("latin-1"))
    behind, _ = protocol.trailing_data
    return Handshake(
        request.method.decode(), request.target.decode("latin-1"), headers, raw, bytes(behind)
    )
