"""The cases against the catalogue of what has to be tested."""

from __future__ import annotations

import fnmatch
from pathlib import Path

import pytest

from conformance.engine import cases, fixtures, matrix, mutants, pages
from conformance.engine.target import INTERFACES

# The letters of the catalogue: MUST, SHOULD, informational, robustness, Kubernetes, practice,
# accept set A1, quirks.
_SOFT = dict.fromkeys("SRKP", "SHOULD")
LEVELS = {"M": "MUST", **_SOFT, "I": "MAY", "Q": "MAY", "A1": "MUST"}
every = pytest.mark.parametrize("interface", list(INTERFACES))


def _level(letters: str) -> str:
    return LEVELS[letters if letters in LEVELS else letters[0]]


def _rows() -> dict[str, dict[str, str]]:
    folder = fixtures.folder() / "catalogue"
    return {
        id: row
        for path in sorted(folder.glob("*.json"))
        for id, row in fixtures.catalogue(path.stem).items()
    }


@every
def test_every_case_is_a_row_and_has_its_level(interface: str) -> None:
    """A level of our own would make the verdict ours and not the specification's."""
    rows = fixtures.catalogue(interface)
    wrong = {
        id: (entry.case.level.name, rows.get(id, {}).get("level", "no row"))
        for id, entry in cases.found(interface).items()
        if id not in rows or entry.case.level.name != _level(rows[id]["level"])
    }
    assert wrong == {}


def test_every_row_has_a_case_or_a_reason() -> None:
    """Nothing is forgotten and nothing is in both."""
    waiting = fixtures.deferred()
    implemented = {entry.case.id for entry in cases.all_cases()}
    rows = set(_rows())
    reasoned = {id for id in rows for glob in waiting if fnmatch.fnmatchcase(id, glob)}
    assert rows - implemented - reasoned == set(), "neither case nor reason"
    assert implemented & reasoned == set(), "a case and a reason to have none"
    idle = [glob for glob in waiting if not any(fnmatch.fnmatchcase(id, glob) for id in rows)]
    assert idle == [], "deferred, but no row"
    assert all(waiting.values())


@every
def test_every_case_says_why_it_matters(interface: str) -> None:
    """The docstring is what a vendor reads when it fails."""
    silent = [id for id, entry in cases.found(interface).items() if len(entry.case.why) < 20]
    assert silent == []


@every
def test_mutants_name_cases_that_exist(interface: str) -> None:
    """A typing error in `kills` would make a mutant immortal."""
    known = set(cases.found(interface))
    for name, mutant in mutants.classes(interface).items():
        assert set(mutant.kills) <= known, name
        assert mutant.__doc__, f"{name} does not say what it breaks"
    assert set(matrix.unkilled(interface)) <= known


@every
def test_an_explanation_fits_a_terminal(interface: str) -> None:
    """80 columns, for every case."""
    for id in cases.found(interface):
        text = cases.explanation(id)
        assert all(len(line) <= 80 for line in text.splitlines()), id


def test_the_pages_of_the_catalogue_are_up_to_date() -> None:
    """docs/catalogue is generated; `python -m conformance.engine.pages` mends it."""
    root = Path(__file__).parents[2]
    for interface in INTERFACES:
        assert (root / "docs" / "catalogue" / f"{interface}.md").read_text() == pages.page(
            interface
        )
