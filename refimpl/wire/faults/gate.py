"""Where the calls wait that a rule holds: until time is up, they are let go, or the caller left."""

from __future__ import annotations

import enum
import queue
import threading
from collections.abc import Callable
from typing import Protocol

from refimpl.wire.status import Refused

__all__ = ["CallGate", "HeldCall", "HoldEnd"]


class HeldCall(Protocol):
    """What an action needs to know of the call it acts on."""

    def cancelled(self) -> bool:
        """Whether the caller gave up, the deadline passed or the connection is gone."""

    def on_cancel(self, callback: Callable[[], None], /) -> object:
        """Calls `callback`, from any thread, once `cancelled` turns true."""

    def ending(self) -> Refused:
        """The status of a cancelled call: by its caller, or by its deadline."""


class HoldEnd(enum.Enum):
    """Why a wait was over."""

    TIME = "the time was up"
    RULE = "the rule was removed"
    SERVER = "the server stopped"
    CALLER = "the caller gave up"


class CallGate:
    """Holds any number of calls, each in its own thread; removing its rule opens it for good."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: set[queue.SimpleQueue[HoldEnd]] = set()
        self._open = False

    def hold(self, call: HeldCall, seconds: float | None = None) -> HoldEnd:
        """Waits in the calling thread; without `seconds` as long as nothing else ends it."""
        ending: queue.SimpleQueue[HoldEnd] = queue.SimpleQueue()
        with self._lock:
            if self._open:
                return HoldEnd.RULE
            self._waiting.add(ending)
        call.on_cancel(lambda: ending.put(HoldEnd.CALLER))
        if call.cancelled():  # perhaps before the callback was in place
            ending.put(HoldEnd.CALLER)
        try:
            return ending.get(timeout=seconds)
        except queue.Empty:
            return HoldEnd.TIME
        finally:
            with self._lock:
                self._waiting.discard(ending)

    @property
    def holding(self) -> int:
        """How many calls wait at this moment."""
        with self._lock:
            return len(self._waiting)

    def release(self) -> None:
        """Ends the present waits because the server stops; later ones wait as usual."""
        self._end(HoldEnd.SERVER)

    def open(self) -> None:
        """Ends the present waits and lets later ones pass, because the rule is gone."""
        self._open = True
        self._end(HoldEnd.RULE)

    def _end(self, ending: HoldEnd) -> None:
        with self._lock:
            waiting = tuple(self._waiting)
        for waiter in waiting:
            waiter.put(ending)
