"""Who is connected to virtual containers: clients of a command, of a first process."""

from __future__ import annotations

import threading

from refimpl.cri.state.ports import Output
from refimpl.cri.virtual.shell.world import LOOK_S, Console
from refimpl.streaming.pipe import Pipe
from refimpl.streaming.requests import StreamRequest
from refimpl.streaming.streams import Size, Sizes, Streams

__all__ = ["Hub", "console_of"]

_END_OF_INPUT = b"\x04"


class _Plain:
    """A client as it is."""

    def __init__(self, streams: Streams) -> None:
        self._streams = streams
        self._size: Size | None = None

    def read(self, timeout_s: float | None = None) -> bytes | None:
        """What it sends."""
        return self._streams.stdin.read(timeout_s)

    def write(self, name: str, data: bytes) -> bool:
        """To the client."""
        return self._streams.write(name, data)

    @property
    def gone(self) -> bool:
        """Whether it has left."""
        return self._streams.gone

    @property
    def size(self) -> Size | None:
        """It has no terminal."""
        return None


class _Terminal(_Plain):
    """With a terminal between: one output, lines that end in CR LF, and input that is echoed."""

    _ended = False

    def read(self, timeout_s: float | None = None) -> bytes | None:
        """What is typed, up to an end-of-transmission."""
        if self._ended:
            return b""
        piece = super().read(timeout_s)
        if not piece:
            return piece
        typed, end, _ = piece.replace(b"\r", b"\n").partition(_END_OF_INPUT)
        self._ended = bool(end)
        self.write("stdout", typed)
        return typed

    def write(self, name: str, data: bytes) -> bool:
        """All on the one output."""
        return super().write("stdout", data.replace(b"\n", b"\r\n"))

    @property
    def size(self) -> Size | None:
        """The last that the client told."""
        while size := self._streams.sizes.next(0):
            self._size = size
        return self._size or Size(0, 0)


def console_of(streams: Streams, *, tty: bool) -> Console:
    """What a command sees of its client."""
    return _Terminal(streams) if tty else _Plain(streams)


class Hub:
    """The streams of a first process: its log, and every client that is attached; `Streams`.

    stdin: what any of them sends; at its end from the start where the container has none.
    """

    def __init__(self, log: Output, *, stdin: bool, once: bool) -> None:
        self.stdin, self.sizes = Pipe(), Sizes()
        self._log, self._once, self._reads = log, once, stdin
        self._clients: list[Streams] = []
        self._lock = threading.Lock()
        self.over = threading.Event()
        if not stdin:
            self.stdin.end()

    def write(self, name: str, data: bytes) -> bool:
        """To all that listen now; who comes later sees nothing of it."""
        self._log(name, data)
        with self._lock:
            clients = list(self._clients)
        for client in clients:
            client.write(name, data)
        return True

    @property
    def gone(self) -> bool:
        """Whether the container has ended."""
        return self.over.is_set()

    def end(self) -> None:
        """The container has ended."""
        self.over.set()
        self.stdin.abandon()

    def attach(self, request: StreamRequest, streams: Streams) -> None:
        """Until the container ends, or the client leaves."""
        with self._lock:
            self._clients.append(streams)
        if request.tty:
            self.sizes = streams.sizes
        if request.stdin and self._reads:
            threading.Thread(
                target=self._take, args=(streams,), name="refimpl-attach", daemon=True
            ).start()
        while not streams.gone and not self.over.wait(LOOK_S):
            pass
        with self._lock:
            self._clients.remove(streams)

    def _take(self, streams: Streams) -> None:
        while piece := streams.stdin.read():
            self.stdin.write(piece)
        if self._once:
            self.stdin.end()
