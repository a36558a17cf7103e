"""Settings: what is advertised, what follows from it, and what contradicts itself."""

from __future__ import annotations

from typing import Any

import pytest

from refimpl.csi.state.capabilities import PREREQUISITES, UNTIL_1_12
from refimpl.csi.state.models import AccessMode
from refimpl.csi.state.settings import DriverSettings
from refimpl.wire.status import Code


@pytest.mark.parametrize("rpc", PREREQUISITES)
def test_the_default_offers_every_rpc_of_its_revision(rpc: str) -> None:
    """The default is the fake with everything on."""
    DriverSettings(revision="1.13").demand(rpc)
    assert (rpc in DriverSettings(revision="1.12").refusals) == (PREREQUISITES[rpc].since == "1.13")


def test_an_rpc_without_its_capability_is_refused_by_name(refused: Any) -> None:
    """The caller has to see which capability is missing, not only that something is."""
    settings = DriverSettings().without("controller:EXPAND_VOLUME")
    with refused(Code.UNIMPLEMENTED, "ControllerExpandVolume", "controller capability EXPAND"):
        settings.demand("ControllerExpandVolume")
    settings.demand("NodeExpandVolume")


def test_an_rpc_of_a_missing_service_is_refused(refused: Any) -> None:
    """No CONTROLLER_SERVICE, no Controller."""
    settings = DriverSettings().without("CONTROLLER_SERVICE")
    with refused(Code.UNIMPLEMENTED, "CONTROLLER_SERVICE"):
        settings.demand("ValidateVolumeCapabilities")
    with refused(Code.UNIMPLEMENTED, "no Node service"):
        DriverSettings(node_service=False).demand("NodeGetInfo")


def test_an_rpc_of_a_later_revision_is_refused(refused: Any) -> None:
    """A driver of 1.12 knows nothing of health."""
    with refused(Code.UNIMPLEMENTED, "1.12"):
        DriverSettings(revision="1.12").demand("NodeGetStorageHealth")


def test_a_plain_name_is_dropped_wherever_it_is_advertised() -> None:
    """EXPAND_VOLUME is a capability of the controller and of the node."""
    settings = DriverSettings().without("EXPAND_VOLUME")
    assert not settings.has("controller", "EXPAND_VOLUME")
    assert not settings.has("node", "EXPAND_VOLUME")
    # With nobody left to expand, no way of expansion may be told.
    assert settings.expansion == frozenset()


@pytest.mark.parametrize(
    ("dropped", "missing"),
    [
        ("PUBLISH_UNPUBLISH_VOLUME", ("controller", "LIST_VOLUMES_PUBLISHED_NODES")),
        ("CREATE_DELETE_VOLUME", ("controller", "LIST_SNAPSHOTS")),
        ("CREATE_DELETE_SNAPSHOT", ("plugin", "SNAPSHOT_METADATA_SERVICE")),
        ("GROUP_CONTROLLER_SERVICE", ("group", "CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT")),
        ("controller:GET_VOLUME_HEALTH", ("controller", "LIST_VOLUME_HEALTH")),
    ],
)
def test_what_cannot_stand_alone_goes_along(dropped: str, missing: tuple[str, str]) -> None:
    """A driver with half of an implication would be wrong in itself."""
    settings = DriverSettings().without(dropped)
    assert not settings.has(*missing)


def test_an_unknown_capability_is_named() -> None:
    """A misspelt name must not silently drop nothing."""
    with pytest.raises(ValueError, match="CLONE_VOLUMES"):
        DriverSettings().without("CLONE_VOLUMES")
    with pytest.raises(ValueError, match="node:CLONE_VOLUME"):
        DriverSettings().without("node:CLONE_VOLUME")


def test_contradictions_are_refused_at_once() -> None:
    """All problems are told together, in the words of the specification's names."""
    with pytest.raises(ValueError, match=r"LIST_VOLUMES_PUBLISHED_NODES.*ONLINE") as caught:
        DriverSettings(
            controller=frozenset({"LIST_VOLUMES_PUBLISHED_NODES"}),
            node=frozenset(),
            expansion=frozenset({"ONLINE"}),
            plugin=frozenset({"CONTROLLER_SERVICE"}),
            group=frozenset(),
        )
    assert "PUBLISH_UNPUBLISH_VOLUME" in str(caught.value)


@pytest.mark.parametrize("name", sorted(UNTIL_1_12))
def test_a_name_the_revision_does_not_know_is_refused(name: tuple[str, str]) -> None:
    """1.13 reserves the numbers of the conditions."""
    group, bare = name
    with pytest.raises(ValueError, match=f"{bare} does not exist in CSI 1.13"):
        DriverSettings(**{group: getattr(DriverSettings(), group) | {bare}})


@pytest.mark.parametrize("name", sorted(UNTIL_1_12))
def test_a_driver_in_transition_tells_both_revisions(name: tuple[str, str]) -> None:
    """Conditions for callers of 1.12, health for those of 1.13."""
    group, bare = name
    settings = DriverSettings(**{group: getattr(DriverSettings(), group) | {bare}}, transition=True)
    assert settings.has(group, bare)
    assert settings.has(group, "GET_VOLUME_HEALTH")


@pytest.mark.parametrize(
    "values", [{"granule": 0}, {"pools": {}}, {"zones": ()}, {"volume_zones": 0}]
)
def test_values_that_cannot_work_are_refused(values: dict[str, object]) -> None:
    """A granule of 0 would end in a division by zero at the first CreateVolume."""
    with pytest.raises(ValueError, match=next(iter(values))):
        DriverSettings(**values)


def test_the_fine_modes_follow_the_capability_of_each_side() -> None:
    """Kubernetes picks modes by the controller's and by the node's capability separately."""
    settings = DriverSettings().without("node:SINGLE_NODE_MULTI_WRITER")
    assert AccessMode.SINGLE_NODE_SINGLE_WRITER in settings.controller_modes
    assert AccessMode.SINGLE_NODE_SINGLE_WRITER not in settings.node_modes
    assert AccessMode.SINGLE_NODE_WRITER in settings.node_modes
