"""The API server as kubelet's client library meets it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPResponse
from typing import Any
from urllib.parse import urlsplit

import pytest

from refimpl.apiserver.server import ApiServer

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

    def close(self) -> None:
        """Hangs up."""
        self._connection.close()


@pytest.fixture
def caller() -> Iterator[Caller]:
    """With a server of its own."""
    server = ApiServer()
    made = Caller(server)
    yield made
    made.close()
    server.close()


def pod(name: str = "p", **status: Any) -> dict[str, Any]:
    """On the node n."""
    about = {"name": name, "namespace": "default"}
    spec = {"nodeName": "n", "terminationGracePeriodSeconds": 1}
    made = {"kind": "Pod", "apiVersion": "v1", "metadata": about, "spec": spec}
    return made | ({"status": status} if status else {})


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
    status, told = caller.ask("GET", f"{PODS}/p")
    assert (status, told["kind"], told["reason"]) == (404, "Status", "NotFound")
    caller.server.put(pod())
    status, told = caller.ask("POST", PODS, pod())
    assert (status, told["reason"]) == (409, "AlreadyExists")
    status, told = caller.ask("DELETE", f"{PODS}/p", {"preconditions": {"uid": "other"}})
    assert (status, told["reason"]) == (409, "Conflict")
    status, told = caller.ask("PATCH", f"{PODS}/p", {}, "application/apply-patch+yaml")
    assert (status, told["reason"]) == (415, "UnsupportedMediaType")
    assert caller.ask("GET", "/metrics")[0] == 404


def test_a_status_is_patched_and_replaced_for_itself(caller: Caller) -> None:
    """The rest of the object does not follow."""
    caller.server.put(pod(phase="Pending", conditions=[{"type": "A", "status": "True"}]))
    patch = {"spec": {"nodeName": "m"}, "status": {"conditions": [{"type": "B"}]}}
    _, told = caller.ask("PATCH", f"{PODS}/p/status", patch, STRATEGIC)
    assert told["spec"]["nodeName"] == "n"
    assert [each["type"] for each in told["status"]["conditions"]] == ["A", "B"]
    _, told = caller.ask("PUT", f"{PODS}/p/status", {**pod(phase="Running"), "spec": {}})
    assert (told["status"], told["spec"]["nodeName"]) == ({"phase": "Running"}, "n")
    uid = told["metadata"]["uid"]
    _, told = caller.ask("PUT", f"{PODS}/p", pod(phase="Failed"))
    assert (told["metadata"]["uid"], told["status"]) == (uid, {"phase": "Running"})


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
        about = {"kind": "ResourceSlice", "apiVersion": "resource.k8s.io/v1"}
        caller.server.put({**about, "metadata": {"name": name}, "spec": {"nodeName": name}})
    slices = "/apis/resource.k8s.io/v1/resourceslices"
    assert caller.ask("DELETE", f"{slices}?fieldSelector=spec.nodeName%3Dn")[0] == 200
    (left,) = caller.ask("GET", slices)[1]["items"]
    assert left["metadata"]["name"] == "m"


def test_a_watch_begins_with_all_there_is_and_a_bookmark(caller: Caller) -> None:
    """Then come the changes; it ends with the watches of that kubelet."""
    server = caller.server
    server.put(pod())
    asked = "watch=true&sendInitialEvents=true&allowWatchBookmarks=true"
    answer = caller.raw("GET", f"/api/v1/pods?{asked}")
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
    """What was before it is not told again."""
    version = caller.server.put(pod())["metadata"]["resourceVersion"]
    caller.server.put(pod("q"))
    answer = caller.raw("GET", f"/api/v1/pods?watch=true&resourceVersion={version}")
    assert _next(answer)[1]["metadata"]["name"] == "q"
    caller.server.objects.end_watches()
    assert answer.read() == b""


def _next(answer: HTTPResponse) -> tuple[str, dict[str, Any]]:
    event = json.loads(answer.readline())
    return event["type"], event["object"]
