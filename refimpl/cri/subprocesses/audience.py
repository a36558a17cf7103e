"""Who is attached to the first process of a container: all of them hear what it writes."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

from refimpl.cri.subprocesses.wires import LOOK_S
from refimpl.streaming.outcome import Outcome
from refimpl.streaming.streams import Streams

__all__ = ["Audience"]

_MOST = 1 << 20


class _Listener:
    """What one client has not been sent yet."""

    def __init__(self) -> None:
        self.pieces: deque[tuple[str, bytes]] = deque()
        self.size = 0
        self.lost = False


class Audience:
    """A client that does not read is left behind: the process does not wait for it."""

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._listeners: list[_Listener] = []
        self._changed = threading.Condition()
        self._ended = False

    def tell(self, name: str, data: bytes) -> None:
        """To all that listen now."""
        with self._changed:
            for listener in self._listeners:
                listener.size += len(data)
                listener.lost |= listener.size > self._most
                if not listener.lost:
                    listener.pieces.append((name, data))
            self._changed.notify_all()

    def end(self) -> None:
        """The process has ended."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def listen(self, streams: Streams, begin: Callable[[], object]) -> Outcome:
        """Until the end, or the client has left. begin: called once it listens."""
        listener = _Listener()
        with self._changed:
            self._listeners.append(listener)
        try:
            begin()
            while self._passed(listener, streams):
                pass
        finally:
            with self._changed:
                self._listeners.remove(listener)
        behind = f"the client was more than {self._most} bytes behind"
        return Outcome(error=behind) if listener.lost else Outcome()

    def _passed(self, listener: _Listener, streams: Streams) -> bool:
        """What there is; False once no more comes."""
        with self._changed:
            self._changed.wait_for(lambda: listener.pieces or self._ended or listener.lost, LOOK_S)
            pieces, over = [*listener.pieces], self._ended or listener.lost
            listener.pieces.clear()
            listener.size = 0
        for piece in pieces:
            streams.write(*piece)
        return not over and not streams.gone
