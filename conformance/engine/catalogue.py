"""The rows of the contracts: what has to be tested, how much each binds, and what waits."""

from __future__ import annotations

import functools
import json
import tomllib
from typing import Any

from conformance.engine import fixtures
from conformance.engine.interfaces import INTERFACES, interface_of
from conformance.engine.level import Level

__all__ = ["Row", "deferred", "level", "rows", "section"]

Row = dict[str, Any]

# The letters of the catalogue: MUST, SHOULD, informational, robustness, Kubernetes, practice,
# observed convention, accept set A1, quirks.
_LETTERS = {
    "M": Level.MUST,
    "A1": Level.MUST,
    **dict.fromkeys("SRKPO", Level.SHOULD),
    "I": Level.MAY,
    "Q": Level.MAY,
}


def rows(interface: str) -> dict[str, Row]:
    """The rows of an interface's contract by id; none where it has no contract."""
    owner = INTERFACES.get(interface)
    return _read(owner.catalogues if owner else (interface,))


@functools.cache
def _read(names: tuple[str, ...]) -> dict[str, Row]:
    paths = [fixtures.folder() / "catalogue" / f"{name}.json" for name in names]
    every = (row for path in paths if path.is_file() for row in json.loads(path.read_text()))
    return {row["id"]: row for row in every}


def level(id: str) -> Level:
    """How much a row binds; raises KeyError for an id that is no row."""
    letters = str(rows(interface_of(id))[id]["level"])
    return _LETTERS[letters if letters in _LETTERS else letters[0]]


@functools.cache
def deferred() -> dict[str, str]:
    """Rows that have no case yet: id or id glob, and the reason."""
    folder = fixtures.folder() / "catalogue"
    paths = [folder / "deferred.toml", *sorted((folder / "deferred").glob("*.toml"))]
    rows = (row for path in paths for row in tomllib.loads(path.read_text())["deferred"])
    return {row["id"]: row["reason"] for row in rows}


def section(id: str) -> str:
    """The section of the contract a case belongs to, empty for an unknown id."""
    title = str(rows(interface_of(id)).get(id, {}).get("section", ""))
    return title.partition(" ")[2] if title[:1] in "0123456789(" else title
