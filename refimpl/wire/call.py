"""One call as the server sees it, and what all calls of a server share."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

import grpc
from attrs import define, field

from refimpl.wire.faults import Faults
from refimpl.wire.journal import Journal
from refimpl.wire.pool import Pool
from refimpl.wire.status import Code, Refused

__all__ = ["Call", "Serving"]

_NO_DEADLINE_S = 1e8  # grpc says "no deadline" with a moment some centuries away
_CALLBACKS = threading.Lock()


class Call:
    """What an RPC method knows of its caller besides the request.

    `method` is the whole one ("/csi.v1.Identity/Probe"), `deadline_s` the seconds that were left
    when the call began, None without a deadline.
    """

    __slots__ = (
        "_callbacks",
        "_context",
        "_endings",
        "_notified",
        "_over",
        "_pool",
        "_stopped",
        "deadline_s",
        "method",
    )

    def __init__(self, method: str, context: grpc.ServicerContext, pool: Pool) -> None:
        remaining = context.time_remaining()
        self.method = method
        self.deadline_s = (
            remaining if remaining is not None and remaining < _NO_DEADLINE_S else None
        )
        self._context, self._pool = context, pool
        self._over = self._stopped = self._notified = False
        self._callbacks: list[Callable[[], object]] = []
        self._endings: list[Callable[[], object]] = []

    @property
    def peer(self) -> str:
        """The caller's address; unix sockets have none and say "unix:"."""
        return self._context.peer()

    @property
    def metadata(self) -> tuple[tuple[str, str | bytes], ...]:
        """The headers that the caller sent, in order."""
        return tuple((key, value) for key, value in self._context.invocation_metadata() or ())

    def waiting(self) -> AbstractContextManager[None]:
        """Surrounds a long wait in a unary method, so that it takes no thread from other calls."""
        return self._pool.lent()

    def cancelled(self) -> bool:
        """Whether the caller gave up, the deadline passed, or the server is stopping."""
        return self._stopped or not self._context.is_active()

    def on_cancel(self, callback: Callable[[], object]) -> None:
        """Calls the callback once, from another thread, when `cancelled` turns true.

        It is not called for a call that ends by itself. It must not block.
        """
        with _CALLBACKS:
            first, already = not self._callbacks, self._notified
            if not already:
                self._callbacks.append(callback)
        if already:
            callback()
        elif first and not self._context.add_callback(self._ended):
            self._ended()

    def on_end(self, callback: Callable[[], object]) -> None:
        """Calls the callback once, from another thread, when the call is over: its answer has been
        sent, or nobody waits for one any more. It must not block.
        """
        with _CALLBACKS:
            already = self._notified
            if not already:
                self._endings.append(callback)
        if already:
            callback()
        elif len(self._endings) == 1 and not self._context.add_callback(self._ended):
            self._ended()

    def stop(self) -> None:
        """Asks the call to end because the server does."""
        self._stopped = True
        self._ended()

    def finish(self) -> None:
        """The call has ended by itself, so that what grpc reports from now on is no cancelling."""
        self._over = True

    def ending(self) -> Refused:
        """The status for a call that was cancelled."""
        if self._stopped:
            return Refused(Code.UNAVAILABLE, "the server is stopping")
        if self.deadline_s is not None and not self._context.time_remaining():
            return Refused(Code.DEADLINE_EXCEEDED, f"not done within {self.deadline_s:.3g} s")
        return Refused(Code.CANCELLED, "the caller cancelled the call, or is gone")

    def _ended(self) -> None:
        with _CALLBACKS:
            self._notified = True
            callbacks, self._callbacks = self._callbacks, []
            endings, self._endings = self._endings, []
        for callback in [*([] if self._over else callbacks), *endings]:
            callback()


@define(eq=False)
class Serving:
    """What the methods of one server share; `streams` are the calls of open streams."""

    journal: Journal
    faults: Faults
    most_streams: int
    pool: Pool
    peer: str | None = None
    cut: Callable[[], object] = lambda: None
    stopping: bool = False
    streams: set[Call] = field(factory=set)
    _lock: threading.Lock = field(factory=threading.Lock)

    @contextlib.contextmanager
    def streaming(self, call: Call) -> Iterator[None]:
        """Surrounds an open stream. Raises Refused beyond `most_streams`, and while stopping."""
        with self._lock:
            if self.stopping:
                raise Refused(Code.UNAVAILABLE, "the server is stopping")
            if len(self.streams) >= self.most_streams:
                raise Refused(
                    Code.RESOURCE_EXHAUSTED,
                    f"{self.most_streams} streams are open, as many as this server holds:"
                    " end one before opening another",
                )
            self.streams.add(call)
        try:
            with call.waiting():
                yield
        finally:
            with self._lock:
                self.streams.discard(call)

    def stop(self) -> None:
        """Ends what waits: held calls and open streams."""
        with self._lock:
            self.stopping = True
            streams = tuple(self.streams)
        self.faults.release()
        for call in streams:
            call.stop()
