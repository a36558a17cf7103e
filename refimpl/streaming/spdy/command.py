"""Exec and attach over SPDY: a stream for each of error, stdin, stdout, stderr and resize."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextlib import suppress

from refimpl.streaming.outcome import Outcome
from refimpl.streaming.pipe import Pipe
from refimpl.streaming.protocols import Protocol
from refimpl.streaming.requests import StreamRequest
from refimpl.streaming.spdy.frames import Status
from refimpl.streaming.spdy.link import Link
from refimpl.streaming.spdy.session import Closed, Data, Event, Opened, Reset
from refimpl.streaming.streams import Sizes, Streams

__all__ = ["SpdyCommand", "serve_command"]

CREATION_S = 30.0
"""How long a client has to open all its streams."""
FAREWELL_S = 2.0
"""How long a client has to end the connection, when the command has ended."""


class SpdyCommand:
    """The streams of one command; implements `Streams`."""

    def __init__(self, link: Link, request: StreamRequest, protocol: Protocol) -> None:
        self.stdin, self.sizes = Pipe(), Sizes()
        self._link, self._protocol = link, protocol
        self._expected = _expected(request, protocol)
        self._ids: dict[str, int] = {}
        self._names: dict[int, str] = {}
        self.complete, self._gone = threading.Event(), threading.Event()
        if "stdin" not in self._expected:
            self.stdin.end()
        if "resize" not in self._expected:
            self.sizes.end()

    @property
    def gone(self) -> bool:
        """Whether the client has left."""
        return self._gone.is_set()

    def write(self, name: str, data: bytes) -> bool:
        """Sends output; False where nobody takes it."""
        with suppress(OSError):
            return name in self._ids and self._link.send(self._ids[name], data)
        return False

    def finish(self, outcome: Outcome) -> None:
        """Ends all streams, the error stream with how it went."""
        told = outcome.status() if self._protocol.tells_status else outcome.text()
        with suppress(OSError):
            for name in ("stdout", "stderr"):
                if name in self._ids:
                    self._link.send(self._ids[name], b"", fin=True)
            if "error" in self._ids:
                self._link.send(self._ids["error"], told, fin=True)

    def hear(self, event: Event) -> None:
        """What the client sends."""
        match event:
            case Opened(stream, headers):
                self._opened(stream, next(iter(headers.get("streamtype", ())), ""))
            case Data(stream, payload):
                self._input(self._names.get(stream, ""), payload)
            case Closed(stream) | Reset(stream):
                self._end_of(self._names.get(stream, ""))

    def leave(self) -> None:
        """The client has left."""
        self._gone.set()
        self.stdin.end()
        self.sizes.end()
        self.complete.set()

    def _opened(self, stream: int, name: str) -> None:
        if name not in self._expected or name in self._ids:
            self._link.reset(stream, Status.PROTOCOL_ERROR)
            return
        self._ids[name], self._names[stream] = stream, name
        self._link.accept(stream)
        if len(self._ids) == len(self._expected):
            self.complete.set()

    def _input(self, name: str, payload: bytes) -> None:
        if name == "stdin":
            self.stdin.write(payload)
        elif name == "resize":
            self.sizes.feed(payload)

    def _end_of(self, name: str) -> None:
        if name == "stdin":
            self.stdin.end()
        elif name == "resize":
            self.sizes.end()


def _expected(request: StreamRequest, protocol: Protocol) -> tuple[str, ...]:
    wanted: Mapping[str, bool] = {
        "error": True,
        "stdin": request.stdin,
        "stdout": request.stdout,
        "stderr": request.stderr and not request.tty,
        "resize": request.tty and protocol.resizes,
    }
    return tuple(name for name, is_wanted in wanted.items() if is_wanted)


def serve_command(
    link: Link,
    request: StreamRequest,
    protocol: Protocol,
    run: Callable[[StreamRequest, Streams], Outcome],
    creation_s: float = CREATION_S,
) -> None:
    """One connection, from the first stream to the end of the command or of the client."""
    command = SpdyCommand(link, request, protocol)

    def read() -> None:
        link.run(command.hear)
        command.leave()

    reader = threading.Thread(target=read, name="refimpl-stream", daemon=True)
    reader.start()
    if command.complete.wait(creation_s) and not command.gone:
        command.finish(run(request, command))
    link.close()
    reader.join(FAREWELL_S)
