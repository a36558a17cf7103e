"""One call at a time for each volume, snapshot or name, without holding up the others."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from types import TracebackType
from typing import Literal

from refimpl.wire.status import Code, Refused


class Guards:
    """Keys that calls work on at present. Keys are ids, or names with a prefix of their kind."""

    def __init__(self, pending: Literal["queue", "abort"] = "queue") -> None:
        self.pending = pending
        self.busy: set[str] = set()
        self.waiting = 0
        self.changed = threading.Condition(threading.Lock())

    def hold(self, *keys: str) -> Guard:
        """Context that holds all `keys` at once (so that no two calls wait for each other).

        Waits while one of them is held, or raises ABORTED where the settings say so (CSI: an
        operation on the volume is pending)."""
        return Guard(self, keys)


class Guard:
    """Held keys; see Guards.hold."""

    __slots__ = ("_guards", "_keys")

    def __init__(self, guards: Guards, keys: Iterable[str]) -> None:
        self._guards = guards
        self._keys = tuple(keys)

    def __enter__(self) -> None:
        guards, keys = self._guards, self._keys
        with guards.changed:
            while not guards.busy.isdisjoint(keys):
                if guards.pending == "abort":
                    raise Refused(
                        Code.ABORTED,
                        "another call is at work on the same volume or name; repeat this one later",
                    )
                guards.waiting += 1
                guards.changed.wait()
                guards.waiting -= 1
            guards.busy.update(keys)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        guards = self._guards
        with guards.changed:
            guards.busy.difference_update(self._keys)
            if guards.waiting:
                guards.changed.notify_all()
