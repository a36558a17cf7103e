"""What our kubelet answers to questions on its topology manager. Its answers to the vectors are in
tests/deviceplugin/state/test_vectors.py."""

from __future__ import annotations

import pytest

from refimpl.deviceplugin.profiles import settings_of
from refimpl.deviceplugin.topology import answer

NOW = settings_of("1.37")
ONE = {"nodes": [0, 1], "devices": {"a": [1]}, "unhealthy": [], "in_use": [], "reusable": []}


def test_hints_are_those_of_the_release() -> None:
    """Since 1.36 without nodes that have no device."""
    assert answer("hints", {**ONE, "request": 1}, NOW) == ["{1}+"]
    assert answer("hints", {**ONE, "request": 1}, settings_of("1.30")) == ["{1}+", "{0,1}-"]
    assert answer("hints", {**ONE, "request": 2}, NOW) == []
    assert answer("hints", {**ONE, "devices": {"a": []}, "request": 1}, NOW) is None


def test_no_node_and_no_wish_have_words() -> None:
    """`nil` is a mask of no nodes, None a list of hints that does not care."""
    values = {"nodes": [0], "distances": [], "options": {}, "providers": [{"r": None}]}
    placed = answer("merge", {**values, "policy": "single-numa-node"}, NOW)
    assert placed == {"hint": "nil+", "admitted": True}
    values = {**values, "providers": [{"r": ["nil+"]}, {"s": ["{0}-"]}]}
    placed = answer("merge", {**values, "policy": "restricted"}, NOW)
    assert placed == {"hint": "{0}-", "admitted": False}


def test_buckets_have_all_that_is_free() -> None:
    """And nothing else."""
    values = {"devices": {"a": [0], "b": [1], "c": []}, "free": ["b", "c"], "hint": "{0}+"}
    buckets = answer("buckets", values, NOW)
    assert buckets == {"aligned": [], "unaligned": ["b"], "unplaced": ["c"]}


def test_other_questions_are_not_known() -> None:
    """To be told apart from an answer that is wrong."""
    with pytest.raises(LookupError):
        answer("weather", {}, NOW)
