"""HTTP/1.1 on a unix socket or loopback: one request a connection, JSON answers and errors."""

from __future__ import annotations

import contextlib
import http.server
import os
import socket
import threading
import traceback
import urllib.parse
from collections.abc import Callable, Iterator
from http import HTTPStatus
from typing import Any

import attrs
import msgspec

from refimpl.wire.endpoint import Endpoint, EndpointError
from refimpl.wire.faults.document import LARGEST_TEXT
from refimpl.wire.http_server import CappedServer, HttpError, drain, read_body
from refimpl.wire.status import Refused

__all__ = ["HttpAnswer", "HttpListener", "HttpRequest"]

IDLE_S = 30.0
"""How long a caller may say nothing before its connection is closed."""

LARGEST_BODY = LARGEST_TEXT
"""Bytes of a request: a file of rules is the largest there is."""

HttpAnswer = dict[str, Any] | Iterator[bytes]
"""One JSON object, or lines of JSON."""

_ENCODER = msgspec.json.Encoder()


@attrs.frozen
class HttpRequest:
    """One request: what it names, and what came with it; `form` as curl's -d labels a body."""

    method: str
    path: str
    query: dict[str, str]
    body: bytes
    form: bool


@contextlib.contextmanager
def _refusals() -> Iterator[None]:
    """Turns what a route raises into the status it stands for."""
    try:
        yield
    except HttpError:
        raise
    except Refused as error:
        raise HttpError(HTTPStatus.CONFLICT, str(error)) from error
    except LookupError as error:
        sentence = str(error.args[0]) if error.args else "not found"  # KeyError quotes itself
        raise HttpError(HTTPStatus.NOT_FOUND, sentence) from error
    except ValueError as error:
        raise HttpError(HTTPStatus.BAD_REQUEST, str(error)) from error
    except Exception as error:  # whoever steers must get an answer, and stderr the traceback
        traceback.print_exc()
        sentence = f"refimpl: bug: {type(error).__name__}: {error}"
        raise HttpError(HTTPStatus.INTERNAL_SERVER_ERROR, sentence) from error


class HttpListener(CappedServer):
    """The listening socket, of either family; a thread for each connection."""

    _inode = 0

    def __init__(self, endpoint: Endpoint, answer: Callable[[HttpRequest], HttpAnswer]) -> None:
        self.answer = answer
        unix = endpoint.kind == "unix"
        inet = socket.AF_INET6 if ":" in endpoint.host else socket.AF_INET
        self.address_family = socket.AF_UNIX if unix else inet
        address: Any = endpoint.path if unix else (endpoint.host, endpoint.port)
        try:
            super().__init__(address, _RequestHandler)
        except OSError as error:
            raise EndpointError(
                f"control endpoint {endpoint} cannot be bound: {error.strerror or error}"
            ) from error
        port = 0 if unix else int(self.socket.getsockname()[1])
        self.endpoint = attrs.evolve(endpoint, port=port)
        if unix:
            self._inode = os.stat(endpoint.path).st_ino
        self.thread = threading.Thread(
            target=self.serve_forever, args=(0.05,), name="refimpl-control", daemon=True
        )

    def server_close(self) -> None:
        """Closes the socket, and removes its file unless another has taken its place."""
        super().server_close()
        with contextlib.suppress(OSError):
            if self._inode and os.stat(self.endpoint.path).st_ino == self._inode:
                os.unlink(self.endpoint.path)


class _RequestHandler(http.server.BaseHTTPRequestHandler):
    """One request and its answer; the connection ends with it."""

    protocol_version = "HTTP/1.1"
    server_version = "refimpl"
    timeout = IDLE_S
    server: HttpListener

    def do_GET(self) -> None:
        """Answers a request of any method."""
        try:
            body = read_body(self.headers, self.rfile, LARGEST_BODY)
        except HttpError as error:
            self._send(error.status, {"error": str(error)})
            drain(self.connection)
            return
        self.server.waiting.remove(self.connection)
        self._answer(body)

    def _answer(self, body: bytes) -> None:
        try:
            with _refusals():
                answer = self.server.answer(self._request(body))
        except HttpError as error:
            self._send(error.status, {"error": str(error)})
            return
        if isinstance(answer, dict):
            self._send(HTTPStatus.OK, answer)
        else:
            self._send_lines(answer)

    do_DELETE = do_PATCH = do_POST = do_PUT = do_GET  # noqa: N815  as http.server wants them

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """What http.server refuses by itself, in the form of all other errors."""
        status = HTTPStatus(code)
        self._send(status, {"error": message or explain or status.phrase})

    def log_message(self, *_words: object) -> None:
        """Says nothing: who steers gets an answer, and stderr is for what nobody asked for."""

    def _request(self, body: bytes) -> HttpRequest:
        self._refuse_web_pages()
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query, keep_blank_values=True))
        path = "/" + urllib.parse.unquote(url.path).strip("/")
        form = self.headers.get_content_type() == "application/x-www-form-urlencoded"
        return HttpRequest(self.command, path, query, body, form)

    def _refuse_web_pages(self) -> None:
        """A browser sends Origin, and after a rebound name a Host that is not ours."""
        host = urllib.parse.urlsplit(f"//{self.headers.get('Host', '')}").hostname
        names = {"localhost", "127.0.0.1", "::1", self.server.endpoint.host}
        foreign = self.server.endpoint.kind != "unix" and host not in names
        if foreign or "Origin" in self.headers:
            raise HttpError(HTTPStatus.FORBIDDEN, "the control endpoint is not for web pages")

    def _send(self, status: HTTPStatus, answer: dict[str, Any]) -> None:
        body = _ENCODER.encode(answer) + b"\n"
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def _send_lines(self, lines: Iterator[bytes]) -> None:
        chunked = self.request_version != "HTTP/1.0"
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", "application/x-ndjson")
        self.send_header("Connection", "close")
        if chunked:
            self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for line in lines:
            self.wfile.write(b"%x\r\n%b\r\n" % (len(line), line) if chunked else line)
        if chunked:
            self.wfile.write(b"0\r\n\r\n")
