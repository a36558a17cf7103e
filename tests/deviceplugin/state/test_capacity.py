"""Counting, the grace period, and the node's status."""

from __future__ import annotations

from typing import Any

R = "example.com/gpu"


def test_a_resource_goes_when_it_is_counted_after_five_minutes(rig: Any) -> None:
    """DP-KUB-023: no timer, and exactly five minutes are not more than that."""
    rig.tables.endpoints.ended(rig.plugin(["a", "b"]))
    rig.clock.now += 300
    assert rig.counts() == (2, 0)
    rig.clock.now += 0.1
    assert R in rig.tables.devices.healthy
    counted = rig.state.count()
    assert counted.removed == (R,)
    assert counted.capacity == {}
    assert not rig.tables.ours(R)
    assert rig.state.count().removed == ()


def test_the_node_shows_a_removed_resource_as_none(rig: Any) -> None:
    """The key stays."""
    rig.tables.endpoints.ended(rig.plugin(["a", "b"]))
    rig.state.count()
    assert rig.state.node.capacity == {R: 2}
    rig.clock.now += 301
    rig.state.count()
    assert (rig.state.node.capacity, rig.state.node.allocatable) == ({R: 0}, {R: 0})


def test_a_plugin_that_comes_back_in_time_keeps_its_resource(rig: Any) -> None:
    """DP-KUB-024."""
    rig.tables.endpoints.ended(rig.plugin(["a"]))
    rig.clock.now += 299
    rig.plugin(["a"], socket="b.sock")
    rig.clock.now += 3600
    assert rig.counts() == (1, 1)


def test_allocated_devices_still_count(rig: Any, pod_of: Any) -> None:
    """The scheduler does that sum itself."""
    rig.plugin(["a", "b"])
    rig.admit(pod_of("u1", 2))
    assert rig.counts() == (2, 2)


def test_a_node_without_a_checkpoint_starts_from_none(rig: Any) -> None:
    """DP-KUB-059: it is taken for a new one."""
    rig.plugin(["a"])
    rig.state.count()
    rig.state.node.zero()
    assert rig.state.node.allocatable == {R: 0}
    rig.state.node.zero(["x.io/y"])
    assert rig.state.node.capacity == {R: 0, "x.io/y": 0}


def test_resources_do_not_disturb_each_other(rig: Any) -> None:
    """DP-KUB-031: each plugin has its own row."""
    for number in range(3):
        rig.plugin(["a"] * number, resource=f"x.io/r{number}", socket=f"{number}.sock")
    assert rig.state.count().capacity == {"x.io/r0": 0, "x.io/r1": 1, "x.io/r2": 1}


def test_a_list_for_a_resource_without_a_plugin_is_dropped_at_the_next_count(rig: Any) -> None:
    """The last message of a stream may come after its resource was removed."""
    rig.lists(["a"])
    assert rig.state.count().removed == (R,)
