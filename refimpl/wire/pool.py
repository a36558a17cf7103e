"""The threads of a server: a fixed number that is free for work, however many calls wait."""

from __future__ import annotations

import contextlib
import queue
import threading
import time
import traceback
from collections.abc import Callable, Iterator

__all__ = ["Pool", "Task"]


class Task:
    """One submitted call, with as much of a future as grpc asks for: a callback at its end."""

    __slots__ = ("_args", "_callbacks", "_ended", "_fn")

    def __init__(self, fn: Callable[..., object], args: tuple[object, ...]) -> None:
        self._fn, self._args = fn, args
        self._callbacks: list[Callable[[Task], object]] = []
        self._ended = False

    def add_done_callback(self, callback: Callable[[Task], object]) -> None:
        """Calls the callback once: at the end of the call, or at once if that has come."""
        self._callbacks.append(callback)
        if self._ended:
            self._notify()

    def run(self) -> None:
        """Calls; an exception goes to stderr, because nobody asks for it."""
        try:
            self._fn(*self._args)
        except BaseException:
            traceback.print_exc()
        self._ended = True
        self._notify()

    def _notify(self) -> None:
        # Both threads may come here; each callback is popped, and so called, once.
        while self._callbacks:
            with contextlib.suppress(IndexError):
                self._callbacks.pop()(self)


class Pool:
    """Runs calls in threads of its own, of which up to `threads` are busy at a time.

    It stands where grpc takes a ThreadPoolExecutor, at a third of the cost for each call. Threads
    are made when calls come that no idle one can take: most servers of a test see one at a time.

    A call that waits for long (an open stream, a fault that holds it) does so inside `lent`: its
    thread stands aside and another may take its place, so that waiting calls never starve the rest.
    At most `most_lent` threads stand aside; beyond that, waiting calls take up workers. Threads
    are daemons: one that never returns cannot keep the process from ending.
    """

    def __init__(self, threads: int, most_lent: int = 256) -> None:
        self._tasks: queue.SimpleQueue[Task | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._threads: set[threading.Thread] = set()
        self._most, self._most_lent = threads, most_lent
        self._lent = self._queued = self._idle = self._ending = 0

    def submit(self, fn: Callable[..., object], *args: object) -> Task:
        """Queues the call."""
        task = Task(fn, args)
        with self._lock:
            self._queued += 1
            self._spawn_if_short()
        self._tasks.put(task)
        return task

    @contextlib.contextmanager
    def lent(self) -> Iterator[None]:
        """Surrounds a long wait in a worker."""
        with self._lock:
            aside = self._lent < self._most_lent
            self._lent += aside
            self._spawn_if_short()
        try:
            yield
        finally:
            if aside:
                self._come_back()

    def shutdown(self, timeout_s: float = 0.0) -> None:
        """Lets the workers end after what is queued; waits for them for up to `timeout_s`."""
        with self._lock:
            threads = tuple(self._threads)
        for _ in threads:
            self._tasks.put(None)
        deadline = time.monotonic() + timeout_s
        for thread in threads:
            thread.join(max(deadline - time.monotonic(), 0.0))

    @property
    def alive(self) -> int:
        """How many threads there are."""
        with self._lock:
            return len(self._threads)

    def _come_back(self) -> None:
        with self._lock:
            self._lent -= 1
            spare = len(self._threads) - self._ending > self._most + self._lent
            self._ending += spare
        if spare:
            self._tasks.put(None)  # whoever takes it ends: the thread that came back is enough

    def _spawn_if_short(self) -> None:
        """Under the lock: one more thread, where more calls wait than threads do."""
        if self._queued <= self._idle or len(self._threads) >= self._most + self._lent:
            return
        thread = threading.Thread(target=self._work, name="refimpl-call", daemon=True)
        self._idle += 1
        self._threads.add(thread)  # whoever sees it may join it, which takes one that was started
        thread.start()

    def _work(self) -> None:
        while (task := self._tasks.get()) is not None:
            with self._lock:
                self._queued -= 1
                self._idle -= 1
            task.run()
            del task  # a request of 16 MiB must not stay until the next call
            with self._lock:
                self._idle += 1
        with self._lock:
            self._idle -= 1
            self._ending = max(self._ending - 1, 0)
            self._threads.discard(threading.current_thread())
