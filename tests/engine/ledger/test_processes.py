"""Processes of a run are found by their mark, wherever they went."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from conformance.engine.ledger import processes
from conformance.engine.runid import new_run_id

# A grandchild in a session of its own, whose parent and leader have ended; it heeds no SIGTERM.
HIDES = """
import os, signal, sys
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.fork() or os.setsid() or os.fork():
    os._exit(0)
print(os.getpid(), flush=True)
signal.pause()
"""
STAYS = "import signal; print('there', flush=True); signal.pause()"


@contextmanager
def started(script: str, run_id: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A process with the mark of a run, and the line that it printed."""
    env = {**os.environ, processes.MARK: run_id}
    words = [sys.executable, "-S", "-c", script]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=env) as process:
        try:
            assert process.stdout is not None
            yield process, process.stdout.readline().strip()
        finally:
            process.kill()


def test_a_process_that_hides_and_heeds_nothing_ends() -> None:
    """Its parent, and the leader of its session, are gone."""
    run_id = new_run_id()
    with started(HIDES, run_id) as (_, pid):
        assert processes.marked(run_id) == [int(pid)]
        assert processes.end(run_id, 0.2)
        assert processes.marked(run_id) == []


def test_a_stopped_process_ends_by_sigterm() -> None:
    """It is woken for that."""
    run_id = new_run_id()
    with started(STAYS, run_id) as (process, _):
        process.send_signal(signal.SIGSTOP)
        assert processes.end(run_id)
        assert process.wait() == -signal.SIGTERM


def test_other_runs_are_left_alone() -> None:
    """Also one whose id begins the same."""
    run_id = new_run_id()
    with started(STAYS, f"{run_id}0") as (process, _):
        assert not processes.end(run_id)
        assert process.poll() is None


def test_a_named_process_ends_with_its_group_and_no_other_of_its_number() -> None:
    """A number is given again; the tick of its beginning is not."""
    words = ["sh", "-c", "sleep 100 & echo there; wait"]
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        name = processes.named(process.pid)
        assert not processes.end_one(f"{process.pid} of tick 1")
        assert process.poll() is None
        assert processes.end_one(name)
        assert process.wait() == -signal.SIGKILL
        assert not process.stdout.read()  # nor does its child hold the pipe any more
        assert not processes.end_one(name)


def test_who_sweeps_is_not_swept() -> None:
    """A hook of the run, or the shell that it was started from, may be the one that asks."""
    run_id = new_run_id()
    script = (
        "from conformance.engine.ledger import processes; import sys;"
        "print(processes.marked(sys.argv[1]))"
    )
    words = [sys.executable, "-c", script, run_id]
    env = {**os.environ, processes.MARK: run_id}
    done = subprocess.run(words, env=env, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
