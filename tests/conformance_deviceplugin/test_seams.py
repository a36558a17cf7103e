"""Where our fakes of the device plugin interfaces let mutants stand."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Iterator

import pytest

from conformance.engine import mutants
from refimpl.deviceplugin.seams import kubelet, plugin, podresources, topology
from refimpl.registration import seams as registration
from refimpl.wire import seams as wire
from refimpl.wire.seam import Seam


def exported() -> Iterator[Seam]:
    """Every seam that has a name."""
    for module in (kubelet, plugin, podresources, topology, registration, wire):
        yield from (each for each in vars(module).values() if isinstance(each, Seam))


@pytest.mark.parametrize("seam", [*exported(), *plugin.RPCS.values()])
def test_every_seam_is_a_function_where_it_says(seam: Seam) -> None:
    """Also in the modules that import it by name."""
    for module, name in seam.places:
        assert callable(functools.reduce(getattr, name.split("."), importlib.import_module(module)))


def test_every_seam_is_one_of_some_mutant() -> None:
    """A fake exports no more than is bent."""
    kinds = mutants.classes("deviceplugin").values()
    assert {*exported()} <= {seam for kind in kinds for seam in kind.seams().values()}
