"""The shape of a mutant on the calling side: our kubelet with one breach."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import attrs

from conformance.engine.mutants import Mutant
from refimpl.deviceplugin.state.settings import Settings

__all__ = ["KubeletMutant"]


class KubeletMutant(Mutant):
    """`changes` are settings of the fake kubelet that it has instead; `seams` functions of it that
    a method stands before. `profile` is that of the kubelet it breaks.
    """

    profile: ClassVar[str] = "ideal"
    changes: ClassVar[Mapping[str, Any]] = {}

    @classmethod
    def shape(cls) -> str:
        """See Mutant; the plain fake is that of the ideal profile."""
        return Mutant.shape() if cls.profile == "ideal" else cls.profile

    def changed(self, settings: Settings) -> Settings:
        """The settings with its changes."""
        return attrs.evolve(settings, **self.changes)
