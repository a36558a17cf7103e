"""The shape of a mutant on the calling side: our kubelet with one breach."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, ClassVar

import attrs

from conformance.engine.mutants import Mutant
from conformance.kubelet.client import Ability
from refimpl.deviceplugin.profiles import Settings

__all__ = ["KubeletMutant"]


class KubeletMutant(Mutant):
    """`changes` are settings of the fake kubelet that it has instead; `seams` functions of it that
    a method stands before. `profile` is that of the kubelet it breaks, and `lacks` what this one is
    not able to do.
    """

    profile: ClassVar[str] = "ideal"
    changes: ClassVar[Mapping[str, Any]] = {}
    lacks: ClassVar[Collection[Ability]] = ()
    shaped_by = ("profile", "lacks")

    def changed(self, settings: Settings) -> Settings:
        """The settings with its changes."""
        return attrs.evolve(settings, **self.changes)
