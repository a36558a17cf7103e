"""Records of calls, oldest first: what a journal, the log of execs and that of an adapter share."""

from __future__ import annotations

import itertools
import threading
from collections import deque
from typing import Generic, Protocol, TypeVar

__all__ = ["CallLog", "Numbered"]


class Numbered(Protocol):
    """A record that its log numbers, from 1 on."""

    seq: int


R = TypeVar("R", bound=Numbered)


class CallLog(Generic[R]):
    """The newest `keep` records, or fewer; safe to use from any thread."""

    def __init__(self, keep: int = 20_000) -> None:
        self._keep = keep
        self._lock = threading.Lock()
        self._held: deque[R] = deque()
        self._seq = 0

    def add(self, record: R) -> R:
        """Numbers a record and keeps it; returns it."""
        with self._lock:
            self._seq = record.seq = self._seq + 1
            self._held.append(record)
            self._added(record)
        return record

    def _added(self, record: R) -> None:  # noqa: ARG002 - for those that count otherwise
        """With the lock held: forgets what is too old."""
        while len(self._held) > self._keep:
            self._held.popleft()

    @property
    def entries(self) -> list[R]:
        """The records still held."""
        with self._lock:
            return list(self._held)

    @property
    def seq(self) -> int:
        """The number of the newest record, 0 before the first."""
        return self._seq

    def since(self, seq: int) -> list[R]:
        """The records after number `seq`; the cost is theirs, not that of all that is held."""
        with self._lock:
            newest = itertools.takewhile(lambda record: record.seq > seq, reversed(self._held))
            return list(newest)[::-1]
