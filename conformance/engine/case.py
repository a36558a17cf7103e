"""A case: one requirement of a contract, as a test function that knows its id, level and source."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from typing import TypeVar

import attrs
import pytest

from conformance.engine import catalogue
from conformance.engine.interfaces import interface_of
from conformance.engine.level import Level
from conformance.engine.needs import Need

_ID = re.compile(r"[A-Z]+(-[A-Z]+)*-\d{3}$")
_ATTRIBUTE = "refimpl_case"

F = TypeVar("F", bound=Callable[..., object])


@attrs.frozen
class Case:
    """One row of the catalogue as it is implemented."""

    id: str
    level: Level
    source: str
    needs: tuple[Need, ...]
    title: str
    why: str
    heavy: bool
    alone: bool

    @property
    def interface(self) -> str:
        """`csi` for CSI-CTRL-019."""
        return interface_of(self.id)

    def unmet(self, target: object) -> str | None:
        """The first need the target does not meet, or None."""
        return next((reason for need in self.needs if (reason := need.unmet(target))), None)


PROPERTY = pytest.mark.xdist_group("properties")
"""Marks a case that hypothesis feeds: one worker has them all, as each that begins with one looks
through all modules for constants, which takes half a second."""


def case(
    id: str,
    source: str,
    *,
    needs: Sequence[Need] = (),
    heavy: bool = False,
    alone: bool = False,
) -> Callable[[F], F]:
    """Makes a test function the case of catalogue row `id`.

    Its level is that of the row; an id that is no row is a KeyError. source names document and
    section. heavy: makes thousands of objects, runs only when asked for
    or against our own fake. alone: needs the node for itself, so xdist keeps such cases together.
    """
    if not _ID.match(id):
        raise ValueError(f"{id!r} is no case id; ids look like CSI-CTRL-019")

    def mark(function: F) -> F:
        title = function.__name__.removeprefix("test_").replace("_", " ")
        why = inspect.cleandoc(function.__doc__ or "")
        row = Case(id, catalogue.level(id), source, tuple(needs), title, why, heavy, alone)
        setattr(function, _ATTRIBUTE, row)
        return function

    return mark


def case_of(function: object) -> Case | None:
    """The case a test function was made, or None for an ordinary test."""
    attached = getattr(function, _ATTRIBUTE, None)
    return attached if isinstance(attached, Case) else None
