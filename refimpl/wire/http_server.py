"""What our HTTP servers have in common: a thread for each connection, a cap on those that say
nothing, and bodies that are read with a limit."""

from __future__ import annotations

import contextlib
import socket
import socketserver
import sys
import threading
import traceback
from email.message import Message
from http import HTTPStatus
from io import BufferedIOBase
from typing import Any

__all__ = ["CappedServer", "HttpError", "WaitingConnections", "drain", "read_body"]

BACKLOG = 128
"""How many callers the kernel keeps while we are busy."""

MOST_WAITING = 64
"""Connections without a whole request: each has a thread, and more would be an attack or a bug."""

_DISCARDED = 16 * 1024 * 1024  # bytes of a body that is not wanted
_DISCARDED_S = 2.0
_DIGITS = 18  # no length that can be meant has more


class HttpError(Exception):
    """The status and the sentence that the caller gets."""

    def __init__(self, status: HTTPStatus, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


class WaitingConnections:
    """Connections whose next request has not come whole. Where there are more than `most`, the one
    that has waited longest is cut off: who opens many and says nothing shuts nobody out."""

    def __init__(self, most: int = MOST_WAITING) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._waiting: dict[socket.socket, None] = {}

    def add(self, connection: socket.socket) -> None:
        """It waits for a request from now on."""
        with self._lock:
            self._waiting[connection] = None
            oldest = next(iter(self._waiting)) if len(self._waiting) > self._most else None
            if oldest is None:
                return
            del self._waiting[oldest]
            with contextlib.suppress(OSError):  # it is gone already
                oldest.shutdown(socket.SHUT_RDWR)

    def remove(self, connection: socket.socket) -> None:
        """Its request is there, or it is gone. May be called twice."""
        with self._lock:
            self._waiting.pop(connection, None)

    def __len__(self) -> int:
        return len(self._waiting)


class CappedServer(socketserver.ThreadingMixIn, socketserver.TCPServer):
    """A listening socket of a stream. A handler tells `waiting` that it has read a request
    (`remove`), and that it goes on to the next one (`add`)."""

    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = BACKLOG

    def __init__(self, address: Any, handler: type[socketserver.BaseRequestHandler]) -> None:
        self.waiting = WaitingConnections()
        super().__init__(address, handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Gives a new connection its thread."""
        self.waiting.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Ends a connection."""
        self.waiting.remove(request)
        super().shutdown_request(request)

    def handle_error(self, _request: object, _client_address: object) -> None:
        """A caller that hangs up in the middle is no event; anything else is a bug of ours."""
        if not isinstance(sys.exception(), OSError):
            traceback.print_exc()


def read_body(headers: Message, stream: BufferedIOBase, largest: int) -> bytes:
    """The body of a request, of `largest` bytes at most.

    Raises HttpError for a length that is missing, no number or too large, and for a body that is
    shorter. The connection is out of step then: it has to be drained and closed.
    """
    if "Transfer-Encoding" in headers:
        raise HttpError(HTTPStatus.LENGTH_REQUIRED, "send the body with a Content-Length")
    length = _length(headers)
    if length > largest:
        sentence = f"the body has {length} bytes, at most {largest} are read"
        raise HttpError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, sentence)
    try:
        body = stream.read(length)
    except TimeoutError:
        raise HttpError(HTTPStatus.REQUEST_TIMEOUT, "the body does not come") from None
    if len(body) < length:
        sentence = f"the body ended after {len(body)} of {length} bytes"
        raise HttpError(HTTPStatus.BAD_REQUEST, sentence)
    return body


def drain(connection: socket.socket) -> None:
    """Takes what a caller still sends, so that it sees the answer that it has got: a connection
    that is closed on unread bytes is reset."""
    left = _DISCARDED
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_WR)
        connection.settimeout(_DISCARDED_S)
        while left > 0 and (data := connection.recv(1 << 16)):
            left -= len(data)


def _length(headers: Message) -> int:
    texts = {text.strip() for text in headers.get_all("Content-Length", ["0"])}
    text = texts.pop()
    if texts or not (text.isascii() and text.isdecimal()):
        shown = ", ".join(sorted({text, *texts}))[:40]
        raise HttpError(HTTPStatus.BAD_REQUEST, f"Content-Length: {shown!r} is no number")
    if len(text.lstrip("0")) > _DIGITS:
        sentence = f"Content-Length: a number of {len(text)} digits is no length"
        raise HttpError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, sentence)
    return int(text)
