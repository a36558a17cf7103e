"""The tables of capabilities, against the schema they describe."""

from __future__ import annotations

import pytest

from refimpl.csi.api import csi_pb2 as pb
from refimpl.csi.state.capabilities import (
    IMPLICATIONS,
    NUMBERS,
    PREREQUISITES,
    SINCE_1_13,
    UNTIL_1_12,
    everything,
)

ENUMS = {
    "plugin": pb.PluginCapability.Service.Type,
    "expansion": pb.PluginCapability.VolumeExpansion.Type,
    "controller": pb.ControllerServiceCapability.RPC.Type,
    "group": pb.GroupControllerServiceCapability.RPC.Type,
    "node": pb.NodeServiceCapability.RPC.Type,
}


@pytest.mark.parametrize("group", NUMBERS)
def test_names_and_numbers_are_those_of_the_schema(group: str) -> None:
    """A wrong number would advertise another capability than the one that works."""
    wire = {name: number for name, number in ENUMS[group].items() if number}
    assert dict(NUMBERS[group]) == wire


def test_every_rpc_of_every_service_has_a_prerequisite() -> None:
    """An RPC without one could not be switched off."""
    rpcs = {
        method.name
        for service in pb.DESCRIPTOR.services_by_name.values()
        for method in service.methods
    }
    assert set(PREREQUISITES) == rpcs
    assert len(rpcs) == 36


def test_the_revisions_differ_in_what_they_know() -> None:
    """1.13 removed conditions and brought health."""
    assert "VOLUME_CONDITION" in everything("controller", "1.12")
    assert "VOLUME_CONDITION" not in everything("node", "1.13")
    assert "LIST_VOLUME_HEALTH" not in everything("controller", "1.12")
    assert "SNAPSHOT_ACCESSIBILITY_CONSTRAINTS" in everything("plugin", "1.13")


def test_only_known_names_are_spoken_of() -> None:
    """A misspelt name in a rule would never match and never be noticed."""
    spoken = {name for rule in IMPLICATIONS for name in (rule.name, *rule.one_of)}
    spoken |= (
        {name for prerequisite in PREREQUISITES.values() for name in prerequisite.names}
        | SINCE_1_13
        | UNTIL_1_12
    )
    assert all(bare in NUMBERS[group] for group, bare in spoken)
