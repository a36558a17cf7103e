"""Exec and attach over WebSocket: stdin 0, stdout 1, stderr 2, error 3, resize 4."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress

from refimpl.streaming.outcome import Outcome
from refimpl.streaming.pipe import Pipe
from refimpl.streaming.protocols import Protocol
from refimpl.streaming.requests import StreamRequest
from refimpl.streaming.streams import Sizes, Streams
from refimpl.streaming.websocket.channels import CLOSE, Channels
from refimpl.streaming.websocket.messages import Messages

__all__ = ["serve_command"]

STDIN, STDOUT, STDERR, ERROR, RESIZE = range(5)
_OUTPUTS = {"stdout": STDOUT, "stderr": STDERR}
_FAREWELL_S = 2.0


class WebSocketCommand:
    """The channels of one command; implements `Streams`."""

    def __init__(self, channels: Channels, request: StreamRequest) -> None:
        self.stdin, self.sizes = Pipe(), Sizes()
        self._channels, self._gone = channels, threading.Event()
        self._open = {
            STDOUT: request.stdout,
            STDERR: request.stderr and not request.tty,
            ERROR: True,
        }
        self._stdin = request.stdin
        self._resizes = request.tty and channels.protocol.resizes
        self._closes = channels.protocol.version >= 5
        if not self._stdin:
            self.stdin.end()
        if not self._resizes:
            self.sizes.end()

    @property
    def gone(self) -> bool:
        """Whether the client has left."""
        return self._gone.is_set()

    def greet(self) -> None:
        """An empty message tells the client that the stream stands. Raises OSError."""
        first = next(channel for channel, is_open in self._open.items() if is_open)
        self._channels.send(first, b"")

    def write(self, name: str, data: bytes) -> bool:
        """Sends output; False where nobody takes it."""
        channel = _OUTPUTS[name]
        if not self._open[channel]:
            return False
        try:
            self._channels.send(channel, data)
        except OSError:
            return False
        return True

    def finish(self, outcome: Outcome) -> None:
        """Tells how it went, and says farewell."""
        told = outcome.status() if self._channels.protocol.tells_status else outcome.text()
        with suppress(OSError):
            if told:
                self._channels.send(ERROR, told)

    def read(self) -> None:
        """Hands on what the client sends until it leaves."""
        with suppress(EOFError):
            while True:
                self._hear(*self._channels.receive())
        self._gone.set()
        self.stdin.end()
        self.sizes.end()

    def _hear(self, channel: int, content: bytes) -> None:
        if channel == STDIN and self._stdin:
            self.stdin.write(content)
        elif channel == RESIZE and self._resizes:
            self.sizes.feed(content)
        elif (
            channel == CLOSE and self._channels.protocol.version >= 5 and content == bytes([STDIN])
        ):
            self.stdin.end()


def serve_command(
    messages: Messages,
    request: StreamRequest,
    protocol: Protocol,
    run: Callable[[StreamRequest, Streams], Outcome],
) -> None:
    """One connection, to the end of the command or of the client."""
    command = WebSocketCommand(Channels(messages, protocol), request)
    reader = threading.Thread(target=command.read, name="refimpl-stream", daemon=True)
    with suppress(OSError):
        command.greet()
        reader.start()
        command.finish(run(request, command))
        messages.close()
        reader.join(_FAREWELL_S)
