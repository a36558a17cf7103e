"""crictl, which everybody has, against our runtime: a session as a person types it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from conformance.engine.targets.supervise import Supervised
from conformance.engine.verdict import eventually

Crictl = Callable[..., str]

IMAGE = "example.com/team/app:1"
POD = {
    "metadata": {"name": "web", "namespace": "default", "uid": "uid-1", "attempt": 0},
    "labels": {"app": "web"},
    "log_directory": "/tmp/refimpl-logs",
    "linux": {},
}
CONTAINER = {
    "metadata": {"name": "main", "attempt": 0},
    "image": {"image": IMAGE},
    "command": ["sh", "-c", "trap 'exit 3' TERM; while :; do sleep 1; done"],
    "log_path": "main.log",
    "linux": {},
}
SERVE = (sys.executable, "-m", "refimpl", "serve", "cri", "{endpoint}")


@pytest.fixture(params=["strict", "containerd", "crio"])
def profile(request: pytest.FixtureRequest) -> str:
    """Each that has all that crictl asks for."""
    name: str = request.param
    return name


@pytest.fixture
def runtime(profile: str, started: Callable[..., Supervised]) -> str:
    """The endpoint of our runtime."""
    return str(started(*SERVE, "--profile", profile, "--handler", "kata").endpoint)


@pytest.fixture
def run(crictl: Path, runtime: str, tmp_path: Path) -> Crictl:
    """As `crictl_at`."""
    return crictl_at(crictl, runtime, tmp_path)


def crictl_at(crictl: Path, runtime: str, tmp_path: Path) -> Crictl:
    """Runs crictl, returns what it prints; the test fails where it does not end with `status`."""
    for name, content in (("pod.json", POD), ("container.json", CONTAINER)):
        (tmp_path / name).write_text(json.dumps(content))

    def run(*words: str, status: int = 0) -> str:
        command = [str(crictl), "--runtime-endpoint", runtime, "--timeout", "10s", *words]
        done = subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == status, f"{' '.join(words)}: {done.stdout}{done.stderr}"
        return done.stdout if status == 0 else done.stderr

    return run


def ids(text: str) -> list[str]:
    """Of what `-q` prints."""
    return text.split()


def test_a_session_from_pull_to_rmi(run: Crictl, profile: str) -> None:
    """With exec in both ways, over both transports, and what is inspected and listed on the way."""
    assert "RuntimeApiVersion:  v1" in run("version")
    conditions = json.loads(run("info"))["status"]["conditions"]
    assert {each["type"] for each in conditions if each["status"]} == {
        "RuntimeReady",
        "NetworkReady",
    }
    run("pull", IMAGE)
    (image,) = json.loads(run("images", "-o", "json"))["images"]
    assert image["repoTags"] == [IMAGE]
    assert json.loads(run("inspecti", IMAGE))["status"]["id"] == image["id"]
    pod = run("runp", "--runtime", "kata", "pod.json").strip()
    assert "web" in run("pods", "--label", "app=web")
    assert ids(run("pods", "-q", "--state", "Ready", "--no-trunc")) == [pod]
    container = run("create", pod[:13], "container.json", "pod.json").strip()
    assert ids(run("ps", "-q", "--no-trunc")) == []
    run("start", container[:13])
    assert "Running" in run("ps")
    status = json.loads(run("inspect", container))["status"]
    assert (status["state"], status["logPath"]) == (
        "CONTAINER_RUNNING",
        "/tmp/refimpl-logs/main.log",
    )
    assert container[:13] in run("stats", "--seconds", "0")
    assert run("exec", "-s", container, "echo", "sync").strip() == "sync"
    hello = (container, "echo", "hello")
    assert run("exec", "-r", "spdy", *hello) == "hello\n"
    if profile == "strict":
        assert run("exec", "-r", "websocket", *hello) == "hello\n"
    else:  # Both serve with k8s.io/cri-streaming, which ends at v4, and crictl begins at v5.
        assert "403 Forbidden" in run("exec", "-r", "websocket", *hello, status=1)
    run("stop", "--timeout", "5", container)
    eventually(lambda: "Exited" in run("ps", "-a"), 10, "the container has exited")
    assert json.loads(run("inspect", container))["status"]["exitCode"] == 3
    run("rm", container)
    run("stopp", pod)
    assert json.loads(run("inspectp", pod))["status"]["state"] == "SANDBOX_NOTREADY"
    run("rmp", pod)
    run("rmi", IMAGE)
    assert json.loads(run("images", "-o", "json"))["images"] == []
    assert (ids(run("pods", "-q")), ids(run("ps", "-a", "-q"))) == ([], [])


def test_a_pod_goes_by_force_with_what_runs_in_it(run: Crictl) -> None:
    """`crictl run` makes pod and container at once; `rmp -f` stops and removes both."""
    run("pull", IMAGE)
    container = run("run", "container.json", "pod.json").strip()
    assert container in run("ps", "-q", "--no-trunc")
    (pod,) = ids(run("pods", "-q", "--no-trunc"))
    run("rmp", "-f", pod)
    assert ids(run("ps", "-a", "-q")) == []
