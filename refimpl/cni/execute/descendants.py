"""The processes a plugin leaves behind, found and ended, whatever they did to hide.

A process whose parent ends is handed to the nearest subreaper: while plugins run, that is us. What
then is a child of ours, in a session other than ours, and was not started by us, a plugin left.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import threading
import time
from collections.abc import Iterator

_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER, linux/prctl.h
_libc = ctypes.CDLL(None, use_errno=True)
# How long a killed process may take to be gone.
_LIMIT_S = 5.0


class Family:
    """Who of our children is whose; one for the process, shared by all threads that run plugins."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running = 0
        self._own: set[int] = set()
        self._before: set[int] = set()

    def begin(self) -> None:
        """From here on orphans come to us."""
        with self._lock:
            if self._running == 0:
                _libc.prctl(_SUBREAPER, 1, 0, 0, 0)
                self._before = set(_children())
            self._running += 1

    def finish(self) -> None:
        """The last plugin that runs hands orphans back to init."""
        with self._lock:
            self._running -= 1
            if self._running == 0:
                _libc.prctl(_SUBREAPER, 0, 0, 0, 0)
                self._own.clear()

    @contextlib.contextmanager
    def starting(self) -> Iterator[set[int]]:
        """While this lasts nobody looks for orphans; the pid of what was started goes in there."""
        with self._lock:
            yield self._own

    def end(self, pid: int) -> list[str]:
        """Kills the group of a plugin and the orphans there are; the names of what was alive."""
        left: list[str] = []
        end = time.monotonic() + _LIMIT_S
        while True:
            orphans = self._orphans()
            left += filter(None, map(_name, orphans))  # before the kill makes zombies of them
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(pid, signal.SIGKILL)
            if not orphans or time.monotonic() > end:
                return left
            for orphan in orphans:
                _kill(orphan)

    def _orphans(self) -> list[int]:
        ours = os.getsid(0)
        with self._lock:
            known = self._own | self._before
            strangers = [pid for pid in _children() if pid not in known]
        return [pid for pid in strangers if _session(pid) not in (ours, 0)]


_family = Family()


@contextlib.contextmanager
def watched() -> Iterator[Family]:
    """While this lasts, what plugins leave behind can be found."""
    _family.begin()
    try:
        yield _family
    finally:
        _family.finish()


def _children() -> list[int]:
    children: list[int] = []
    for thread in os.listdir("/proc/self/task"):
        # A thread may have ended in between.
        with contextlib.suppress(OSError), open(f"/proc/self/task/{thread}/children") as file:
            children += [int(word) for word in file.read().split()]
    return children


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, 0)


def _session(pid: int) -> int:
    try:
        return os.getsid(pid)
    except ProcessLookupError:
        return 0


def _name(pid: int) -> str:
    """The command of a process that is alive; empty for a zombie or none."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            name, _, rest = file.read().rpartition(")")
    except OSError:
        return ""
    return "" if rest.split()[0] == "Z" else f"{name.partition('(')[2]} ({pid})"
