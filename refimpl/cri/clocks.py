"""Time for a runtime: that of the machine, or one that a test holds in its hands."""

from __future__ import annotations

import heapq
import itertools
import threading
import time
from collections.abc import Callable

import attrs

__all__ = ["ManualClock", "SystemClock"]

Call = Callable[[], object]
_NS = 1_000_000_000


@attrs.define(order=True)
class _Due:
    at: int
    number: int
    call: Call = attrs.field(order=False)
    over: bool = attrs.field(default=False, order=False)

    def cancel(self) -> None:
        self.over = True


class _Timetable:
    """What is due when."""

    def __init__(self) -> None:
        self.lock = threading.Condition()
        self._due: list[_Due] = []
        self._numbers = itertools.count()

    def add(self, at: int, call: Call) -> Callable[[], None]:
        entry = _Due(at, next(self._numbers), call)
        with self.lock:
            heapq.heappush(self._due, entry)
            self.lock.notify()
        return entry.cancel

    def clear(self) -> None:
        """Forgets all of it."""
        with self.lock:
            self._due.clear()
            self.lock.notify_all()

    def next_at(self) -> int | None:
        """When the next call is due; the lock is the caller's."""
        while self._due and self._due[0].over:
            heapq.heappop(self._due)
        return self._due[0].at if self._due else None

    def pop(self, now: int) -> _Due | None:
        """The first that is due by now."""
        with self.lock:
            at = self.next_at()
            return heapq.heappop(self._due) if at is not None and at <= now else None


class SystemClock:
    """That of the machine. One thread makes all calls; it is there while a call is due."""

    def __init__(self) -> None:
        self._timetable = _Timetable()
        self._thread: threading.Thread | None = None

    def now(self) -> int:
        """Nanoseconds since the epoch."""
        return time.time_ns()

    def call_later(self, seconds: float, call: Call) -> Callable[[], None]:
        """Calls it once from another thread, unless what is returned is called before."""
        cancel = self._timetable.add(time.monotonic_ns() + int(seconds * _NS), call)
        with self._timetable.lock:
            if self._thread is None:
                name = "refimpl-clock"
                self._thread = threading.Thread(target=self._work, name=name, daemon=True)
                self._thread.start()
        return cancel

    def close(self) -> None:
        """Nothing that is due is called any more, once a call that has begun is over."""
        self._timetable.clear()
        with self._timetable.lock:
            thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(5.0)

    def _work(self) -> None:
        while self._wait():
            while (entry := self._timetable.pop(time.monotonic_ns())) is not None:
                if not entry.over:
                    entry.call()

    def _wait(self) -> bool:
        """Until something is due; False once nothing is left."""
        timetable = self._timetable
        with timetable.lock:
            while (at := timetable.next_at()) is not None:
                left = at - time.monotonic_ns()
                if left <= 0:
                    return True
                timetable.lock.wait(left / _NS)
            self._thread = None
            return False


class ManualClock:
    """Stands still but for `advance`. start: nanoseconds since the epoch."""

    def __init__(self, start: int = 1_700_000_000 * _NS) -> None:
        self._now = start
        self._timetable = _Timetable()

    def now(self) -> int:
        """Nanoseconds since the epoch."""
        return self._now

    def call_later(self, seconds: float, call: Call) -> Callable[[], None]:
        """Calls it in the `advance` that comes so far, unless what is returned is called before."""
        return self._timetable.add(self._now + int(seconds * _NS), call)

    def advance(self, seconds: float) -> None:
        """Lets time pass, and makes the calls that are due meanwhile, in order."""
        end = self._now + int(seconds * _NS)
        while (entry := self._timetable.pop(end)) is not None:
            self._now = max(self._now, entry.at)
            if not entry.over:
                entry.call()
        self._now = end
