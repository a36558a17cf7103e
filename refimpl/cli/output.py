"""Standard output and error that never end a command: what a full disk or a reader who has had
enough does not take is lost, and the command ends as it would have.
"""

from __future__ import annotations

import io
import os
import select
import sys
from typing import Any

__all__ = ["Outlet", "guard"]


class Outlet(io.RawIOBase):
    """A descriptor that takes all that is written. complaint: why something was lost, in a
    sentence; empty where nothing was, or the reader has gone on purpose."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self._number = number
        self._closed = False
        self.complaint = ""

    def write(self, data: Any) -> int:
        """Bytes taken."""
        size = memoryview(data).nbytes
        if self._closed:
            return size
        try:
            return os.write(self._number, data)
        except BlockingIOError:
            select.select([], [self._number], [])
            return 0 if not size else self.write(data)
        except BrokenPipeError:
            self._closed = True  # `refimpl list | head`: whoever read has enough
        except OSError as error:
            self._closed = True
            self.complaint = f"standard output: {error.strerror}; what it should hold is lost"
        return size

    def writable(self) -> bool:
        """It is."""
        return True

    def fileno(self) -> int:
        """Its descriptor."""
        return self._number

    def isatty(self) -> bool:
        """Whether a person looks at it."""
        return os.isatty(self._number)


def guard() -> Outlet:
    """Puts such streams in the place of Python's own; returns that of standard output. Streams that
    somebody has put there already stay."""
    _fill_gaps()
    outlets = {name: Outlet(number) for number, name in enumerate(("stdout", "stderr"), 1)}
    for name, outlet in outlets.items():
        stream = getattr(sys, name)
        if stream is getattr(sys, f"__{name}__"):
            setattr(sys, name, _text(outlet, stream))
    return outlets["stdout"]


def _text(outlet: Outlet, stream: io.TextIOWrapper | None) -> io.TextIOWrapper:
    buffered = io.BufferedWriter(outlet)
    if stream is None:
        return io.TextIOWrapper(buffered, "utf-8", "backslashreplace")
    stream.flush()
    lines, through = stream.line_buffering, stream.write_through
    return io.TextIOWrapper(
        buffered, stream.encoding, stream.errors, line_buffering=lines, write_through=through
    )


def _fill_gaps() -> None:
    """Opens what is closed of the first three descriptors: the next file that is opened would get
    the number, and what is printed would land in it."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            null = os.open(os.devnull, os.O_RDWR)
            os.dup2(null, number)
            if null != number:
                os.close(null)
