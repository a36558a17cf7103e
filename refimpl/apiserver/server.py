"""An API server just big enough for one kubelet: plain HTTP on loopback, JSON, nobody is asked who
they are."""

from __future__ import annotations

import json
import re
import sys
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from refimpl.apiserver.objects import Change, Conflict, Missing, Object, Objects, Place, merged

__all__ = ["ApiServer"]

_PATH = re.compile(
    r"/(?:api|apis/(?P<group>[^/]+))/(?P<version>v[^/]+)(?:/namespaces/(?P<namespace>[^/]+))?"
    r"/(?P<resource>[a-z]+)(?:/(?P<name>[^/]+))?(?:/(?P<part>[a-z]+))?"
)
_KINDS = {
    "clustertrustbundles": "ClusterTrustBundle",
    "configmaps": "ConfigMap",
    "csidrivers": "CSIDriver",
    "csinodes": "CSINode",
    "leases": "Lease",
    "namespaces": "Namespace",
    "nodes": "Node",
    "pods": "Pod",
    "podcertificaterequests": "PodCertificateRequest",
    "resourceclaims": "ResourceClaim",
    "resourceslices": "ResourceSlice",
    "runtimeclasses": "RuntimeClass",
    "secrets": "Secret",
    "serviceaccounts": "ServiceAccount",
    "services": "Service",
}
_PLURALS = {kind: resource for resource, kind in _KINDS.items()}
_INITIAL_END = {"annotations": {"k8s.io/initial-events-end": "true"}}
_PATCHES = {"application/merge-patch+json": False, "application/strategic-merge-patch+json": True}
_EVENTS = "/events"
_WATCH_S = 1800.0


class ApiServer:
    """Serves from construction to `close`; `url` is what a kubeconfig names as the server.

    Objects are as in JSON. Whatever resource is asked for exists, and is empty at first. `watches`
    counts the watches that were opened, by resource (v1/pods).
    """

    def __init__(self) -> None:
        self.objects = Objects()
        self.watches: Counter[str] = Counter()
        self._server = _Server(("127.0.0.1", 0), _handler(self))
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(
            target=self._server.serve_forever, args=(0.05,), name="refimpl-apiserver", daemon=True
        ).start()

    def put(self, given: Mapping[str, Any]) -> Object:
        """Creates an object, or replaces the one of that name, whose status stays unless one is
        given; returns it as it is kept."""
        place = place_of(given)
        try:
            return self.objects.create(place, given)
        except Conflict:
            told = {"status": given["status"]} if "status" in given else {}
            return self.objects.change(place, lambda old: {**_replaced(old, given, ""), **told})

    def get(self, resource: str, name: str, namespace: str = "") -> Object | None:
        """The object, None if there is none."""
        try:
            return self.objects.get(Place(resource, namespace, name))
        except Missing:
            return None

    def remove(
        self, resource: str, name: str, namespace: str = "", *, grace_s: int | None = None
    ) -> None:
        """Deletes an object, a pod with grace; nothing if there is none."""
        try:
            self.objects.remove(Place(resource, namespace, name), grace_s=grace_s)
        except Missing:
            return

    def until(self, condition: Callable[[], bool], limit_s: float) -> bool:
        """Waits until the condition holds, which is asked after every change; False if not."""
        return self.objects.until(condition, limit_s)

    def close(self) -> None:
        """Ends it and all watches."""
        self.objects.end_watches()
        self._server.shutdown()
        self._server.server_close()


def place_of(given: Mapping[str, Any]) -> Place:
    """Where an object belongs; raises KeyError for a kind that is not among ours."""
    about = given["metadata"]
    resource = f"{given['apiVersion']}/{_PLURALS[given['kind']]}"
    return Place(resource, about.get("namespace", ""), about["name"])


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A kubelet that was killed leaves requests behind; all else is a bug of ours."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


def _handler(server: ApiServer) -> type[BaseHTTPRequestHandler]:
    return type("Handler", (_Handler,), {"api": server})


class _Handler(BaseHTTPRequestHandler):
    """One connection of kubelet's."""

    api: ApiServer
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

    def log_message(self, *_: object) -> None:
        """Nobody reads it."""

    # What is asked

    def _answer(self, act: Callable[[Place], tuple[int, Object] | None]) -> None:
        url = urlsplit(self.path)
        self._asked = {key: values[0] for key, values in parse_qs(url.query).items()}
        wanted = int(self.headers.get("Content-Length") or 0)
        self._body = self.rfile.read(wanted)
        if len(self._body) < wanted:  # kubelet was killed in the middle of it
            self.close_connection = True
            return
        found = _PATH.fullmatch(url.path)
        if not found:
            self._send(*_failure(404, "NotFound", f"{url.path} is not served"))
            return
        version = "/".join(part for part in (found["group"], found["version"]) if part)
        place = Place(
            f"{version}/{found['resource']}", found["namespace"] or "", found["name"] or ""
        )
        self._part = found["part"] or ""
        try:
            answer = act(place)
        except Missing as error:
            answer = _failure(404, "NotFound", str(error))
        except Conflict as error:
            reason = "AlreadyExists" if self.command == "POST" else "Conflict"
            answer = _failure(409, reason, str(error))
        if answer is not None:
            self._send(*answer)

    def _read(self, place: Place) -> tuple[int, Object] | None:
        fields = self._fields()
        if place.name and not self._watched():
            return 200, self.api.objects.get(place)
        if self._watched():
            self._watch(place, fields)
            return None
        version = self.api.objects.version
        kind = {"kind": f"{_kind(place)}List", "apiVersion": _version(place)}
        items = self.api.objects.find(place, fields)
        return 200, {**kind, "metadata": {"resourceVersion": str(version)}, "items": items}

    def _create(self, place: Place) -> tuple[int, Object]:
        given = json.loads(self._body)
        if place.resource.endswith(_EVENTS) or not given.get("metadata", {}).get("name"):
            return 201, given  # events; reviews of access and of tokens have no name
        named = Place(place.resource, place.namespace, given["metadata"]["name"])
        return 201, self.api.objects.create(named, given)

    def _replace(self, place: Place) -> tuple[int, Object]:
        given = json.loads(self._body)
        return 200, self.api.objects.change(place, lambda old: _replaced(old, given, self._part))

    def _patch(self, place: Place) -> tuple[int, Object]:
        kind = self.headers.get_content_type()
        if place.resource.endswith(_EVENTS):
            return 200, json.loads(self._body)
        if kind not in _PATCHES:
            return _failure(415, "UnsupportedMediaType", f"no patch of type {kind}")
        patch = json.loads(self._body)
        if self._part:
            patch = {name: patch[name] for name in ("metadata", self._part) if name in patch}
        return 200, self.api.objects.change(
            place, lambda old: dict(merged(old, patch, strategic=_PATCHES[kind]))
        )

    def _delete(self, place: Place) -> tuple[int, Object]:
        if not place.name:
            for held in self.api.objects.find(place, self._fields()):
                self.api.objects.remove(place_of(held))
            return 200, {"kind": "Status", "apiVersion": "v1", "status": "Success"}
        asked = json.loads(self._body or b"{}")
        uid = (asked.get("preconditions") or {}).get("uid") or ""
        return 200, self.api.objects.remove(place, uid=uid, grace_s=asked.get("gracePeriodSeconds"))

    # How it is answered

    def _fields(self) -> dict[str, str]:
        asked = self._asked.get("fieldSelector", "")
        return dict(pair.split("=", 1) for pair in asked.split(",") if pair)

    def _watched(self) -> bool:
        return self._asked.get("watch") in ("true", "1")

    def _watch(self, place: Place, fields: Mapping[str, str]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        objects, since = self.api.objects, int(self._asked.get("resourceVersion") or 0)
        initial = self._asked.get("sendInitialEvents") == "true"
        if initial or since == 0:
            since = objects.version
            for held in objects.find(place, fields):
                self._event("ADDED", held)
        if initial:
            self._event("BOOKMARK", _bookmark(place, since))
        self.wfile.flush()
        self.api.watches[place.resource] += 1
        limit_s = float(self._asked.get("timeoutSeconds") or _WATCH_S)
        try:
            for change in objects.watch(place, since, fields, limit_s):
                self._told(change)
            self.wfile.write(b"0\r\n\r\n")
        except OSError:  # kubelet is gone
            self.close_connection = True

    def _told(self, change: Change) -> None:
        self._event(change.kind, change.object)
        self.wfile.flush()

    def _event(self, kind: str, held: Object) -> None:
        line = json.dumps({"type": kind, "object": held}).encode() + b"\n"
        self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))

    def _send(self, status: int, held: Object) -> None:
        text = json.dumps(held).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


def _replaced(before: Object, given: Mapping[str, Any], part: str) -> Object:
    """The object after a PUT, which changes either the status or all else."""
    if part:
        return {**before, part: given.get(part)}
    kept = {name: before["metadata"][name] for name in ("uid", "generation", "creationTimestamp")}
    status = {"status": before["status"]} if "status" in before else {}
    return {**given, **status, "metadata": {**kept, **given["metadata"]}}


def _bookmark(place: Place, version: int) -> Object:
    about = {"resourceVersion": str(version), **_INITIAL_END}
    return {"kind": _kind(place), "apiVersion": _version(place), "metadata": about}


def _kind(place: Place) -> str:
    return _KINDS.get(place.resource.rpartition("/")[2], "Unknown")


def _version(place: Place) -> str:
    return place.resource.rpartition("/")[0]


def _failure(code: int, reason: str, message: str) -> tuple[int, Object]:
    told = {"status": "Failure", "code": code, "reason": reason, "message": message}
    return code, {"kind": "Status", "apiVersion": "v1", "metadata": {}, **told}
