"""What the kernel tells of a process under test: descriptors, threads, memory, last words."""

from __future__ import annotations

import os
import re
import socket
import struct
from pathlib import Path

import attrs

from conformance.engine.targets.output import tail

__all__ = ["Measures", "crash", "last_words", "measures_of", "peer_of", "resident", "visible"]

# Where a program says why it dies: Go's panic or signal, Python's traceback, a fatal line of a log.
_DEATH = re.compile(
    r"^(?:panic: |fatal error: |unexpected fault address|SIG[A-Z]+: "
    r"|Traceback \(most recent call last\)|F\d{4} )",
    re.M,
)
# Go: the stack of the goroutine that ran; in it the function that was called last, before the
# runtime made a panic of it and the program perhaps another one.
_RUNNING = re.compile(r"^goroutine \d+ .*\[running.*\]:\n((?:.+\n?)*)", re.M)
_PANIC = re.compile(r"^panic\(", re.M)
_FUNCTION = re.compile(r"^(?!runtime\.|panic\()([^\s(].*)\([^()]*\)$", re.M)
# Python: the call that raised, and after it what was raised; the last of a chain ended the program.
_RAISED = re.compile(r'^  File "([^"]+)", line (\d+), in (.+)\n(?:(?!  File )  .*\n)*(\S.*)', re.M)
_SHOWN = 300
_CREDENTIALS = struct.Struct("3i")  # struct ucred: pid, uid, gid (unix(7))


@attrs.frozen
class Measures:
    """What a process holds: open descriptors, threads, resident memory in bytes (0: not known)."""

    fds: int
    threads: int
    rss: int = 0


def visible() -> bool:
    """Whether processes can be looked at here, by /proc."""
    return os.path.isdir("/proc/self/fd")


def measures_of(pid: int) -> Measures | None:
    """What a process of this machine holds; None for one that may not be looked at."""
    folder = Path(f"/proc/{pid}")
    try:
        fds, threads = (len(os.listdir(folder / name)) for name in ("fd", "task"))
        pages = int((folder / "statm").read_text().split()[1])
    except OSError:
        return None
    return Measures(fds, threads, pages * os.sysconf("SC_PAGE_SIZE"))


def resident(pid: int) -> int:
    """The memory of a process in bytes; 0 where it cannot be seen."""
    measures = measures_of(pid)
    return measures.rss if measures else 0


def peer_of(connection: socket.socket) -> int:
    """The process that listens at a unix socket, as this process numbers it."""
    options = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    return int(_CREDENTIALS.unpack(options)[0])


def last_words(log: Path, lines: int = 3, *, since: int = 0) -> str:
    """What a program wrote last, for a message: from its panic on, else its last lines.

    since: where in the file its present process began to write, in bytes; what those before it
    died of stands above.
    """
    text = tail(log, since).strip()
    shown = _death(text)[:lines] or text.splitlines()[-lines:]
    return "".join(f"\n  | {line[:_SHOWN]}" for line in shown)


def crash(log: Path, *, since: int = 0) -> str:
    """The line in which a program says why it dies; empty for none. since: as above."""
    return next(iter(_death(tail(log, since))), "")


def _death(text: str) -> list[str]:
    """The lines from that one on; of Go and Python one alone, with the function that it was in."""
    death = _DEATH.search(text)
    if not death:
        return []
    told = text[death.start() :]
    lines = told.splitlines()
    if place := _place(told):
        return [f"{lines[0]} in {place}"]
    if raised := _RAISED.findall(told):
        file, line, function, error = raised[-1]
        return [f"{error} in {function} ({file}:{line})"]
    return lines


def _place(stacks: str) -> str:
    """The function that a Go program was in; empty where its stack is not told."""
    running = _RUNNING.search(stacks)
    if not running:
        return ""
    *_, called = _PANIC.split(running[1])
    function = _FUNCTION.search(called)
    return function[1] if function else ""
