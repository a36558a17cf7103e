"""Plugins as processes: whatever they do, the call ends and nothing of them stays."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from refimpl.cni.execute import Conditions, Processes, Request
from refimpl.cni.execute.processes import KEPT

Script = Callable[[str], Path]
ASKED = Request("ADD", {"CNI_COMMAND": "ADD"}, b'{"name":"n"}')


def _children() -> set[int]:
    return {child.pid for child in psutil.Process().children(recursive=True)}


def test_streams_and_exit_code_arrive_apart(script: Script) -> None:
    """A verdict needs to know what was said where."""
    outcome = Processes().run(script("cat; echo log >&2; exit 3"), ASKED)
    assert (outcome.status, outcome.stdout, outcome.stderr) == (3, ASKED.stdin, b"log\n")
    assert outcome.ending.name == "exit 3"
    assert not outcome.ok


def test_the_environment_is_the_request_and_nothing_else(script: Script) -> None:
    """A variable that leaks from the harness hides a plugin that depends on it."""
    outcome = Processes().run(script("exec /usr/bin/env"), ASKED)
    names = {line.split(b"=")[0] for line in outcome.stdout.splitlines()}
    # The shell adds the last three itself.
    assert names - {b"PWD", b"SHLVL", b"_"} == {b"CNI_COMMAND"}


def test_a_plugin_that_hangs_is_ended_at_the_deadline_with_its_children(script: Script) -> None:
    """Otherwise one bad plugin stops the run."""
    before = _children()
    outcome = Processes().run(script("sleep 100 & sleep 100"), ASKED, deadline_s=0.2)
    assert outcome.timed_out
    assert outcome.ending.name == "no end"
    assert _children() == before


def test_a_child_that_keeps_stdout_open_is_seen_and_ended(script: Script) -> None:
    """It blocks every runtime that reads to the end of the stream."""
    before = _children()
    outcome = Processes().run(script("sleep 100 & echo '{}'"), ASKED)
    assert outcome.held_open
    assert outcome.ok
    assert len(outcome.left) == 1
    assert "sleep" in outcome.left[0]
    assert _children() == before


def test_a_daemon_in_a_session_of_its_own_is_found(script: Script) -> None:
    """setsid and closed streams hide from process groups and pipes, not from a subreaper."""
    before = _children()
    lines = "setsid sh -c 'sleep 100 </dev/null >/dev/null 2>&1 &'"
    outcome = Processes().run(script(lines), ASKED)
    assert not outcome.held_open
    assert any("sleep" in name for name in outcome.left)
    assert _children() == before


def test_a_flood_is_counted_and_cut(script: Script) -> None:
    """A plugin that prints a GiB must not cost the harness a GiB."""
    outcome = Processes().run(script("exec head -c 100000000 /dev/zero"), ASKED)
    assert outcome.stdout_bytes == 100_000_000
    assert len(outcome.stdout) == KEPT


def test_an_endless_flood_is_ended(script: Script) -> None:
    """Nobody waits for the deadline when the stream alone shows the fault."""
    outcome = Processes().run(script("exec cat /dev/zero"), ASKED, deadline_s=60)
    assert outcome.timed_out
    assert outcome.stdout_bytes < 400 * 1024 * 1024


def test_both_streams_are_read_at_once(script: Script) -> None:
    """A pipe holds 64 KiB; whoever reads one to its end first waits for ever."""
    lines = "head -c 1000000 /dev/zero >&2; head -c 1000000 /dev/zero; cat >/dev/null"
    outcome = Processes().run(script(lines), Request("ADD", {}, b" " * 1_000_000))
    assert (outcome.stdout_bytes, outcome.stderr_bytes, outcome.unread) == (1_000_000,) * 2 + (0,)


def test_a_plugin_that_does_not_read_is_no_error(script: Script) -> None:
    """VERSION needs no document; what was left unread is told."""
    outcome = Processes().run(script("exec <&-; echo '{}'"), Request("VERSION", {}, b" " * 500_000))
    assert outcome.ok
    assert outcome.unread > 0


def test_stdin_in_pieces_arrives_whole(script: Script) -> None:
    """A slow runtime is no reason to decode half a document."""
    outcome = Processes().run(script("cat"), ASKED, conditions=Conditions(chunk=1))
    assert outcome.stdout == ASKED.stdin


def test_a_signal_is_told_as_one(script: Script) -> None:
    """A crash is something else than an exit code."""
    outcome = Processes().run(script("kill -SEGV $$"), ASKED)
    assert outcome.status == -signal.SIGSEGV
    assert outcome.ending.name == "signal 11"


def test_a_kill_on_purpose_is_no_missed_deadline(script: Script) -> None:
    """Cases about crashes ask for it."""
    outcome = Processes().run(script("sleep 100"), ASKED, conditions=Conditions(kill_after_s=0.05))
    assert outcome.status == -signal.SIGKILL
    assert not outcome.timed_out


@pytest.mark.parametrize("stdout", ["broken", "full"])
def test_a_stdout_that_takes_nothing_fails_the_writer(script: Script, stdout: str) -> None:
    """Cases about lost results depend on it."""
    outcome = Processes().run(
        script("echo '{}' || exit 5"),
        ASKED,
        conditions=Conditions(stdout=stdout),  # type: ignore[arg-type]
    )
    assert not outcome.ok
    assert outcome.stdout == b""


def test_a_stream_can_be_missing_and_the_directory_gone(script: Script) -> None:
    """Daemons start plugins from odd places."""
    closed = Conditions(closed=frozenset({2}), gone=True)
    outcome = Processes().run(script("ls /proc/self/fd/2 || echo closed"), ASKED, conditions=closed)
    assert outcome.stdout == b"closed\n"


def test_what_cannot_start_says_so(tmp_path: Path) -> None:
    """The caller decides whether that is the target out of reach."""
    with pytest.raises(FileNotFoundError):
        Processes().run(tmp_path / "none", ASKED)


def test_many_at_once_do_not_end_each_other(script: Script) -> None:
    """Cases with fifty ADDs at a time run them in threads."""
    plugin, outcomes = script("cat"), []

    def run() -> None:
        outcomes.append(Processes().run(plugin, ASKED))

    threads = [threading.Thread(target=run) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [outcome.stdout for outcome in outcomes] == [ASKED.stdin] * 16


def test_no_descriptor_stays_open(script: Script) -> None:
    """Thousands of execs in one process must not run out of them."""
    plugin = script("cat")
    Processes().run(plugin, ASKED)
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        Processes().run(plugin, ASKED, conditions=Conditions(stdout="full"))
    assert len(os.listdir("/proc/self/fd")) == before
