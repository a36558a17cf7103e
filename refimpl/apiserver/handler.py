"""Requests to the API server: read, judged, answered with JSON."""

from __future__ import annotations

import json
import traceback
from collections import Counter
from collections.abc import Callable, Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qs, urlsplit

from refimpl.apiserver.manifests import Malformed, Object, checked, merged
from refimpl.apiserver.objects import Conflict, Missing, Objects, Place
from refimpl.apiserver.paths import kind_of, place_at, version_of
from refimpl.wire.http_server import CappedServer, HttpError, drain, read_body

__all__ = ["LARGEST_BODY", "ApiHttpServer", "replaced"]

LARGEST_BODY = 3 * 1024 * 1024
"""Bytes of a request, as of a real API server."""

_INITIAL_END = {"annotations": {"k8s.io/initial-events-end": "true"}}
_PATCHES = {"application/merge-patch+json": False, "application/strategic-merge-patch+json": True}
_EVENTS = "/events"
_WATCH_S = 1800.0
_DIGITS = 18  # of a number in a query

Answer = tuple[int, Object]
"""The status, and the object of the body."""


class ApiHttpServer(CappedServer):
    """Listens on a free port of loopback. `watches` counts those that were opened, by resource."""

    def __init__(self, objects: Objects, watches: Counter[str]) -> None:
        self.objects, self.watches = objects, watches
        super().__init__(("127.0.0.1", 0), _Handler)

    @property
    def url(self) -> str:
        """What a kubeconfig names as the server."""
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    """One connection, with one request after the other."""

    server: ApiHttpServer
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # an answer leaves in one piece,
    disable_nagle_algorithm = True  # and at once

    def do_GET(self) -> None:
        """Reads an object or a list, or watches."""
        self._answer(self._read)

    def do_POST(self) -> None:
        """Creates an object; an event goes nowhere."""
        self._answer(self._create)

    def do_PUT(self) -> None:
        """Replaces an object or its status."""
        self._answer(self._replace)

    def do_PATCH(self) -> None:
        """Patches an object or its status."""
        self._answer(self._patch)

    def do_DELETE(self) -> None:
        """Deletes an object."""
        self._answer(self._delete)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """What http.server refuses by itself, in the form of all other failures."""
        status = HTTPStatus(code)
        self.close_connection = True
        self._send(*_failure(status, status.phrase.replace(" ", ""), message or explain or ""))

    def log_message(self, *_: object) -> None:
        """Nobody reads it."""

    # -- how it is answered ---------------------------------------------------------------------

    def _answer(self, operation: Callable[[Place], Answer | None]) -> None:
        try:
            self._body = read_body(self.headers, self.rfile, LARGEST_BODY)
        except HttpError as error:
            self.close_connection = True
            self._send(*_failure(error.status, _REASONS[error.status], str(error)))
            self.wfile.flush()
            drain(self.connection)
            return
        self.server.waiting.remove(self.connection)
        answer = self._judged(operation)
        if answer is not None:
            self._send(*answer)
        self.wfile.flush()
        self.server.waiting.add(self.connection)

    def _judged(self, operation: Callable[[Place], Answer | None]) -> Answer | None:
        url = urlsplit(self.path)
        self._query = {key: values[0] for key, values in parse_qs(url.query).items()}
        served = place_at(url.path)
        if served is None:
            return _failure(404, "NotFound", f"{url.path} is not served")
        place, self._subresource = served
        try:
            return operation(place)
        except Missing as error:
            return _failure(404, "NotFound", str(error))
        except Conflict as error:
            reason = "AlreadyExists" if self.command == "POST" else "Conflict"
            return _failure(409, reason, str(error))
        except Malformed as error:
            return _failure(400, "BadRequest", str(error))
        except OSError:  # the caller is gone
            raise
        except Exception as error:  # kubelet must get an answer, and stderr the traceback
            traceback.print_exc()
            return _failure(500, "InternalError", f"refimpl: bug: {error!r}")

    def _send(self, status: int, object: Object) -> None:
        body = json.dumps(object).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    # -- what is asked --------------------------------------------------------------------------

    def _read(self, place: Place) -> Answer | None:
        fields = self._fields()
        if self._query.get("watch") in ("true", "1"):
            self._watch(place, fields)
            return None
        if place.name:
            return 200, self.server.objects.get(place)
        version = self.server.objects.version
        kind = {"kind": f"{kind_of(place)}List", "apiVersion": version_of(place)}
        items = self.server.objects.find(place, fields)
        return 200, {**kind, "metadata": {"resourceVersion": str(version)}, "items": items}

    def _create(self, place: Place) -> Answer:
        manifest = checked(self._parsed())
        name = (manifest.get("metadata") or {}).get("name")
        if place.resource.endswith(_EVENTS) or not name:
            return 201, manifest  # events; reviews of access and of tokens have no name
        named = Place(place.resource, place.namespace, name)
        return 201, self.server.objects.create(named, manifest)

    def _replace(self, place: Place) -> Answer:
        manifest, part = checked(self._parsed()), self._subresource
        return 200, self.server.objects.change(place, lambda old: replaced(old, manifest, part))

    def _patch(self, place: Place) -> Answer:
        kind = self.headers.get_content_type()
        if place.resource.endswith(_EVENTS):
            return 200, self._parsed()
        if kind not in _PATCHES:
            return _failure(415, "UnsupportedMediaType", f"no patch of type {kind}")
        patch = self._parsed()
        if self._subresource:
            parts = ("metadata", self._subresource)
            patch = {name: patch[name] for name in parts if name in patch}
        return 200, self.server.objects.change(
            place, lambda old: dict(merged(old, patch, strategic=_PATCHES[kind]))
        )

    def _delete(self, place: Place) -> Answer:
        if not place.name:
            self.server.objects.remove_all(place, self._fields())
            return 200, {"kind": "Status", "apiVersion": "v1", "status": "Success"}
        options = self._parsed() if self._body else {}
        preconditions, grace_s = options.get("preconditions"), options.get("gracePeriodSeconds")
        if not isinstance(preconditions or {}, dict) or not isinstance(grace_s, int | None):
            raise Malformed("preconditions is an object, gracePeriodSeconds a number")
        uid = (preconditions or {}).get("uid") or ""
        return 200, self.server.objects.remove(place, uid=uid, grace_s=grace_s)

    def _parsed(self) -> Object:
        """The body; raises Malformed for one that is no JSON object."""
        try:
            body = json.loads(self._body)
        except (ValueError, RecursionError) as error:
            raise Malformed(f"the body is no JSON: {error}") from error
        if not isinstance(body, dict):
            raise Malformed(f"the body is no JSON object, but {type(body).__name__}")
        return body

    def _fields(self) -> dict[str, str]:
        pairs = [pair for pair in self._query.get("fieldSelector", "").split(",") if pair]
        if not all("=" in pair for pair in pairs):
            raise Malformed(f"fieldSelector={','.join(pairs)}: write path=value")
        return dict(pair.split("=", 1) for pair in pairs)

    def _number(self, name: str, default: float) -> float:
        """A number of the query, none of which is negative."""
        text = self._query.get(name) or str(default)
        if not text.replace(".", "", 1).isdecimal() or len(text) > _DIGITS:
            raise Malformed(f"{name}={text!r} is no number")
        return float(text)

    # -- watches --------------------------------------------------------------------------------

    def _watch(self, place: Place, fields: Mapping[str, str]) -> None:
        objects, since = self.server.objects, int(self._number("resourceVersion", 0))
        limit_s = self._number("timeoutSeconds", _WATCH_S)
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        initial = self._query.get("sendInitialEvents") == "true"
        if initial or since == 0:
            since = objects.version
            for each in objects.find(place, fields):
                self._event("ADDED", each)
        if initial:
            self._event("BOOKMARK", _bookmark(place, since))
        self.wfile.flush()
        self.server.watches[place.resource] += 1
        try:
            for change in objects.watch(place, since, fields, limit_s):
                self._event(change.kind, change.object)
                self.wfile.flush()
            self.wfile.write(b"0\r\n\r\n")
        except OSError:  # kubelet is gone
            self.close_connection = True

    def _event(self, kind: str, object: Object) -> None:
        line = json.dumps({"type": kind, "object": object}).encode() + b"\n"
        self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))


def replaced(before: Object, manifest: Mapping[str, Any], subresource: str) -> Object:
    """The object after a PUT, which changes either the status or all else."""
    if subresource:
        return {**before, subresource: manifest.get(subresource)}
    kept = {name: before["metadata"][name] for name in ("uid", "generation", "creationTimestamp")}
    status = {"status": before["status"]} if "status" in before else {}
    return {**manifest, **status, "metadata": {**kept, **(manifest.get("metadata") or {})}}


def _bookmark(place: Place, version: int) -> Object:
    metadata = {"resourceVersion": str(version), **_INITIAL_END}
    return {"kind": kind_of(place), "apiVersion": version_of(place), "metadata": metadata}


_REASONS = {
    HTTPStatus.BAD_REQUEST: "BadRequest",
    HTTPStatus.LENGTH_REQUIRED: "BadRequest",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "RequestEntityTooLarge",
    HTTPStatus.REQUEST_TIMEOUT: "Timeout",
}


def _failure(code: int, reason: str, message: str) -> Answer:
    failure = {"status": "Failure", "code": int(code), "reason": reason, "message": message}
    return int(code), {"kind": "Status", "apiVersion": "v1", "metadata": {}, **failure}
