"""A case: one requirement of a contract, as a test function that knows its id, level and source."""

from __future__ import annotations

import enum
import inspect
import re
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

import attrs

_ID = re.compile(r"[A-Z]+(-[A-Z]+)*-\d{3}$")
_ATTRIBUTE = "refimpl_case"

# What ids begin with, where that is not the interface's own name.
_INTERFACES = dict.fromkeys(("DP", "PR", "REG", "TM"), "deviceplugin")
# Rows on registration that are about the plugin.
_SERVES = {"REG-015", "REG-029", "REG-030"}

F = TypeVar("F", bound=Callable[..., object])


class Level(enum.IntEnum):
    """How much a requirement binds, strictest first: a failed SHOULD or MAY only warns."""

    MUST = 1
    SHOULD = 2
    MAY = 3


MUST, SHOULD, MAY = Level


class Need(Protocol):
    """What a target must offer before a case makes sense on it."""

    def unmet(self, target: Any) -> str | None:
        """The reason to skip, as one phrase, or None where the target offers it."""


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


def case(
    id: str,
    level: Level,
    source: str,
    *,
    needs: Sequence[Need] = (),
    heavy: bool = False,
    alone: bool = False,
) -> Callable[[F], F]:
    """Makes a test function the case of catalogue row `id`.

    source names document and section. heavy: makes thousands of objects, runs only when asked for
    or against our own fake. alone: needs the node for itself, so xdist keeps such cases together.
    """
    if not _ID.match(id):
        raise ValueError(f"{id!r} is no case id; ids look like CSI-CTRL-019")

    def mark(function: F) -> F:
        title = function.__name__.removeprefix("test_").replace("_", " ")
        why = inspect.cleandoc(function.__doc__ or "")
        made = Case(id, level, source, tuple(needs), title, why, heavy, alone)
        setattr(function, _ATTRIBUTE, made)
        return function

    return mark


def interface_of(id: str) -> str:
    """The interface of an id or a glob of ids: `deviceplugin` for REG-001."""
    prefix = id.partition("-")[0]
    return _INTERFACES.get(prefix, prefix.lower())


def side_of(id: str) -> str:
    """Who is judged: `client`, which calls the interface, or `plugin`, which serves it."""
    calls = re.match(r"(PR|REG|TM|DP-KUB|[A-Z]+-CLI)-", id) and id not in _SERVES
    return "client" if calls else "plugin"


def case_of(function: object) -> Case | None:
    """The case a test function was made, or None for an ordinary test."""
    found = getattr(function, _ATTRIBUTE, None)
    return found if isinstance(found, Case) else None
