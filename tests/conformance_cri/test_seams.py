"""Where our fake of a container runtime lets mutants stand."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Iterator

import pytest

from conformance.engine import mutants
from refimpl.cri import seams
from refimpl.wire.seam import Seam


def exported() -> Iterator[Seam]:
    """Every seam that has a name."""
    yield from (each for each in vars(seams).values() if isinstance(each, Seam))


@pytest.mark.parametrize("seam", [*exported()])
def test_every_seam_is_a_function_where_it_says(seam: Seam) -> None:
    """Also in the modules that import it by name."""
    for module, name in seam.places:
        assert callable(functools.reduce(getattr, name.split("."), importlib.import_module(module)))


def test_every_seam_is_one_of_some_mutant() -> None:
    """A fake exports no more than is bent."""
    kinds = mutants.classes("cri").values()
    assert {*exported()} <= {seam for kind in kinds for seam in kind.seams().values()}
