"""Which program a command is."""

from __future__ import annotations

import pytest

from refimpl.cri.virtual.programs import FOREVER, Program, program_of, within

SH = ["sh", "-c"]


@pytest.mark.parametrize(
    ("command", "after", "code"),
    [
        (["true"], 0, 0),
        (["/bin/false"], 0, 1),
        (["sleep", "2.5"], 2.5, 0),
        (["sleep", "infinity"], None, 0),
        ([*SH, "exit 7"], 0, 7),
        ([*SH, "sleep 2; exit 3"], 2, 3),
        ([*SH, "echo a && sleep 1 && false"], 1, 1),
        ([*SH, "kill -9 $$"], 0, 137),
        ([*SH, "kill -TERM $$"], 0, 143),
        ([*SH, "while :; do sleep 1; done"], None, 0),
        (["nginx"], None, 0),
        ([], None, 0),
    ],
)
def test_how_long_it_runs_and_how_it_ends(
    command: list[str], after: float | None, code: int
) -> None:
    """As the real ones do."""
    program = program_of(["image"], command)
    assert (program.exit_after_s, program.exit_code) == (after, code)


def test_what_it_writes() -> None:
    """In order."""
    assert program_of(["i"], ("echo", "-n", "a", "b")).writes == (("stdout", b"a b"),)
    shell = program_of(["i"], [*SH, "echo one; echo two"])
    assert b"".join(written for _, written in shell.writes) == b"one\ntwo\n"


def test_signals_are_ignored_trapped_or_the_end() -> None:
    """A first process without a handler does not see SIGTERM (Linux, pid_namespaces(7))."""
    assert program_of(["i"], ["sleep", "60"]).ignores == {15}
    assert program_of(["i"], [*SH, "trap '' TERM; sleep 60"]).ignores == {15}
    trapped = program_of(["i"], [*SH, "trap 'exit 3' USR1 TERM; while :; do sleep 1; done"])
    assert trapped.traps == {10: 3, 15: 3}
    assert FOREVER.ignores == set()


def test_what_needs_too_much_memory_is_killed() -> None:
    """As the kernel does it; without a limit it goes on."""
    greedy = program_of(["i"], [*SH, "echo a; dd if=/dev/zero of=/dev/null bs=20M"])
    assert (greedy.memory, greedy.exit_after_s) == (20 << 20, None)
    assert within(greedy, 0) == within(greedy, 32 << 20) == greedy
    killed = within(greedy, 15 << 20)
    assert (killed.exit_after_s, killed.exit_code, killed.reason) == (0, 137, "OOMKilled")


def test_what_is_missing_fails() -> None:
    """Below a path that no machine has."""
    assert "/nonexistent/x" in program_of(["i"], ["/nonexistent/x"]).fails
    assert not program_of(["i"], ["/nonexistently"]).fails


def test_scripts_come_first() -> None:
    """By image or by command line."""
    mine = Program(exit_after_s=1)
    assert program_of(["sha256:1", "example.com/a:1"], ["true"], {"example.com/*": mine}) is mine
    assert program_of(["i"], ["sleep", "5"], {"sleep *": mine}) is mine
