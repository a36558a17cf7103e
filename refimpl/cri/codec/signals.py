"""Signals by name in CRI, by number in Linux."""

from __future__ import annotations

import signal
from typing import cast

from refimpl.cri.api import cri_pb2 as pb

__all__ = ["name_of", "number_of"]

_PREFIX = "SIGNAL_"


def _number(name: str) -> int:
    """RTMINPLUS3 is three after the first real-time signal, RTMAXMINUS3 three before the last."""
    for base in ("SIGRTMIN", "SIGRTMAX"):
        if name.startswith(base):
            offset = name.removeprefix(base).replace("PLUS", "").replace("MINUS", "-")
            return int(getattr(signal, base)) + int(offset or 0)
    return int(getattr(signal, name, 0))


_NUMBERS = {value: _number(name.removeprefix(_PREFIX)) for name, value in pb.Signal.items()}
_NAMES = {number: value for value, number in reversed(_NUMBERS.items())}


def number_of(sent: int) -> int:
    """The number, 0 for SIGNAL_RUNTIME_DEFAULT; KeyError for what is no Signal."""
    return _NUMBERS[cast("pb.Signal.ValueType", sent)]


def name_of(number: int) -> pb.Signal.ValueType:
    """The Signal of a number."""
    return _NAMES[number]
