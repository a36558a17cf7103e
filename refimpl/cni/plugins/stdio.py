"""The process that a plugin runs in: its streams, and what may be done to it."""

from __future__ import annotations

import os

__all__ = ["Process", "read_stdin", "write"]

_SIGKILL = 9


class Process:
    """What a call may do to the process it runs in."""

    def die(self) -> None:
        """Ends it at once, with no chance to tidy up."""
        os.kill(os.getpid(), _SIGKILL)

    def pause(self, seconds: float) -> None:
        """Keeps it from answering."""
        import time

        time.sleep(float(seconds))  # a fraction in the settings is a Number


def read_stdin(size: int = 1 << 20, pause_s: float = 0.0) -> bytes | None:
    """All of stdin, in pieces of at most `size` bytes; None where it cannot be read."""
    pieces = []
    try:
        while piece := os.read(0, size):
            pieces.append(piece)
            if pause_s:
                Process().pause(pause_s)
    except OSError:
        return None
    return b"".join(pieces)


def write(number: int, data: bytes) -> bool:
    """Whether everything was written; a closed stderr (2) is nobody's trouble."""
    try:
        while data:
            data = data[os.write(number, data) :]
    except OSError:
        return number == 2
    return True
