"""Steering a fake while it runs, from any language: HTTP/1.1 on a unix socket or on loopback.

curl --unix-socket ctl.sock -X POST http://refimpl/faults --data-binary @rules.yaml
"""

from __future__ import annotations

import contextlib
import http.server
import os
import socket
import socketserver
import sys
import threading
import traceback
import urllib.parse
from collections.abc import Callable, Iterator, Mapping
from http import HTTPStatus
from typing import Any

import attrs
import msgspec

from refimpl.wire.endpoint import Endpoint, EndpointError, bound
from refimpl.wire.faults import FaultError, Faults, Rule, cut_connections
from refimpl.wire.faults.config import read_rules
from refimpl.wire.faults.document import LARGEST_TEXT
from refimpl.wire.journal import Journal
from refimpl.wire.status import Refused

__all__ = ["Control", "Route"]

Route = Callable[[dict[str, Any]], dict[str, Any]]
"""What a fake adds: the JSON object of the request in, the one of the answer out."""

IDLE_S = 30.0
"""How long a caller may say nothing before its connection is closed."""

_DISCARDED = 16 * 1024 * 1024  # of a body that is too large, read so that the answer is seen
_ENCODER = msgspec.json.Encoder()


@attrs.frozen
class _Asked:
    """One request: what it names, and what came with it."""

    method: str
    path: str
    query: dict[str, str]
    body: bytes
    form: bool


class _AnswerError(Exception):
    """The status and the sentence that the caller gets."""

    def __init__(self, status: HTTPStatus, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


Answer = dict[str, Any] | Iterator[bytes]


class Control:
    """Serves a fake's journal and faults, and the fake's own routes, beside its RPCs.

    `routes` maps "POST /health" to a callable and may be changed while running. A route refuses
    with ValueError (400), LookupError (404) or Refused (409). There is no login: the socket has
    mode 0600, TCP is bound on loopback only, and calls made by a web page are refused.
    """

    def __init__(
        self,
        endpoint: Endpoint | str,
        *,
        journal: Journal,
        faults: Faults,
        routes: Mapping[str, Route] | None = None,
    ) -> None:
        self.journal, self.faults = journal, faults
        self.routes: dict[str, Route] = dict(routes or {})
        self._wanted = Endpoint.parse(endpoint) if isinstance(endpoint, str) else endpoint
        self._running: _Server | None = None
        self._built_in: dict[str, Callable[[_Asked], Answer]] = {
            "GET /": lambda _: {"routes": sorted({*self._built_in, *self.routes})},
            "GET /healthz": lambda _: {"status": "ok"},
            "GET /journal": self._calls,
            "DELETE /journal": self._forget,
            "GET /faults": lambda _: self.faults.to_dict(),
            "PUT /faults": lambda asked: {"ids": self.faults.replace(_rules(asked))},
            "POST /faults": lambda asked: {"ids": self.faults.add(*_rules(asked))},
            "DELETE /faults": self._remove,
        }

    @property
    def endpoint(self) -> Endpoint | None:
        """Where it listens, with the port chosen for TCP port 0; None while it does not."""
        return self._running.endpoint if self._running else None

    def start(self) -> Endpoint:
        """Listens. Raises EndpointError if the endpoint is taken or cannot be bound."""
        if self._running is not None:
            raise RuntimeError(f"the control endpoint {self._wanted} is open: stop it first")
        with bound(self._wanted):
            self._running = _Server(self._wanted, self)
        self._running.thread.start()
        return self._running.endpoint

    def stop(self) -> None:
        """Stops listening and removes the socket. May be called twice."""
        server, self._running = self._running, None
        if server is not None:
            server.shutdown()
            server.thread.join()
            cut_connections(server.endpoint)
            server.server_close()

    def __enter__(self) -> Control:
        self.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        self.stop()

    def answer(self, asked: _Asked) -> Answer:
        """What a request is answered with; raises what `_refusals` knows."""
        name = f"{asked.method} {asked.path}"
        if name in self.routes:
            return self.routes[name](_object(asked.body))
        if name.startswith("DELETE /faults/"):
            name = "DELETE /faults"
        if name in self._built_in:
            return self._built_in[name](asked)
        there = sorted({*self._built_in, *self.routes})
        methods = [each.partition(" ")[0] for each in there if each.endswith(f" {asked.path}")]
        status = HTTPStatus.METHOD_NOT_ALLOWED if methods else HTTPStatus.NOT_FOUND
        raise _AnswerError(status, f"{name} is no route here (there are: {', '.join(there)})")

    def _calls(self, asked: _Asked) -> Iterator[bytes]:
        unknown = ", ".join(asked.query.keys() - {"method", "since"})
        if unknown:
            raise ValueError(f"/journal takes no {unknown}: method=GLOB and since=SEQ are known")
        since = int(asked.query.get("since", "0"))
        calls = self.journal.calls(asked.query.get("method", "*"))
        return (_ENCODER.encode(call.to_dict()) + b"\n" for call in calls if call.seq > since)

    def _forget(self, _asked: _Asked) -> dict[str, Any]:
        self.journal.clear()
        return {}

    def _remove(self, asked: _Asked) -> dict[str, Any]:
        id = asked.path.removeprefix("/faults").strip("/")
        if id:
            self.faults.remove(id)
        else:
            self.faults.clear()
        return {}


def _rules(asked: _Asked) -> list[Rule]:
    try:
        return read_rules(asked.body)
    except FaultError as error:
        # curl's -d takes the line ends away, and sends this type.
        hint = " (with curl, use --data-binary instead of -d)" if asked.form else ""
        raise FaultError(f"{error}{hint}") from error


def _object(body: bytes) -> dict[str, Any]:
    try:
        return msgspec.json.decode(body, type=dict[str, Any]) if body.strip() else {}
    except msgspec.DecodeError as error:
        raise ValueError(f"the body must be a JSON object: {error}") from None


@contextlib.contextmanager
def _refusals() -> Iterator[None]:
    """Turns what a route raises into the status it stands for."""
    try:
        yield
    except _AnswerError:
        raise
    except Refused as error:
        raise _AnswerError(HTTPStatus.CONFLICT, str(error)) from error
    except LookupError as error:
        raise _AnswerError(
            HTTPStatus.NOT_FOUND, str(error.args[0] if error.args else error)
        ) from error
    except ValueError as error:
        raise _AnswerError(HTTPStatus.BAD_REQUEST, str(error)) from error
    except Exception as error:  # whoever steers must get an answer, and stderr the traceback
        traceback.print_exc()
        sentence = f"refimpl: bug: {type(error).__name__}: {error}"
        raise _AnswerError(HTTPStatus.INTERNAL_SERVER_ERROR, sentence) from error


class _Server(socketserver.ThreadingMixIn, socketserver.TCPServer):
    """The listening socket, of either family; a thread for each connection."""

    daemon_threads = True
    allow_reuse_address = True
    _inode = 0

    def __init__(self, endpoint: Endpoint, control: Control) -> None:
        self.control = control
        unix = endpoint.kind == "unix"
        inet = socket.AF_INET6 if ":" in endpoint.host else socket.AF_INET
        self.address_family = socket.AF_UNIX if unix else inet
        address: Any = endpoint.path if unix else (endpoint.host, endpoint.port)
        try:
            super().__init__(address, _Exchange)
        except OSError as error:
            raise EndpointError(
                f"control endpoint {endpoint} cannot be bound: {error.strerror}"
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

    def handle_error(self, _request: object, _client_address: object) -> None:
        """A caller that hangs up in the middle is no event; anything else is a bug of ours."""
        if not isinstance(sys.exception(), OSError):
            traceback.print_exc()


class _Exchange(http.server.BaseHTTPRequestHandler):
    """One request and its answer; the connection ends with it."""

    protocol_version = "HTTP/1.1"
    server_version = "refimpl"
    timeout = IDLE_S
    server: _Server

    def do_GET(self) -> None:
        """Answers a request of any method."""
        try:
            with _refusals():
                answer = self.server.control.answer(self._asked())
        except _AnswerError as error:
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

    def _asked(self) -> _Asked:
        body = self._body()  # read in any case: who still sends does not see an answer
        self._refuse_web_pages()
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query, keep_blank_values=True))
        path = "/" + urllib.parse.unquote(url.path).strip("/")
        form = self.headers.get_content_type() == "application/x-www-form-urlencoded"
        return _Asked(self.command, path, query, body, form)

    def _refuse_web_pages(self) -> None:
        """A browser sends Origin, and after a rebound name a Host that is not ours."""
        host = urllib.parse.urlsplit(f"//{self.headers.get('Host', '')}").hostname
        here = {"localhost", "127.0.0.1", "::1", self.server.endpoint.host}
        foreign = self.server.endpoint.kind != "unix" and host not in here
        if foreign or "Origin" in self.headers:
            raise _AnswerError(HTTPStatus.FORBIDDEN, "the control endpoint is not for web pages")

    def _body(self) -> bytes:
        if "Transfer-Encoding" in self.headers:
            raise _AnswerError(HTTPStatus.LENGTH_REQUIRED, "send the body with a Content-Length")
        given = self.headers.get("Content-Length", "0")
        if not (given.isascii() and given.isdecimal()):
            raise _AnswerError(HTTPStatus.BAD_REQUEST, f"Content-Length: {given!r} is no number")
        length = int(given)
        if length > LARGEST_TEXT:
            self.rfile.read(min(length, _DISCARDED))
            sentence = f"the body has {length} bytes, at most {LARGEST_TEXT} are read"
            raise _AnswerError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, sentence)
        body = self.rfile.read(length)
        if len(body) < length:
            sentence = f"the body ended after {len(body)} of {length} bytes"
            raise _AnswerError(HTTPStatus.BAD_REQUEST, sentence)
        return body

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
