"""The API server as kubelet's client library meets it."""

from __future__ import annotations

import contextlib
import json
import selectors
import socket
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPResponse
from typing import Any, cast
from urllib.parse import urlsplit

import pytest

from refimpl.apiserver.handler import LARGEST_BODY
from refimpl.apiserver.server import ApiServer
from refimpl.wire.http_server import MOST_WAITING

PODS = "/api/v1/namespaces/default/pods"
STRATEGIC = "application/strategic-merge-patch+json"


class Caller:
    """A client of it."""

    def __init__(self, server: ApiServer) -> None:
        self.server = server
        self._connection = HTTPConnection(str(urlsplit(server.url).netloc), timeout=20)

    def ask(self, method: str, path: str, body: Any = None, kind: str = "application/json") -> Any:
        """The status and the object of the answer."""
        answer = self.raw(method, path, body, kind)
        return answer.status, json.loads(answer.read())

    def raw(self, method: str, path: str, body: Any = None, kind: str = "") -> HTTPResponse:
        """The answer, not read."""
        text = None if body is None else json.dumps(body)
        self._connection.request(method, path, text, {"Content-Type": kind})
        return self._connection.getresponse()

    def sent(self, method: str, path: str, body: bytes, kind: str) -> HTTPResponse:
        """The answer to a body of any kind."""
        self._connection.request(method, path, body, {"Content-Type": kind})
        return self._connection.getresponse()

    def connected(self) -> socket.socket:
        """A connection of its own on which nothing was said."""
        url = urlsplit(self.server.url)
        return socket.create_connection((url.hostname, url.port), timeout=20)

    def close(self) -> None:
        """Hangs up."""
        self._connection.close()


@pytest.fixture
def caller() -> Iterator[Caller]:
    """With a server of its own."""
    server = ApiServer()
    caller = Caller(server)
    yield caller
    caller.close()
    server.close()


def pod(name: str = "p", **status: Any) -> dict[str, Any]:
    """On the node n."""
    metadata = {"name": name, "namespace": "default"}
    spec = {"nodeName": "n", "terminationGracePeriodSeconds": 1}
    manifest = {"kind": "Pod", "apiVersion": "v1", "metadata": metadata, "spec": spec}
    return manifest | ({"status": status} if status else {})


def test_what_is_created_can_be_read_and_listed(caller: Caller) -> None:
    """In groups, too; whatever has no object is an empty list."""
    assert caller.ask("POST", PODS, pod())[0] == 201
    assert caller.ask("GET", f"{PODS}/p")[1]["spec"]["nodeName"] == "n"
    listed = caller.ask("GET", "/api/v1/pods?fieldSelector=spec.nodeName%3Dn")[1]
    assert (listed["kind"], len(listed["items"])) == ("PodList", 1)
    other = caller.ask("GET", "/api/v1/pods?fieldSelector=spec.nodeName%3Dm")[1]
    assert other["items"] == []
    lease = {"metadata": {"name": "n"}}
    leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
    assert caller.ask("POST", leases, lease)[0] == 201
    assert caller.ask("GET", f"{leases}/n")[0] == 200


def test_failures_are_statuses_with_a_reason(caller: Caller) -> None:
    """By which kubelet tells them apart."""
    status, answer = caller.ask("GET", f"{PODS}/p")
    assert (status, answer["kind"], answer["reason"]) == (404, "Status", "NotFound")
    caller.server.put(pod())
    status, answer = caller.ask("POST", PODS, pod())
    assert (status, answer["reason"]) == (409, "AlreadyExists")
    status, answer = caller.ask("DELETE", f"{PODS}/p", {"preconditions": {"uid": "other"}})
    assert (status, answer["reason"]) == (409, "Conflict")
    status, answer = caller.ask("PATCH", f"{PODS}/p", {}, "application/apply-patch+yaml")
    assert (status, answer["reason"]) == (415, "UnsupportedMediaType")
    assert caller.ask("GET", "/metrics")[0] == 404


def test_a_status_is_patched_and_replaced_for_itself(caller: Caller) -> None:
    """The rest of the object does not follow."""
    caller.server.put(pod(phase="Pending", conditions=[{"type": "A", "status": "True"}]))
    patch = {"spec": {"nodeName": "m"}, "status": {"conditions": [{"type": "B"}]}}
    _, answer = caller.ask("PATCH", f"{PODS}/p/status", patch, STRATEGIC)
    assert answer["spec"]["nodeName"] == "n"
    assert [each["type"] for each in answer["status"]["conditions"]] == ["A", "B"]
    _, answer = caller.ask("PUT", f"{PODS}/p/status", {**pod(phase="Running"), "spec": {}})
    assert (answer["status"], answer["spec"]["nodeName"]) == ({"phase": "Running"}, "n")
    uid = answer["metadata"]["uid"]
    _, answer = caller.ask("PUT", f"{PODS}/p", pod(phase="Failed"))
    assert (answer["metadata"]["uid"], answer["status"]) == (uid, {"phase": "Running"})


def test_whoever_puts_an_object_says_whether_its_status_stays(caller: Caller) -> None:
    """It does, if none is given."""
    caller.server.put(pod(phase="Running"))
    assert caller.server.put(pod())["status"] == {"phase": "Running"}
    assert caller.server.put(pod(phase="Failed"))["status"] == {"phase": "Failed"}


def test_events_and_reviews_go_nowhere(caller: Caller) -> None:
    """They are taken all the same."""
    events = "/api/v1/namespaces/default/events"
    assert caller.ask("POST", events, {"metadata": {"name": "e"}})[0] == 201
    assert caller.ask("PATCH", f"{events}/e", {"count": 2}, STRATEGIC)[0] == 200
    assert caller.ask("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", {})[0] == 201
    assert caller.server.objects.version == 1


def test_kubelet_ends_a_pod_that_is_deleted(caller: Caller) -> None:
    """The object is marked before, gone after."""
    server = caller.server
    server.put(pod())
    server.remove("v1/pods", "p", "default")
    assert "deletionTimestamp" in (server.get("v1/pods", "p", "default") or {})["metadata"]
    assert caller.ask("DELETE", f"{PODS}/p", {"gracePeriodSeconds": 0})[0] == 200
    assert server.until(lambda: server.get("v1/pods", "p", "default") is None, 10)
    server.remove("v1/pods", "p", "default")


def test_a_collection_is_deleted_by_its_fields(caller: Caller) -> None:
    """As kubelet does with the slices of its node."""
    for name in ("n", "m"):
        kind = {"kind": "ResourceSlice", "apiVersion": "resource.k8s.io/v1"}
        caller.server.put({**kind, "metadata": {"name": name}, "spec": {"nodeName": name}})
    slices = "/apis/resource.k8s.io/v1/resourceslices"
    assert caller.ask("DELETE", f"{slices}?fieldSelector=spec.nodeName%3Dn")[0] == 200
    (left,) = caller.ask("GET", slices)[1]["items"]
    assert left["metadata"]["name"] == "m"


def test_a_watch_begins_with_all_there_is_and_a_bookmark(caller: Caller) -> None:
    """Then come the changes; it ends with the watches of that kubelet."""
    server = caller.server
    server.put(pod())
    query = "watch=true&sendInitialEvents=true&allowWatchBookmarks=true"
    answer = caller.raw("GET", f"/api/v1/pods?{query}")
    assert _next(answer)[0] == "ADDED"
    kind, mark = _next(answer)
    assert (kind, mark["kind"]) == ("BOOKMARK", "Pod")
    assert mark["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    server.put(pod("q"))
    kind, added = _next(answer)
    assert (kind, added["metadata"]["name"]) == ("ADDED", "q")
    server.remove("v1/pods", "q", "default", grace_s=0)
    assert _next(answer)[0] == "DELETED"
    server.objects.end_watches()
    assert answer.read() == b""
    assert server.watches["v1/pods"] == 1


def test_a_watch_goes_on_from_a_version(caller: Caller) -> None:
    """What was before it does not come again."""
    version = caller.server.put(pod())["metadata"]["resourceVersion"]
    caller.server.put(pod("q"))
    answer = caller.raw("GET", f"/api/v1/pods?watch=true&resourceVersion={version}")
    assert _next(answer)[1]["metadata"]["name"] == "q"
    caller.server.objects.end_watches()
    assert answer.read() == b""


@pytest.mark.parametrize(
    ("method", "path", "body", "kind"),
    [
        ("POST", PODS, b"{", ""),
        ("POST", PODS, b"[]", ""),
        ("POST", PODS, b"", ""),
        ("POST", PODS, b"\xff\xfe", ""),
        ("POST", PODS, b"[" * 200_000, ""),
        ("POST", PODS, b'{"metadata": {"name": 5}}', ""),
        ("POST", PODS, b'{"metadata": {"name": "q"}, "spec": 5}', ""),
        ("PUT", f"{PODS}/p", b"nonsense", ""),
        ("PUT", f"{PODS}/p", b'{"metadata": []}x', ""),
        ("PATCH", f"{PODS}/p", b"{", STRATEGIC),
        ("PATCH", f"{PODS}/p", b'{"metadata": null}', STRATEGIC),
        ("PATCH", f"{PODS}/p/status", b'{"status": {"conditions": [1]}}', STRATEGIC),
        ("PATCH", f"{PODS}/p", b'"text"', "application/merge-patch+json"),
        ("DELETE", f"{PODS}/p", b"{,}", ""),
        ("DELETE", f"{PODS}/p", b'{"gracePeriodSeconds": "soon"}', ""),
        ("DELETE", f"{PODS}/p", b'{"preconditions": 5}', ""),
        ("GET", "/api/v1/pods?fieldSelector=spec.nodeName", b"", ""),
        ("GET", "/api/v1/pods?watch=true&resourceVersion=x", b"", ""),
        ("GET", "/api/v1/pods?watch=true&timeoutSeconds=" + "9" * 5000, b"", ""),
    ],
    ids=[
        "cut",
        "list",
        "empty",
        "no text",
        "deep",
        "name",
        "spec",
        "put",
        "put twice",
        "patch",
        "no metadata",
        "conditions",
        "patch of text",
        "delete",
        "grace",
        "preconditions",
        "fields",
        "version",
        "timeout",
    ],
)
def test_what_cannot_be_understood_is_a_bad_request(
    caller: Caller, method: str, path: str, body: bytes, kind: str, capfd: Any
) -> None:
    """It changes nothing, the connection goes on, and no traceback is printed."""
    caller.server.put(pod())
    answer = caller.sent(method, path, body, kind)
    failure = json.loads(answer.read())
    assert (answer.status, failure["kind"], failure["reason"]) == (400, "Status", "BadRequest")
    assert failure["message"]
    assert caller.server.objects.version == 2
    assert caller.ask("GET", f"{PODS}/p")[0] == 200
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    ("length", "status"),
    [
        ("x", 400),
        ("-1", 400),
        ("99999999999", 413),
        ("9" * 5000, 413),
        (str(LARGEST_BODY + 1), 413),
    ],
)
def test_a_length_that_makes_no_sense_is_refused(caller: Caller, length: str, status: int) -> None:
    """At once, and the connection ends: nobody knows where the next request would begin."""
    with caller.connected() as peer:
        peer.sendall(f"POST {PODS} HTTP/1.1\r\nContent-Length: {length}\r\n\r\n{{".encode())
        head, _, body = b"".join(iter(lambda: peer.recv(65536), b"")).partition(b"\r\n\r\n")
    assert head.split()[1] == str(status).encode()
    assert b"Connection: close" in head
    assert json.loads(body)["status"] == "Failure"
    assert caller.server.objects.version == 1


def test_a_body_that_is_too_large_is_refused_with_an_answer(caller: Caller) -> None:
    """Though the caller is still sending."""
    answer = caller.sent("POST", PODS, b" " * (LARGEST_BODY + 1), "")
    assert (answer.status, json.loads(answer.read())["reason"]) == (413, "RequestEntityTooLarge")


def _cut_off(crowd: list[socket.socket], number: int) -> set[socket.socket]:
    """As many connections as the server ends. Which of the oldest is the oldest depends on the
    moment in which the thread of each got to wait again."""
    ended = set[socket.socket]()
    with selectors.DefaultSelector() as selector:
        for peer in crowd:
            selector.register(peer, selectors.EVENT_READ)
        while len(ended) < number:
            ready = selector.select(10)
            assert ready, f"{len(ended)} connections were ended, not {number}"
            for key, _ in ready:
                peer = cast(socket.socket, key.fileobj)
                assert peer.recv(1) == b""
                selector.unregister(peer)
                ended.add(peer)
    return ended


def test_a_crowd_of_idle_connections_shuts_nobody_out(caller: Caller) -> None:
    """Those that are kept open for later as well as those that never asked anything; a watch is
    not idle."""
    watch = caller.raw("GET", "/api/v1/pods?watch=true")
    with contextlib.ExitStack() as stack:
        crowd = [stack.enter_context(caller.connected()) for _ in range(MOST_WAITING)]
        for peer in crowd:
            peer.sendall(b"GET /api/v1/pods HTTP/1.1\r\n\r\n")
            assert peer.recv(65536).startswith(b"HTTP/1.1 200")
        crowd += [stack.enter_context(caller.connected()) for _ in range(10)]
        assert crowd[-1] not in _cut_off(crowd, 10)
        crowd[-1].sendall(b"GET /api/v1/pods HTTP/1.1\r\n\r\n")
        assert crowd[-1].recv(65536).startswith(b"HTTP/1.1 200")
    caller.server.put(pod())
    assert _next(watch)[0] == "ADDED"


def test_what_is_no_request_is_a_failure_in_json(caller: Caller) -> None:
    """As all others are."""
    with caller.connected() as peer:
        peer.sendall(b"BREW /api/v1/pods HTTP/1.1\r\n\r\n")
        head, _, body = b"".join(iter(lambda: peer.recv(65536), b"")).partition(b"\r\n\r\n")
    assert b" 501 " in head.splitlines()[0]
    assert "BREW" in json.loads(body)["message"]


def test_a_bug_of_ours_is_an_answer_and_a_traceback(
    caller: Caller, monkeypatch: pytest.MonkeyPatch, capfd: Any
) -> None:
    """Kubelet goes on, and somebody sees it."""
    monkeypatch.setattr(caller.server.objects, "find", lambda *_: 1 / 0)
    status, answer = caller.ask("GET", PODS)
    assert (status, answer["reason"]) == (500, "InternalError")
    assert "ZeroDivisionError" in capfd.readouterr().err


def _next(answer: HTTPResponse) -> tuple[str, dict[str, Any]]:
    event = json.loads(answer.readline())
    return event["type"], event["object"]
