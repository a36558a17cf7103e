"""Faults on demand: which calls go wrong, and how; in Python, in YAML, or over the control socket.

How a server obeys, for each call (an empty tuple costs nothing):

    actions = faults.decide(method, request)
    for action in actions: action.before(call)               # may raise Refused, may wait
    for action in actions: reply = action.after(call, reply)          # unary
    for action in actions: replies = action.stream(call, replies)     # server streaming
    entry.fault = labels(actions)
    faults.note(actions)

`Cut`, a Refused, asks for `cut_connections(endpoint)` before the status is sent. A server that
stops calls `faults.release()`, which ends the calls that a rule holds. Named crash points are
`faults.point("CreateVolume.after_effect")`.
"""

from __future__ import annotations

from refimpl.wire.faults.actions import (
    Action,
    Close,
    Crash,
    Cut,
    Delay,
    DropReply,
    EndStream,
    Hang,
    HeldCall,
    Mutate,
    Status,
    labels,
)
from refimpl.wire.faults.connections import cut_connections
from refimpl.wire.faults.plan import Faults
from refimpl.wire.faults.rules import FaultError, FaultRule

__all__ = [
    "Action",
    "Close",
    "Crash",
    "Cut",
    "Delay",
    "DropReply",
    "EndStream",
    "FaultError",
    "FaultRule",
    "Faults",
    "Hang",
    "HeldCall",
    "Mutate",
    "Status",
    "cut_connections",
    "labels",
]
