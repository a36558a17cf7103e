"""crictl against our runtime of real processes: what a person at a terminal sees of them."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import struct
import subprocess
import termios
from collections.abc import Callable
from pathlib import Path

import pytest

from conformance.engine.targets.supervise import Supervised
from conformance.engine.verdict import eventually
from tests.live.test_crictl import CONTAINER, IMAGE, POD, SERVE, crictl_at, ids

TRAP = "trap 'echo bye; exit 3' TERM; echo $WHO; while :; do sleep 60 & wait $!; done"
WHO = {"key": "WHO", "value": "me"}
LOOK = b"until [ \"$(stty size)\" != '0 0' ]; do :; done; stty size; tty; exit 5\n"


@pytest.fixture
def runtime(started: Callable[..., Supervised]) -> str:
    """The endpoint of our runtime."""
    return str(started(*SERVE, "--model", "subprocess").endpoint)


def test_logs_signals_exit_codes_and_terminals_are_real(
    crictl: Path, runtime: str, tmp_path: Path
) -> None:
    """With `exec -it` in a terminal of our own."""
    run = crictl_at(crictl, runtime, tmp_path)
    pod = POD | {"log_directory": str(tmp_path / "logs")}
    container = CONTAINER | {"command": ["sh", "-c", TRAP], "envs": [WHO]}
    for name, content in (("pod.json", pod), ("container.json", container)):
        (tmp_path / name).write_text(json.dumps(content))
    run("pull", IMAGE)
    id = run("run", "container.json", "pod.json").strip()
    eventually(lambda: run("logs", id) == "me\n", 20, "its log has what it wrote")
    assert "7" in run("exec", id, "sh", "-c", "exit 7", status=1)
    command = [str(crictl), "--runtime-endpoint", runtime, "exec", "-it", id, "sh"]
    status, shown = typed(command, LOOK)
    assert "33 99\r\n/dev/pts/" in shown
    assert (status, "exit code 5" in shown) == (1, True)
    run("stop", "--timeout", "20", id)
    assert json.loads(run("inspect", id))["status"]["exitCode"] == 3
    assert run("logs", id) == "me\nbye\n"
    run("rmp", "-f", *ids(run("pods", "-q")))


def typed(command: list[str], text: bytes) -> tuple[int, str]:
    """What comes of a command in a terminal of 33 lines and 99 columns into which somebody types:
    its exit status, and what is shown."""
    master, slave = os.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 99, 0, 0))
    with subprocess.Popen(
        command, stdin=slave, stdout=slave, stderr=slave, start_new_session=True
    ) as process:
        os.close(slave)
        os.write(master, text)
        shown = b""
        with contextlib.suppress(OSError):  # EIO: nobody has it open any more
            while piece := os.read(master, 4096):
                shown += piece
    os.close(master)
    return process.returncode, shown.decode()
