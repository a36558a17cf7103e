"""Steering a fake while it runs, from any language that speaks HTTP (docs/faults.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from http import HTTPStatus
from typing import Any

import msgspec

from refimpl.wire.endpoint import Endpoint, bound
from refimpl.wire.faults import FaultError, FaultRule, Faults, cut_connections
from refimpl.wire.faults.config import read_rules
from refimpl.wire.http import HttpAnswer, HttpListener, HttpRequest
from refimpl.wire.http_server import HttpError
from refimpl.wire.journal import Journal

__all__ = ["Control", "Route"]

Route = Callable[[dict[str, Any]], dict[str, Any]]
"""What a fake adds: the JSON object of the request in, the one of the answer out."""

_ENCODER = msgspec.json.Encoder()


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
        self._running: HttpListener | None = None
        self._built_in: dict[str, Callable[[HttpRequest], HttpAnswer]] = {
            "GET /": lambda _: {"routes": sorted({*self._built_in, *self.routes})},
            "GET /healthz": lambda _: {"status": "ok"},
            "GET /journal": self._calls,
            "DELETE /journal": self._forget,
            "GET /faults": lambda _: self.faults.to_dict(),
            "PUT /faults": lambda request: {"ids": self.faults.replace(_rules(request))},
            "POST /faults": lambda request: {"ids": self.faults.add(*_rules(request))},
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
            self._running = HttpListener(self._wanted, self.answer)
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

    def answer(self, request: HttpRequest) -> HttpAnswer:
        """What a request is answered with. Raises HttpError, or what a route refuses with."""
        name = f"{request.method} {request.path}"
        if name in self.routes:
            return self.routes[name](_object(request.body))
        if name.startswith("DELETE /faults/"):
            name = "DELETE /faults"
        if name in self._built_in:
            return self._built_in[name](request)
        routes = sorted({*self._built_in, *self.routes})
        methods = [
            route.partition(" ")[0] for route in routes if route.endswith(f" {request.path}")
        ]
        status = HTTPStatus.METHOD_NOT_ALLOWED if methods else HTTPStatus.NOT_FOUND
        raise HttpError(status, f"{name} is no route here (there are: {', '.join(routes)})")

    def _calls(self, request: HttpRequest) -> Iterator[bytes]:
        unknown = ", ".join(request.query.keys() - {"method", "since"})
        if unknown:
            raise ValueError(f"/journal takes no {unknown}: method=GLOB and since=SEQ are known")
        since = int(request.query.get("since", "0"))
        calls = self.journal.calls(request.query.get("method", "*"))
        return (_ENCODER.encode(call.to_dict()) + b"\n" for call in calls if call.seq > since)

    def _forget(self, _request: HttpRequest) -> dict[str, Any]:
        self.journal.clear()
        return {}

    def _remove(self, request: HttpRequest) -> dict[str, Any]:
        id = request.path.removeprefix("/faults").strip("/")
        if id:
            self.faults.remove(id)
        else:
            self.faults.clear()
        return {}


def _rules(request: HttpRequest) -> list[FaultRule]:
    try:
        return read_rules(request.body)
    except FaultError as error:
        # curl's -d takes the line ends away, and sends this type.
        hint = " (with curl, use --data-binary instead of -d)" if request.form else ""
        raise FaultError(f"{error}{hint}") from error


def _object(body: bytes) -> dict[str, Any]:
    try:
        return msgspec.json.decode(body, type=dict[str, Any]) if body.strip() else {}
    except msgspec.DecodeError as error:
        raise ValueError(f"the body must be a JSON object: {error}") from None
