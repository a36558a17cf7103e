"""SPDY/3.1 as runtimes and their clients speak it: no flow control, no push; no I/O here."""

from refimpl.streaming.spdy.frames import Broken, Status
from refimpl.streaming.spdy.session import (
    Closed,
    Data,
    Event,
    GoneAway,
    Opened,
    Pong,
    Replied,
    Reset,
    Session,
)

__all__ = [
    "Broken",
    "Closed",
    "Data",
    "Event",
    "GoneAway",
    "Opened",
    "Pong",
    "Replied",
    "Reset",
    "Session",
    "Status",
]
