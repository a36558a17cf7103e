"""The cases against the catalogue of what has to be tested."""

from __future__ import annotations

import fnmatch
from pathlib import Path

import pytest

from conformance.engine import cases, catalogue, fixtures, mutants, pages
from conformance.engine.interfaces import INTERFACES
from conformance.engine.level import MAY, MUST, SHOULD, Level
from conformance.engine.mutants import fates

every = pytest.mark.parametrize("interface", list(INTERFACES))


def _rows() -> dict[str, dict[str, str]]:
    folder = fixtures.folder() / "catalogue"
    return {
        id: row
        for path in sorted(folder.glob("*.json"))
        for id, row in catalogue.rows(path.stem).items()
    }


@every
def test_every_case_is_a_row(interface: str) -> None:
    """A case of our own would make the verdict ours and not the specification's."""
    assert set(cases.found(interface)) <= set(catalogue.rows(interface))


@pytest.mark.parametrize(
    ("id", "level"),
    [("CSI-PROTO-001", MUST), ("CSI-ID-013", SHOULD), ("CSI-LV-009", MAY), ("DP-PLG-012", MAY)],
)
def test_a_level_is_read_from_the_letters_of_a_row(id: str, level: Level) -> None:
    """Which stand for MUST, SHOULD, whose expectation it is, or what is only told."""
    assert catalogue.level(id) is level


def test_every_row_has_a_case_or_a_reason() -> None:
    """Nothing is forgotten and nothing is in both."""
    waiting = catalogue.deferred()
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
    assert set(fates.unkilled(interface)) <= known


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
