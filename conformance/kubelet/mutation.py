"""The shape of a mutant on the calling side: our kubelet with one breach."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, ClassVar

import attrs

from conformance.engine.mutants import Mutant
from conformance.kubelet.client import Ability
from refimpl.deviceplugin.profiles import Settings

__all__ = ["SILENT", "KubeletMutant", "shown"]

SILENT: tuple[Ability, ...] = ("topology",)
"""What a kubelet lacks that nobody can ask about topology: a breach of it has to show."""


class KubeletMutant(Mutant):
    """`changes` are settings of the fake kubelet that it has instead. `profile` is that of the
    kubelet it breaks, and `lacks` what this one is not able to do.
    """

    profile: ClassVar[str] = "ideal"
    changes: ClassVar[Mapping[str, Any]] = {}
    lacks: ClassVar[Collection[Ability]] = ()
    shaped_by = ("profile", "lacks")

    def changed(self, settings: Settings) -> Settings:
        """The settings with its changes."""
        return attrs.evolve(settings, **self.changes)


def shown(kind: type[KubeletMutant], kills: Collection[str] | None = None) -> type[KubeletMutant]:
    """The same mutant of a SILENT kubelet; `kills`: where it shows, if not everywhere."""
    members = {
        "__module__": kind.__module__,
        "__doc__": f"{kind.__doc__} Of a kubelet that is not asked.",
        "lacks": SILENT,
        "kills": kind.kills if kills is None else kills,
    }
    return type(f"{kind.__name__}Shown", (kind,), members)
