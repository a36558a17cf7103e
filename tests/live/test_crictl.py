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
    pod = {**POD, "log_directory": f"{tmp_path}/logs"}
    for name, content in (("pod.json", pod), ("container.json", CONTAINER)):
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


def test_a_session_from_pull_to_rmi(run: Crictl, tmp_path: Path, profile: str) -> None:
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
        f"{tmp_path}/logs/main.log",
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


def test_logs_are_followed_until_the_container_ends(run: Crictl, tmp_path: Path) -> None:
    """`crictl logs` reads the file that the runtime says it writes."""
    script = "echo one; sleep 1; echo two; echo three"
    command = {**CONTAINER, "command": ["sh", "-c", script]}
    (tmp_path / "container.json").write_text(json.dumps(command))
    run("pull", IMAGE)
    container = run("run", "container.json", "pod.json").strip()
    assert run("logs", "-f", container) == "one\ntwo\nthree\n"
    assert run("logs", "--tail", "1", container) == "three\n"


def test_events_are_shown_as_they_come(
    crictl: Path, started: Callable[..., Supervised], tmp_path: Path
) -> None:
    """From the first sandbox on."""
    endpoint = str(started(*SERVE).endpoint)
    base = [str(crictl), "--runtime-endpoint", endpoint]
    (tmp_path / "pod.json").write_text(json.dumps(POD))
    shown = tmp_path / "events"
    with shown.open("wb") as output, subprocess.Popen([*base, "events"], stdout=output) as events:
        try:

            def heard() -> bool:
                run = [*base, "runp", "pod.json"]
                pod = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, check=True)
                subprocess.run([*base, "rmp", "-f", pod.stdout.strip()], check=True)
                return "CONTAINER_DELETED_EVENT" in shown.read_text()

            eventually(heard, 20, "crictl shows an event")
        finally:
            events.terminate()
