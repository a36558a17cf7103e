"""crictl's exec -it, attach and port-forward against our runtime, as a person types them."""

from __future__ import annotations

import json
import os
import pty
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from conformance.engine.targets.supervise import Supervised
from conformance.engine.verdict import eventually

IMAGE = "example.com/team/app:1"
SERVE = (sys.executable, "-m", "refimpl", "serve", "cri", "{endpoint}")
POD = {"metadata": {"name": "web", "namespace": "default", "uid": "uid-1"}, "linux": {}}
TRANSPORTS = ("spdy", "websocket")

Command = Callable[..., list[str]]


@pytest.fixture
def command(crictl: Path, started: Callable[..., Supervised]) -> Command:
    """The words of a crictl command that talks to our runtime."""
    endpoint = str(started(*SERVE).endpoint)
    return lambda *words: [str(crictl), "-r", endpoint, "-t", "10s", *words]


@pytest.fixture
def container(command: Command, tmp_path: Path) -> Callable[..., tuple[str, str]]:
    """Runs a container; the ids of its pod and of itself."""

    def run(*program: str, **more: bool) -> tuple[str, str]:
        config = {
            "metadata": {"name": "main"},
            "image": {"image": IMAGE},
            "command": program,
            "linux": {},
            **more,
        }
        (tmp_path / "pod.json").write_text(json.dumps(POD))
        (tmp_path / "container.json").write_text(json.dumps(config))
        files = [str(tmp_path / name) for name in ("container.json", "pod.json")]
        _done(command("pull", IMAGE))
        pod = _done(command("runp", files[1])).strip()
        id = _done(command("create", pod, *files)).strip()
        _done(command("start", id))
        return pod, id

    return run


def _done(words: list[str], text: str = "") -> str:
    done = subprocess.run(
        words, input=text, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, f"{' '.join(words)}: {done.stdout}{done.stderr}"
    return done.stdout


class Screen:
    """A terminal of this machine with a program in it."""

    def __init__(self, words: list[str]) -> None:
        self._near, far = pty.openpty()
        self._process = subprocess.Popen(words, stdin=far, stdout=far, stderr=far)
        os.close(far)
        self.text = b""

    def type(self, text: bytes) -> None:
        """As a person does."""
        os.write(self._near, text)

    def until(self, text: bytes) -> None:
        """Reads until this is on the screen."""
        while text not in self.text:
            self.text += os.read(self._near, 1 << 16)

    def close(self) -> int:
        """Its exit code."""
        code = self._process.wait(30)
        os.close(self._near)
        return code


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_person_talks_to_a_shell_in_a_terminal(
    command: Command, container: Callable[..., tuple[str, str]], transport: str
) -> None:
    """CRI-EX-040: exec -it."""
    _, id = container("sleep", "infinity")
    screen = Screen(command("exec", "-i", "-t", "-r", transport, id, "sh"))
    screen.type(b"echo number-$$\n")
    screen.until(b"number-1\r\n")
    screen.type(b"exit\n")
    assert screen.close() == 0


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_what_is_typed_reaches_the_first_process(
    command: Command, container: Callable[..., tuple[str, str]], transport: str
) -> None:
    """CRI-EX-047: attach -i; the container reads until its input ends."""
    _, id = container("cat", stdin=True, stdin_once=True)
    words = command("attach", "-i", "-r", transport, id)
    assert _done(words, "hello\n") == "hello\n"
    status = json.loads(_done(command("inspect", id)))["status"]
    assert status["state"] == "CONTAINER_EXITED"


@pytest.fixture
def free_port() -> int:
    """Where nobody listens yet."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


@pytest.fixture(params=TRANSPORTS)
def forwarded(
    request: pytest.FixtureRequest,
    command: Command,
    container: Callable[..., tuple[str, str]],
    free_port: int,
) -> Iterator[int]:
    """A port of this machine that leads to a web server in a pod."""
    pod, _ = container("httpd", "-f", "-p", "8080")
    words = command("port-forward", "-r", request.param, pod, f"{free_port}:8080")
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        eventually(lambda: _answers(free_port), 20.0, "crictl listens")
        yield free_port
        process.send_signal(signal.SIGINT)


def _answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True


def test_a_web_server_is_reached_through_a_port(forwarded: int) -> None:
    """CRI-EX-053, 062: port-forward, more than one connection after the other."""
    for _ in range(3):
        with urllib.request.urlopen(f"http://127.0.0.1:{forwarded}/", timeout=10) as reply:
            assert reply.status == 200
            assert reply.read() == b"<h1>refimpl</h1>\n"
