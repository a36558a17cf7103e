"""The shape of a CSI mutant: our driver with one breach."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import ClassVar

from conformance.engine.mutants import Mutant

__all__ = ["DriverMutant"]


class DriverMutant(Mutant):
    """A method named after an RPC, `(self, proceed, request, call)`, stands between the wire and
    the driver. `profile`, `revision`, `without`, `settings` and `nodes` choose the driver.
    """

    profile: ClassVar[str] = "default"
    revision: ClassVar[str] = ""
    without: ClassVar[Collection[str]] = ()
    settings: ClassVar[Mapping[str, str]] = {}
    nodes: ClassVar[int] = 2
    shaped_by = ("profile", "revision", "without", "settings", "nodes")
