"""Buckets and choices beyond the vectors."""

from __future__ import annotations

import pytest

from refimpl.deviceplugin.state.models import Device
from refimpl.deviceplugin.state.order import adversarial, in_order
from refimpl.deviceplugin.state.select import DeviceBuckets, select, split


def test_node_minus_one_means_no_node() -> None:
    """Some plugins report it for what has none; with another node beside, that one counts."""
    known = {
        "a": Device("a", nodes=(0,)),
        "b": Device("b", nodes=(-1,)),
        "c": Device("c", nodes=(-1, 1)),
    }
    buckets = split(known, known, 0b1)
    assert buckets == DeviceBuckets(frozenset("a"), frozenset("c"), frozenset("b"))


def test_a_device_that_is_not_known_is_unplaced() -> None:
    """It may have left the list a moment ago."""
    known = {"a": Device("a", nodes=(0,))}
    assert split(known, ["a", "x"], 0b1).unplaced == {"x"}


def test_the_order_decides_where_nothing_else_does() -> None:
    """Sorted by default, so that a run can be repeated."""
    known = {name: Device(name) for name in "abc"}
    for order, wanted in ((in_order, ["a", "b"]), (adversarial, ["c", "a"])):
        choice = select(2, known, known, (), None, order)
        next(choice)
        with pytest.raises(StopIteration) as stop:
            choice.send(())
        assert stop.value.value == wanted
