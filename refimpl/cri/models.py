"""The process models by name: what is said of them here costs no import."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

from refimpl.cri.state.ports import Clock, Processes
from refimpl.cri.virtual.programs import Scripts

__all__ = ["MODELS", "open_model"]

MODELS: Mapping[str, str] = {"virtual": "refimpl.cri.virtual.processes:VirtualProcesses"}
"""Name -> class; each is made with a clock and scripts, and knows what of it it needs."""


def open_model(name: str, clock: Clock, scripts: Scripts | None = None) -> Processes:
    """A process model; raises ValueError naming those there are."""
    if name not in MODELS:
        raise ValueError(f"there is no process model {name!r}: there is {', '.join(MODELS)}")
    module, _, kind = MODELS[name].partition(":")
    made: Any = getattr(importlib.import_module(module), kind)(clock, scripts)
    processes: Processes = made
    return processes
