"""Fake CNI plugins, healthy by default and broken on demand, with the standard library alone.

`install` makes one as an executable file, `main` answers a call as a function; both do the same.
"""

from __future__ import annotations

from refimpl.cni.format.errors import CniError
from refimpl.cni.plugins.breaches.knobs import KNOBS
from refimpl.cni.plugins.entry import KINDS, main
from refimpl.cni.plugins.errors import ProcessOnly
from refimpl.cni.plugins.install import PluginError, configure, install, settings_of
from refimpl.cni.plugins.journal import records

__all__ = [
    "KINDS",
    "KNOBS",
    "CniError",
    "PluginError",
    "ProcessOnly",
    "configure",
    "install",
    "main",
    "records",
    "settings_of",
]
