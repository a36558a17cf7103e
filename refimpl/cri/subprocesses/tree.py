"""What the kernel tells of the processes of a container (proc_pid_stat(5))."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable, Iterator
from contextlib import suppress

import attrs

from refimpl.cri.state.ports import Usage

__all__ = ["signal_all", "usage_of"]

_NS = 1_000_000_000
_MOST_ROUNDS = 100
_PARENT, _UTIME, _STIME, _CUTIME, _CSTIME, _RSS = 0, 10, 11, 12, 13, 20  # after the state


@attrs.frozen
class _Process:
    """cpu and reaped: its own time, and that of children it has waited for, in clock ticks.
    memory: in pages."""

    pid: int
    parent: int
    cpu: int
    reaped: int
    memory: int


def usage_of(keeper: int) -> Usage:
    """Of all that a keeper keeps, with those that have ended."""
    everyone = {each.pid: each for each in _everyone()}
    kept = [*_below(keeper, everyone.values())]
    ticks = sum(each.cpu + each.reaped for each in kept)
    ticks += everyone[keeper].reaped if keeper in everyone else 0
    return Usage(
        cpu_ns=ticks * _NS // os.sysconf("SC_CLK_TCK"),
        memory=sum(each.memory for each in kept) * os.sysconf("SC_PAGE_SIZE"),
        processes=len(kept),
    )


def signal_all(keeper: int, number: signal.Signals) -> None:
    """To all of them, with those that are started meanwhile."""
    reached: set[int] = set()
    for _ in range(_MOST_ROUNDS):
        left = {each.pid for each in _below(keeper, [*_everyone()])} - reached
        if not left:
            return
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, number)
        reached |= left


def _below(top: int, processes: Iterable[_Process]) -> Iterator[_Process]:
    for each in processes:
        if each.parent == top:
            yield each
            yield from _below(each.pid, processes)


def _everyone() -> Iterator[_Process]:
    for name in os.listdir("/proc"):
        if name.isdecimal():
            with suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:
                yield _parsed(int(name), file.read())


def _parsed(pid: int, stat: bytes) -> _Process:
    """The name, in parentheses, may have any characters in it."""
    _state, *numbers = stat.rpartition(b")")[2].split()
    fields = [int(each) for each in numbers]
    return _Process(
        pid,
        fields[_PARENT],
        fields[_UTIME] + fields[_STIME],
        fields[_CUTIME] + fields[_CSTIME],
        fields[_RSS],
    )
