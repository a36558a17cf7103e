"""A real kubelet without an API server on our virtual runtime: what people run static pods for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from refimpl.cri.fake import FakeRuntime
from refimpl.node.pods import ELSEWHERE, IMAGE
from tests.live.rigs.namespaces import why_not
from tests.live.rigs.static_kubelet import StaticKubelet, manifest

pytestmark = pytest.mark.timeout(300)

PODS = 100


@pytest.fixture(scope="module")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FakeRuntime]:
    """Whose pods can be reached."""
    socket = tmp_path_factory.mktemp("cri") / "cri.sock"
    options = {"network": "loopback"}
    with FakeRuntime(socket, images=[IMAGE], model_options=options, settings=ELSEWHERE) as runtime:
        yield runtime


@pytest.fixture(scope="module")
def node(kubernetes: Path, runtime: FakeRuntime) -> Iterator[StaticKubelet]:
    """One for all tests."""
    if reason := why_not():
        pytest.skip(reason)
    assert runtime.endpoint
    with StaticKubelet(kubernetes, runtime.endpoint) as node:
        yield node


def gone(node: StaticKubelet, name: str) -> None:
    """Waits for the end of a pod."""
    node.take(name)
    node.until(lambda: name not in node.pods(), f"{name} is gone")


def test_a_hundred_pods_run_and_go(node: StaticKubelet, runtime: FakeRuntime) -> None:
    """And nothing of them is left in the runtime; a restart of kubelet starts nothing again."""
    names = [f"many-{number}" for number in range(PODS)]
    node.put(*map(manifest, names))
    node.until(lambda: node.ready() == PODS, "all pods are ready", 120)
    before = {each.id for each in runtime.state.containers.select()}
    assert len(before) == PODS
    node.restart()
    node.until(lambda: node.ready() == PODS, "all pods are ready again", 60)
    assert {each.id for each in runtime.state.containers.select()} == before
    for name in names:
        node.take(name)
    node.until(lambda: not node.pods(), "all pods are gone", 120)
    node.until(lambda: not runtime.state.sandboxes.select(), "no sandbox is left", 120)


def test_a_probe_of_its_web_server_makes_a_pod_ready(node: StaticKubelet) -> None:
    """Over HTTP to the address of the pod, and by a command in it."""
    readiness = {"httpGet": {"path": "/", "port": 8088}, "periodSeconds": 1}
    liveness = {"exec": {"command": ["true"]}, "periodSeconds": 1}
    probes = {"readinessProbe": readiness, "livenessProbe": liveness}
    command = ["httpd", "-f", "-p", "8088"]
    node.put(manifest("web", {"hostNetwork": False}, command=command, **probes))
    node.until(lambda: node.container("web").get("ready"), "web is ready")
    assert node.pods()["web"]["podIP"].startswith("127.88.")
    gone(node, "web")


def test_a_probe_that_fails_restarts_its_container(node: StaticKubelet) -> None:
    """By the exit code of its command."""
    probe = {"exec": {"command": ["false"]}, "periodSeconds": 1, "failureThreshold": 1}
    node.put(manifest("sick", livenessProbe=probe))
    node.until(lambda: node.container("sick").get("restartCount", 0) >= 1, "sick was restarted")
    gone(node, "sick")


def test_a_container_that_ends_is_held_back(node: StaticKubelet) -> None:
    """Its exit code is told, and kubelet waits longer from time to time."""
    node.put(manifest("crash", command=["sh", "-c", "echo dying; exit 7"]))

    def held_back() -> bool:
        return "waiting" in node.container("crash").get("state", {}) and bool(
            node.container("crash").get("restartCount")
        )

    node.until(held_back, "crash is held back", 60)
    status = node.container("crash")
    assert status["state"]["waiting"]["reason"] == "CrashLoopBackOff"
    assert status["lastState"]["terminated"]["exitCode"] == 7
    assert node.logs("crash") == "dying\n"
    gone(node, "crash")


def test_commands_and_logs_go_through_the_port_of_kubelet(node: StaticKubelet) -> None:
    """Of a container that runs."""
    node.put(manifest("talk", command=["sh", "-c", "echo hello; sleep 600"]))
    node.until(lambda: node.container("talk").get("ready"), "talk is ready")
    assert node.run_in("talk", "echo", "inside") == "inside\n"
    assert node.execute("talk", "sh", "-c", "exit 3") == (b"", 3)
    assert node.execute("talk", "cat", typed=b"typed") == (b"typed", 0)
    node.until(lambda: node.logs("talk") == "hello\n", "its log is there")
    gone(node, "talk")


def test_a_pod_that_has_done_its_work_has_succeeded(node: StaticKubelet) -> None:
    """Where it is not to be started again."""
    node.put(manifest("job", {"restartPolicy": "Never"}, command=["true"]))
    node.until(lambda: node.pods().get("job", {}).get("phase") == "Succeeded", "job has succeeded")
    gone(node, "job")
