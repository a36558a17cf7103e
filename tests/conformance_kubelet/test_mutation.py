"""What kubelet mutants are made of."""

from __future__ import annotations

from typing import ClassVar

from conformance.kubelet.mutation import SILENT, KubeletMutant, shown
from refimpl.deviceplugin.profiles import settings_of


class Hides(KubeletMutant):
    """Tells nothing."""

    kills = ("TM-001", "TM-002")
    changes: ClassVar[dict[str, object]] = {"hint_nodes": "machine"}


HidesShown = shown(Hides)
HidesSomeShown = shown(Hides, ("TM-001",))


def test_the_same_mutant_of_a_kubelet_that_is_not_asked() -> None:
    """It is found in its file by its name, and breaks a fake of another shape."""
    assert HidesShown.__name__ == "HidesShown"
    assert HidesShown.__module__ == __name__
    assert HidesShown.kills == Hides.kills
    assert HidesSomeShown.kills == ("TM-001",)
    assert (Hides.shape(), HidesShown.lacks) == ("", SILENT)
    assert HidesShown.shape()


def test_changes_are_settings_of_the_fake() -> None:
    """All others stay."""
    ideal = settings_of("ideal")
    changed = Hides().changed(ideal)
    assert changed.hint_nodes == "machine" != ideal.hint_nodes
    assert changed.release == ideal.release
