"""Vectors as plays: what is set up, under which policy, and which calls show the placement."""

from __future__ import annotations

import pytest

from conformance.deviceplugin.vectors.rows import (
    BucketsRow,
    HintsRow,
    MergeRow,
    StagedResource,
    Step,
    Vector,
    of_kind,
    vectors,
)
from conformance.deviceplugin.vectors.staged import OWN, Play, distances, plays_of, steps_of
from conformance.engine.targets.revision import Revision

DEV2 = {"d0": [0], "d1": [0], "d2": [1], "d3": [1]}


def _plays(id: str) -> list[Play]:
    newest = Revision("kubernetes", "1.37")
    return [play for row in vectors()[id] for play in plays_of(row, newest) or ()]


def _unshown(number: str) -> set[str]:
    kinds = (HintsRow, MergeRow, BucketsRow)
    ids, release = of_kind(*kinds), Revision("kubernetes", number)
    return {id for id in ids if any(plays_of(row, release) is None for row in _rows(id))}


def _rows(id: str) -> tuple[Vector, ...]:
    return vectors()[id]


@pytest.mark.parametrize(
    ("request_", "hint", "calls"),
    [
        (1, "{0}+", [Step(available="d0 d1", size=1), Step(allocate=1, excludes="d2 d3")]),
        (2, "{0}+", [Step(allocate=2, includes="d0 d1")]),
        (
            3,
            "{0}-",
            [
                Step(available="d0 d1 d2 d3", must="d0 d1", size=3),
                Step(allocate=3, includes="d0 d1"),
            ],
        ),
        (1, "nil+", [Step(available="d0 d1 d2 d3", size=1), Step(allocate=1)]),
    ],
)
def test_calls_tell_where_a_pod_was_placed(request_: int, hint: str, calls: list[Step]) -> None:
    """More than enough devices there, just enough, too few, and no placement."""
    assert steps_of(StagedResource(devices=DEV2, request=request_), hint) == calls


@pytest.mark.parametrize("id", of_kind(BucketsRow))
def test_the_calls_agree_with_the_buckets_of_the_vectors(id: str) -> None:
    """Which are not what the calls are made from."""
    for row in _rows(id):
        assert isinstance(row, BucketsRow)
        steps = steps_of(row.stage, row.hint)
        aligned = {*row.aligned.split()}
        names = {name for step in steps for name in step.available.split()}
        if row.request < len(aligned):
            assert names == aligned
        else:
            assert names == (set() if row.request == len(aligned) else {*row.stage.free})
            assert aligned <= {*steps[-1].includes.split()}
            assert {*steps[-1].excludes.split()} <= {*row.unplaced.split()}


def test_hints_show_under_the_strictest_policy_that_tells_them() -> None:
    """What restricted refuses is placed by best-effort, unless there are too few devices."""
    placed, refused = (
        [(play.choices.policy, play.steps is None) for play in _plays(id)]
        for id in ("TM-001", "TM-005")
    )
    assert placed == [("restricted", False)]
    assert refused == [("restricted", True), ("best-effort", False)]
    assert [p.steps for p in _plays("TM-020")] == [None]
    assert [p.choices.policy for p in _plays("TM-011")] == ["single-numa-node"]


def test_merges_show_by_resources_that_have_such_hints() -> None:
    """Each with a plugin of its own."""
    refused, placed = _plays("TM-026")
    assert (refused.choices.policy, refused.steps) == ("restricted", None)
    assert placed.choices.nodes == distances([0, 1]) == {0: (10, 20), 1: (20, 10)}
    assert placed.steps == {
        "r": [Step(allocate=2, includes="near far")],
        "cpu": [Step(available="a0 b0 a1 b1", size=1), Step(allocate=1)],
    }


def test_distances_and_options_are_those_of_the_vector() -> None:
    """The last two rows of a machine with four nodes."""
    for play in _plays("TM-038"):
        assert play.choices.nodes[1] == (30, 10, 30, 11)
        assert play.choices.options == {"prefer-closest-numa-nodes": "true"}


def test_a_device_that_is_used_again_shows_beside_another_resource() -> None:
    """Which goes where the device is."""
    [play] = _plays("TM-007")
    assert play.steps is not None
    assert play.steps["shows"] == [
        Step(available="a1 b1", size=1),
        Step(allocate=1, excludes="a0 b0"),
    ]
    assert play.init == {OWN: 1, "leads": 1}


def test_what_no_devices_can_show_is_known() -> None:
    """Hints that only other managers make; and those that older kubelets make of more nodes."""
    never = {"TM-028", "TM-032", "TM-033", "TM-035"}
    assert _unshown("1.37") == never
    assert _unshown("1.35") == never | {"TM-029", "TM-047", "TM-070"}
    assert _unshown("1.27") == _unshown("1.35") | {"TM-038", "TM-039"}
