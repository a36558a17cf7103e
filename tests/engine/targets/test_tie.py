"""What is tied to us dies with us."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from conformance.engine.ledger.processes import MARK
from conformance.engine.targets.tie import tie
from conformance.engine.verdict import eventually

SCRIPT = """
import os, signal, subprocess, sys
from conformance.engine.targets.tie import tie

child = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"], preexec_fn=tie())
print(child.pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture(autouse=True)
def _in_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(MARK, "a run of its own")


def test_a_tied_process_dies_with_the_one_that_started_it() -> None:
    """By SIGKILL, of which nobody can tell it."""
    words = [sys.executable, "-c", SCRIPT]
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=False)
    stat = Path(f"/proc/{done.stdout.strip()}/stat")
    assert done.stdout.strip()
    eventually(lambda: not stat.exists() or ") Z " in stat.read_text(), 5, "dies")


def test_a_thread_that_ends_takes_nothing_with_it() -> None:
    """The kernel would look at the thread, not at the process."""
    ties = []
    thread = threading.Thread(target=lambda: ties.append(tie()))
    thread.start()
    thread.join()
    assert ties == [None]


def test_outside_of_a_run_nothing_is_tied(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody there keeps gRPC from complaining of the fork."""
    monkeypatch.delenv(MARK)
    assert tie() is None
