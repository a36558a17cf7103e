"""The shape of a CRI mutant: our runtime with one breach."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from conformance.engine.mutants import Mutant

__all__ = ["RuntimeMutant"]


class RuntimeMutant(Mutant):
    """A method named after an RPC, `(self, proceed, request, call)`, stands between the wire and
    the runtime. `profile`, `settings` and `model` choose the runtime."""

    profile: ClassVar[str] = "strict"
    settings: ClassVar[Mapping[str, object]] = {}
    model: ClassVar[str] = ""
    shaped_by = ("profile", "settings", "model")
