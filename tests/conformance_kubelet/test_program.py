"""The process of a kubelet: what becomes of it, and what it says."""

from __future__ import annotations

import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

from conformance.engine.options import BadOption
from conformance.engine.verdict import eventually
from conformance.kubelet.program import KubeletProgram, http_answers, http_get, version_of
from refimpl.wire.client import Unreachable

REFUSES = """echo 'E1 1 run.go:72] "command failed" err="failed to validate: policy"'; exit 1"""
CRASHES = """
printf 'panic: nil pointer in a policy\\n\\ngoroutine 1 [running]:\\nmain.main()\\n'
exit 2
"""


@contextmanager
def started(folder: Path, script: str) -> Iterator[KubeletProgram]:
    """A shell script as the program."""
    program = KubeletProgram("kubelet", folder)
    program.start(["sh", "-c", script])
    try:
        yield program
    finally:
        program.end(kill=True)


@pytest.mark.parametrize(
    ("script", "fate", "refusal"),
    [
        (REFUSES, "exit status 1: failed to validate: policy", "failed to validate: policy"),
        (CRASHES, "exit status 2: panic: nil pointer in a policy in main.main", ""),
        ("kill -KILL $$", f"ended by {signal.SIGKILL.name}", ""),
    ],
    ids=["refusal", "crash", "signal"],
)
def test_it_tells_what_became_of_it(tmp_path: Path, script: str, fate: str, refusal: str) -> None:
    """Whoever waits for something hears so at once; an end that we asked for is none."""
    with started(tmp_path, script) as program:
        with pytest.raises(Unreachable, match="kubelet: e"):
            program.until(lambda: False, "is not ready", 60.0)
        assert program.fate() == fate
        assert program.refusal() == refusal
        program.end()
        assert program.fate() == program.refusal() == ""


def test_one_that_takes_too_long_is_told_with_its_last_error(tmp_path: Path) -> None:
    """Though it may be of something else."""
    script = """echo 'E1 1 a.go:1] "Slow" err="no disk"'; exec sleep 60"""
    with started(tmp_path, script) as program:
        eventually(lambda: program.log.stat().st_size, 10, "it has written its log")
        with pytest.raises(Unreachable, match=r"it is not ready within .*: no disk"):
            program.until(lambda: False, "is not ready", 0.05)
        with pytest.raises(RuntimeError, match="runs already"):
            program.start(["true"])


def test_a_version_is_read_with_its_release(tmp_path: Path) -> None:
    """Empty for a program that tells none."""
    for name, line in (("kubelet", "Kubernetes v1.33.4-rc.1"), ("other", "hello")):
        (tmp_path / name).write_text(f"#!/bin/sh\necho '{line}'\n")
        (tmp_path / name).chmod(0o755)
    assert version_of(str(tmp_path / "kubelet")) == ("1.33.4-rc.1", "1.33")
    assert version_of(str(tmp_path / "other")) == ("", "")
    with pytest.raises(BadOption, match="No such file"):
        version_of(str(tmp_path / "nothing"))


class Healthy(BaseHTTPRequestHandler):
    """Says ok."""

    def do_GET(self) -> None:
        """To whatever is asked."""
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *_: object) -> None:
        """Nothing."""


class Refusing(Healthy):
    """Knows nothing of any path."""

    def do_GET(self) -> None:
        """To whatever is asked."""
        self.send_error(404)


@pytest.mark.parametrize("kind", [Healthy, Refusing])
def test_an_error_is_an_answer_too(kind: type[Healthy]) -> None:
    """Whoever says that a path is wrong is alive."""
    with HTTPServer(("127.0.0.1", 0), kind) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        assert http_answers(server.server_port)
        server.shutdown()
        thread.join()
    assert not http_answers(server.server_port)


def test_who_takes_connections_and_says_nothing_does_not_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As a process that is stopped."""
    monkeypatch.setenv("REFIMPL_TIMEOUT_FACTOR", "0.01")
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert not http_answers(server.getsockname()[1])


def test_an_answer_is_its_body_and_none_is_empty() -> None:
    """Past any proxy of the environment."""
    with HTTPServer(("127.0.0.1", 0), Healthy) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        assert http_get(server.server_port, "/healthz") == "ok"
        server.shutdown()
        thread.join()
    assert http_get(server.server_port, "/healthz") == ""
