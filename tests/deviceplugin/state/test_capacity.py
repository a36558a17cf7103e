"""Counting, the grace period, and the node's status."""

from __future__ import annotations

from typing import Any

R = "example.com/gpu"


def test_a_resource_goes_when_it_is_counted_after_five_minutes(desk: Any) -> None:
    """DP-KUB-023: no timer, and exactly five minutes are not more than that."""
    desk.tables.endpoints.ended(desk.plugin(["a", "b"]))
    desk.clock.now += 300
    assert desk.counts() == (2, 0)
    desk.clock.now += 0.1
    assert R in desk.tables.devices.healthy
    counted = desk.state.count()
    assert counted.removed == (R,)
    assert counted.capacity == {}
    assert not desk.tables.ours(R)
    assert desk.state.count().removed == ()


def test_the_node_shows_a_removed_resource_as_none(desk: Any) -> None:
    """The key stays."""
    desk.tables.endpoints.ended(desk.plugin(["a", "b"]))
    desk.state.count()
    assert desk.state.node.capacity == {R: 2}
    desk.clock.now += 301
    desk.state.count()
    assert (desk.state.node.capacity, desk.state.node.allocatable) == ({R: 0}, {R: 0})


def test_a_plugin_that_comes_back_in_time_keeps_its_resource(desk: Any) -> None:
    """DP-KUB-024."""
    desk.tables.endpoints.ended(desk.plugin(["a"]))
    desk.clock.now += 299
    desk.plugin(["a"], socket="b.sock")
    desk.clock.now += 3600
    assert desk.counts() == (1, 1)


def test_allocated_devices_still_count(desk: Any, pod_of: Any) -> None:
    """The scheduler does that sum itself."""
    desk.plugin(["a", "b"])
    desk.admit(pod_of("u1", 2))
    assert desk.counts() == (2, 2)


def test_a_node_without_a_checkpoint_starts_from_none(desk: Any) -> None:
    """DP-KUB-059: it is taken for a new one."""
    desk.plugin(["a"])
    desk.state.count()
    desk.state.node.zero()
    assert desk.state.node.allocatable == {R: 0}
    desk.state.node.zero(["x.io/y"])
    assert desk.state.node.capacity == {R: 0, "x.io/y": 0}


def test_resources_do_not_disturb_each_other(desk: Any) -> None:
    """DP-KUB-031: each plugin has its own row."""
    for number in range(3):
        desk.plugin(["a"] * number, resource=f"x.io/r{number}", socket=f"{number}.sock")
    assert desk.state.count().capacity == {"x.io/r0": 0, "x.io/r1": 1, "x.io/r2": 1}


def test_a_list_for_a_resource_without_a_plugin_is_dropped_at_the_next_count(desk: Any) -> None:
    """The last message of a stream may come after its resource was removed."""
    desk.lists(["a"])
    assert desk.state.count().removed == (R,)
