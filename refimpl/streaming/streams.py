"""What a command is connected to, whatever carries it; and who runs commands."""

from __future__ import annotations

import json
import queue
import socket
from typing import Protocol

import attrs

from refimpl.streaming.outcome import Outcome
from refimpl.streaming.pipe import Pipe
from refimpl.streaming.requests import StreamRequest

__all__ = ["Executor", "ForwardFailed", "Size", "Sizes", "Streams"]

_LARGEST_SIZE = 1 << 10  # bytes of JSON for two numbers


class ForwardFailed(Exception):
    """A port that cannot be reached, in words for the client."""


@attrs.frozen
class Size:
    """Of a terminal, in characters."""

    width: int
    height: int


class Sizes:
    """The sizes that a client tells, one JSON object after the other, in pieces of any length."""

    def __init__(self) -> None:
        self._text = ""
        self._known: queue.SimpleQueue[Size | None] = queue.SimpleQueue()

    def feed(self, data: bytes) -> None:
        """More of them. What is no size is left out."""
        self._text += data.decode(errors="replace")
        while text := self._text.lstrip():
            try:
                told, end = json.JSONDecoder().raw_decode(text)
            except ValueError:
                self._text = text if len(text) < _LARGEST_SIZE else ""
                return
            self._text = text[end:]
            self._tell(told)

    def end(self) -> None:
        """No more come."""
        self._known.put(None)

    def next(self, timeout_s: float | None = None) -> Size | None:
        """Waits for the next; None at the end, or where the time is over."""
        try:
            return self._known.get(timeout=timeout_s)
        except queue.Empty:
            return None

    def _tell(self, told: object) -> None:
        if isinstance(told, dict):
            width, height = told.get("Width"), told.get("Height")
            if isinstance(width, int) and isinstance(height, int) and width > 0 and height > 0:
                self._known.put(Size(width & 0xFFFF, height & 0xFFFF))


class Streams(Protocol):
    """The client's end of a command.

    stdin: what it sends; ended from the start where it sends nothing, and when it has left.
    """

    stdin: Pipe
    sizes: Sizes

    def write(self, name: str, data: bytes) -> bool:
        """Sends output; name: stdout or stderr. False where the client has left."""

    @property
    def gone(self) -> bool:
        """Whether the client has left."""


class Executor(Protocol):
    """A runtime, as far as streams are its business."""

    def run(self, request: StreamRequest, streams: Streams) -> Outcome:
        """Runs a command, or attaches to a container, until that ends or the client has left."""

    def dial(self, sandbox: str, port: int) -> socket.socket:
        """Connects to a port of a sandbox. Raises ForwardFailed."""
