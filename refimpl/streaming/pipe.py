"""What one thread writes and another reads, with an end and a bound."""

from __future__ import annotations

import threading
from collections import deque

__all__ = ["Pipe"]

_MOST = 1 << 20


class Pipe:
    """Bytes in order. A writer waits while the reader is behind by `most` bytes, so that what a
    client sends piles up in the network rather than here."""

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._pieces: deque[bytes] = deque()
        self._size = 0
        self._ended = self._abandoned = False
        self._changed = threading.Condition()

    def write(self, data: bytes) -> None:
        """Hands on a piece; nothing where nobody reads any more."""
        with self._changed:
            self._changed.wait_for(lambda: self._size < self._most or self._over)
            if data and not self._over:
                self._pieces.append(data)
                self._size += len(data)
                self._changed.notify_all()

    def end(self) -> None:
        """Nothing more comes; what is in it can still be read."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def abandon(self) -> None:
        """Nobody reads any more: writers go on, and readers come to the end."""
        with self._changed:
            self._abandoned = True
            self._pieces.clear()
            self._size = 0
            self._changed.notify_all()

    def read(self, timeout_s: float | None = None) -> bytes | None:
        """The next piece, b"" at the end, None where the time is over."""
        with self._changed:
            come = self._changed.wait_for(lambda: self._pieces or self._over, timeout_s)
            if not come:
                return None
            if not self._pieces:
                return b""
            piece = self._pieces.popleft()
            self._size -= len(piece)
            self._changed.notify_all()
            return piece

    @property
    def _over(self) -> bool:
        return self._ended or self._abandoned
