"""The vectors of device placement as they are read: their notation, their stages, their rules."""

from __future__ import annotations

from functools import partial

import pytest

from conformance.deviceplugin.vectors import rows
from conformance.deviceplugin.vectors.rows import (
    MergeRow,
    RequestRow,
    SelectionRow,
    StagedResource,
    StartRow,
)
from conformance.engine.targets.revision import Revision
from refimpl.deviceplugin import topology
from refimpl.deviceplugin.profiles import settings_of

STAGES = rows.stages()


def _hints_text(stage: StagedResource, release: str) -> str:
    values = {
        "nodes": stage.nodes,
        "devices": stage.devices,
        "unhealthy": stage.unhealthy.split(),
        "in_use": stage.in_use.split(),
        "reusable": (),
        "request": stage.request,
    }
    hints = topology.answer("hints", values, settings_of(release))
    return "nil" if hints is None else " ".join(hints) or "none"


@pytest.mark.parametrize("stage", STAGES, ids=lambda stage: f"{len(stage.nodes)} {stage.hints}")
def test_a_stage_makes_the_hints_that_it_stands_for(stage: StagedResource) -> None:
    """In the releases that it is for; else a case would blame a client for the stage."""
    assert _hints_text(stage, "1.37") == stage.hints
    older = _hints_text(stage, "1.35")
    assert (older == stage.hints) == (stage.since == "1.0")


def test_every_id_has_a_rule_and_no_rule_is_left_over() -> None:
    """A rule is a sentence without marks, because it becomes the name of a function."""
    rules = rows.rules()
    assert set(rules) == set(rows.vectors())
    for id, rule in rules.items():
        assert rule.rule.replace(" ", "").isalnum(), id
        assert len(rule.why.split()) > 5, id
    assert len({rule.rule for rule in rules.values()}) == len(rules)


def test_vectors_of_a_kind_are_found_by_their_first_row() -> None:
    """TM-064 has three rows, TM-040 two."""
    assert rows.of_kind(StartRow) == ["TM-040"]
    assert rows.of_kind(RequestRow, SelectionRow) == [f"TM-{number:03}" for number in range(49, 66)]


def test_notation() -> None:
    """Hints and outcomes."""
    assert rows.nodes_in("{0,12}+") == [0, 12]
    assert rows.nodes_in("nil-") is None
    assert rows.all_nodes((0, 2)) == "{0,2}-"
    assert rows.split_outcome("{0,1}- R") == ("{0,1}-", False)
    assert rows.split_outcome("A") == ("", True)


def test_older_releases_have_other_hints_and_outcomes() -> None:
    """Where a row says so, and for best-effort only."""
    [row] = rows.vectors()["TM-068"]
    assert isinstance(row, MergeRow)
    outcome = partial(row.outcome, "best-effort")
    older, newer = Revision("kubernetes", "1.35"), Revision("kubernetes", "1.36")
    assert (outcome(older), outcome(newer)) == ("{0,1}- A", "{1}- A")
    assert row.outcome("restricted", older) == row.outcome("restricted", newer) == "R"
