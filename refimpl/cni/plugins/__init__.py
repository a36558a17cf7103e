"""Fake CNI plugins, healthy by default and broken on demand, with the standard library alone.

`install` makes one as an executable file, `main` answers a call as a function; both do the same.
"""

from __future__ import annotations

from .entry import KINDS, main
from .errors import Failure, ProcessOnly
from .install import PluginError, configure, install, settings_of
from .journal import records
from .knobs import KNOBS

__all__ = [
    "KINDS",
    "KNOBS",
    "Failure",
    "PluginError",
    "ProcessOnly",
    "configure",
    "install",
    "main",
    "records",
    "settings_of",
]
