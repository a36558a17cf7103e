"""What a list does to a resource."""

from __future__ import annotations

from typing import Any

import pytest

from refimpl.deviceplugin.state.devices import Devices
from refimpl.deviceplugin.state.models import Device

R = "example.com/gpu"


def test_healthy_and_unhealthy_devices_are_counted_apart(rig: Any) -> None:
    """DP-KUB-011: capacity counts both, allocatable the healthy ones."""
    rig.plugin(["a", "b", "c", Device("d", "Unhealthy")])
    assert rig.counts() == (4, 3)


@pytest.mark.parametrize("health", ["healthy", "", "Unknown", "HEALTHY", "Healthy "])
def test_every_other_word_is_unhealthy(rig: Any, health: str) -> None:
    """DP-KUB-012: the comparison is exact."""
    rig.plugin([Device("a", health)])
    assert rig.counts() == (1, 0)


def test_an_empty_list_leaves_a_resource_of_none(rig: Any) -> None:
    """DP-KUB-013: the plugin still serves it."""
    connection = rig.plugin(["a"])
    rig.lists([])
    assert rig.counts() == (0, 0)
    assert connection.stopped is None


def test_before_the_first_list_there_is_no_resource(rig: Any) -> None:
    """DP-KUB-010: registering alone shows nothing."""
    connection = rig.tables.endpoints.register(R, "a.sock")
    rig.tables.endpoints.connect(connection, connection.options)
    assert rig.counts() is None


def test_a_list_replaces_the_one_before(rig: Any) -> None:
    """DP-KUB-014: there is no difference to send."""
    rig.plugin(["a", "b", "c"])
    rig.lists(["b"])
    assert rig.counts() == (1, 1)
    assert {*rig.tables.devices.of(R)} == {"b"}


def test_an_id_listed_twice_counts_once(rig: Any) -> None:
    """DP-KUB-015."""
    rig.plugin(["a", "a"])
    assert rig.counts() == (1, 1)


def test_an_id_listed_as_both_counts_twice_in_capacity(rig: Any) -> None:
    """DP-KUB-016: it is in both sets; the map keeps what came last."""
    rig.plugin([Device("a"), Device("a", "Unhealthy")])
    assert rig.counts() == (2, 1)
    assert not rig.tables.devices.device(R, "a").healthy


@pytest.mark.parametrize("name", ["", "n" * 63, "n" * 64, "n" * 300, "gerät-ß"])
def test_no_id_is_refused(rig: Any, name: str) -> None:
    """DP-KUB-017: the limit of 63 is one for plugins only."""
    rig.plugin([name])
    assert rig.counts() == (1, 1)


def test_changed_are_new_ids_and_those_of_another_health() -> None:
    """Gone ones are not: nothing is told of them."""
    devices = Devices()
    assert devices.take(R, [Device("a"), Device("b")]).changed == ("a", "b")
    assert devices.take(R, [Device("a"), Device("b", "Unhealthy")]).changed == ("b",)
    assert devices.take(R, [Device("b", "Unhealthy")]).changed == ()
    assert devices.take(R, [Device("a"), Device("b", "odd")]).changed == ("a", "b")


def test_a_place_counts_as_soon_as_one_device_has_a_node() -> None:
    """A topology without nodes is none."""
    devices = Devices()
    devices.take(R, [Device("a"), Device("b", nodes=())])
    assert not devices.placed(R)
    devices.take(R, [Device("a"), Device("b", nodes=(0,))])
    assert devices.placed(R)
