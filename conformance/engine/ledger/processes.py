"""Processes of a run, known by a mark in their environment: whatever they did with their parents,
groups and sessions, and whoever of them has ended.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Event

__all__ = ["MARK", "PROCESS", "PROCESSES", "end", "end_one", "marked", "named"]

PROCESSES = "processes of run"
"""The kind of a ledger's entry; its name is the id of the run."""
PROCESS = "process"
"""The kind of an entry for a process whose environment is not ours to mark; see `named`."""
MARK = "REFIMPL_RUN"
"""The variable that all processes have which a run starts; its value is the id of the run."""
_ZOMBIE = "Z"


def marked(run_id: str, variable: str = MARK) -> list[int]:
    """The processes of a run that are alive and may be looked at; this one and its parents are
    none of them."""
    mark, own = f"{variable}={run_id}".encode(), set(_ancestors())
    pids = (int(name) for name in os.listdir("/proc") if name.isdigit())
    return [pid for pid in pids if pid not in own and mark in _environment(pid) and _alive(pid)]


def end(run_id: str, limit_s: float = 5.0) -> bool:
    """SIGTERM to all processes of a run, SIGKILL to those that are there after the limit; whether
    there were any. Raises OSError for one that stays."""
    there = marked(run_id)
    for number in (signal.SIGTERM, signal.SIGKILL):
        deadline = time.monotonic() + limit_s
        while (left := marked(run_id)) and time.monotonic() < deadline:
            _send(left, number)
            Event().wait(0.02)
        if not left:
            return bool(there)
    raise OSError(f"process {', '.join(map(str, left))} does not end")


def named(pid: int) -> str:
    """The name of a process in a ledger, which no later one of the same number has: the number, and
    the tick of the kernel at which it began."""
    return f"{pid} of tick {_began(pid)}"


def end_one(name: str) -> bool:
    """SIGKILL to the process with that name, and to its group; whether it was there. Raises
    OSError."""
    pid = int(name.partition(" ")[0])
    if not _alive(pid) or named(pid) != name:
        return False
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
    return True


def _began(pid: int) -> str:
    return next(iter(_stat(pid)[19:20]), "?")  # starttime, proc(5)


def _send(pids: list[int], number: signal.Signals) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
            os.kill(pid, signal.SIGCONT)  # one that is stopped hears nothing


def _environment(pid: int) -> list[bytes]:
    with contextlib.suppress(OSError):  # it has ended, or is somebody else's
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    return []


def _alive(pid: int) -> bool:
    return _stat(pid)[:1] not in ([], [_ZOMBIE])


def _stat(pid: int) -> list[str]:
    """State, parent and more (proc(5)); empty for a process that there is not."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return []


def _ancestors() -> Iterator[int]:
    pid = os.getpid()
    while pid > 0 and (fields := _stat(pid)):
        yield pid
        pid = int(fields[1])
