"""Entries of pod resources."""

from __future__ import annotations

from typing import Any

from refimpl.deviceplugin.state.listing import DeviceEntry, allocatable, assigned, shown
from refimpl.deviceplugin.state.models import Container, Device, Pod

R = "example.com/gpu"
MIXED = [
    Device("both", nodes=(0, 1)),
    Device("empty", nodes=()),
    Device("ill", "Unhealthy", (0,)),
    Device("none"),
]


def test_a_device_is_shown_once_for_each_of_its_nodes(rig: Any, pod_of: Any) -> None:
    """Readers join entries by resource and id; what is assigned is shown even without nodes."""
    rig.plugin(MIXED)
    assert rig.admit(pod_of("u1", 3)).accepted
    entries = assigned(rig.tables.records.of_container("u1", "c0"))
    assert {*entries} == {
        DeviceEntry(R, "both", 0),
        DeviceEntry(R, "both", 1),
        DeviceEntry(R, "empty", None),
        DeviceEntry(R, "none", None),
    }


def test_allocatable_are_the_healthy_ones_but_for_those_of_no_nodes(rig: Any) -> None:
    """An empty topology is left out there, an unset one is not."""
    rig.plugin(MIXED)
    assert allocatable(rig.tables.devices) == (
        DeviceEntry(R, "both", 0),
        DeviceEntry(R, "both", 1),
        DeviceEntry(R, "none", None),
    )


def test_init_containers_are_shown_if_they_keep_running() -> None:
    """Those that end are left out."""
    ends, stays = Container("ends"), Container("stays", restartable=True)
    assert shown(Pod("u", (Container("app"),), (ends, stays))) == (stays, Container("app"))
