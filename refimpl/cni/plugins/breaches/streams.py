"""What only a process can do wrong with its streams."""

from __future__ import annotations

import os

from refimpl.cni.plugins.stdio import Process, read_stdin, write

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["FOREVER_S", "hold_and_flood", "read"]

FOREVER_S = 86_400.0


def read(knobs: dict[str, dict[str, Any]]) -> bytes | None:
    """Stdin as a plugin with these faults reads it: not at all, late, or in small pieces."""
    if "close-stdin" in knobs:
        os.close(0)
        os.open("/dev/null", os.O_RDONLY)
        return b""
    hang = knobs.get("hang", {})
    if hang.get("unread"):
        Process().pause(hang.get("seconds", FOREVER_S))
    if slow := knobs.get("slow-stdin"):
        return read_stdin(int(slow.get("bytes", 1)), float(slow.get("seconds", 0.001)))
    return read_stdin()


def hold_and_flood(knobs: dict[str, dict[str, Any]]) -> None:
    """What is done to the streams before the answer is written."""
    if (hold := knobs.get("hold-stdout")) and os.fork() == 0:
        if hold.get("detach"):
            os.setsid()
        Process().pause(hold.get("seconds", 60.0))
        os._exit(0)
    if flood := knobs.get("flood"):
        left, piece = int(flood.get("bytes", 1 << 30)), b"." * (1 << 16)
        number = 2 if flood.get("stream") == "stderr" else 1
        while left > 0 and write(number, piece[:left]):
            left -= len(piece)
