"""refimpl.csi.services.node: messages in, messages out."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, cast

import pytest

from refimpl.csi.api import csi_pb2 as pb
from refimpl.csi.services.node import NodeService
from refimpl.csi.state import DriverState
from refimpl.csi.state.models import AccessMode, VolumeCapability
from refimpl.csi.state.node import NodeState
from refimpl.csi.state.ports import SpaceUsage, numbered
from refimpl.csi.state.settings import DriverSettings
from refimpl.csi.state.volumes.requests import NewVolume
from refimpl.csi.storage.memory import MemoryStorage
from refimpl.wire.server import Call
from refimpl.wire.status import Code, Refused

CALL = cast(Call, None)
SHARED = pb.VolumeCapability(
    mount=pb.VolumeCapability.MountVolume(fs_type="ext4", mount_flags=["ro"]),
    access_mode=pb.VolumeCapability.AccessMode(
        mode=pb.VolumeCapability.AccessMode.MULTI_NODE_MULTI_WRITER
    ),
)
Driver = Callable[..., tuple[DriverState, NodeService, list[str]]]


@pytest.fixture
def driver() -> Driver:
    """A driver with a volume "volume-1" attached to its node, and the crash points passed."""

    def made(**choices: Any) -> tuple[DriverState, NodeService, list[str]]:
        state = DriverState(
            DriverSettings(**choices), clock=lambda: 0.0, ids=numbered(), storage=MemoryStorage()
        )
        capability = VolumeCapability("mount", AccessMode.MULTI_NODE_MULTI_WRITER)
        volume = state.volumes.create(NewVolume("v", (capability,)))
        state.attachments.publish(volume.id, "node-0", capability, False, {}, {})
        points: list[str] = []
        return state, NodeService(NodeState(state.tables, "node-0"), points.append), points

    return made


def test_every_rpc_has_a_method() -> None:
    """One that is missing would be UNIMPLEMENTED whatever is advertised."""
    service = pb.DESCRIPTOR.services_by_name["Node"]
    methods = {name for name, _ in inspect.getmembers(NodeService, inspect.isfunction)}
    assert {method.name for method in service.methods} <= methods


def test_info_and_capabilities(driver: Driver) -> None:
    """Id, limit, place; capabilities in the order of their numbers."""
    _, node, _ = driver()
    info = node.NodeGetInfo(pb.NodeGetInfoRequest(), CALL)
    assert (info.node_id, info.max_volumes_per_node) == ("node-0", 64)
    assert dict(info.accessible_topology.segments) == {
        "topology.csi.refimpl.example/zone": "zone-a"
    }
    reported = node.NodeGetCapabilities(pb.NodeGetCapabilitiesRequest(), CALL).capabilities
    assert [item.rpc.type for item in reported] == [1, 2, 3, 5, 6, 7, 8]
    _, node, _ = driver(revision="1.12")
    reported = node.NodeGetCapabilities(pb.NodeGetCapabilitiesRequest(), CALL).capabilities
    assert [item.rpc.type for item in reported] == [1, 2, 3, 4, 5, 6]


def test_a_life_over_the_messages(driver: Driver) -> None:
    """Every field arrives where it belongs."""
    state, node, points = driver()
    node.NodeStageVolume(
        pb.NodeStageVolumeRequest(
            volume_id="volume-1", staging_target_path="/s", volume_capability=SHARED
        ),
        CALL,
    )
    node.NodePublishVolume(
        pb.NodePublishVolumeRequest(
            volume_id="volume-1",
            staging_target_path="/s",
            target_path="/t",
            volume_capability=SHARED,
            readonly=True,
        ),
        CALL,
    )
    (publication,) = state.tables.publications.values()
    assert (publication.target, publication.staging, publication.readonly) == ("/t", "/s", True)
    assert publication.capability.mount_flags == ("ro",)
    node.NodeUnpublishVolume(
        pb.NodeUnpublishVolumeRequest(volume_id="volume-1", target_path="/t"), CALL
    )
    node.NodeUnstageVolume(
        pb.NodeUnstageVolumeRequest(volume_id="volume-1", staging_target_path="/s"), CALL
    )
    assert not state.tables.uses
    assert points == [
        f"Node{verb}Volume.{moment}_effect"
        for verb in ("Stage", "Publish", "Unpublish", "Unstage")
        for moment in ("before", "after")
    ]


@pytest.mark.parametrize("rpc", ["NodeStageVolume", "NodePublishVolume"])
def test_a_missing_capability_is_missing(rpc: str, driver: Driver) -> None:
    """An unset message is not an empty one."""
    _, node, _ = driver()
    request = getattr(pb, f"{rpc}Request")(volume_id="volume-1", staging_target_path="/s")
    if rpc == "NodePublishVolume":
        request.target_path = "/t"
    with pytest.raises(Refused, match="volume_capability is missing") as caught:
        getattr(node, rpc)(request, CALL)
    assert caught.value.code == Code.INVALID_ARGUMENT


def test_statistics_and_condition(driver: Driver) -> None:
    """volume_condition is set in 1.12 and never in 1.13."""
    request = pb.NodeGetVolumeStatsRequest(volume_id="volume-1", volume_path="/s")
    stage = pb.NodeStageVolumeRequest(
        volume_id="volume-1", staging_target_path="/s", volume_capability=SHARED
    )
    for revision in ("1.12", "1.13"):
        _, node, _ = driver(revision=revision)
        node.NodeStageVolume(stage, CALL)
        reply = node.NodeGetVolumeStats(request, CALL)
        assert [(item.unit, item.total) for item in reply.usage] == [
            (pb.VolumeUsage.BYTES, 1 << 30)
        ]
        assert reply.HasField("volume_condition") == (revision == "1.12")


def test_inodes_are_told_where_the_storage_counts_them(driver: Driver) -> None:
    """A second entry beside the bytes."""
    state, node, _ = driver()
    node.NodeStageVolume(
        pb.NodeStageVolumeRequest(
            volume_id="volume-1", staging_target_path="/s", volume_capability=SHARED
        ),
        CALL,
    )
    state.tables.storage.usage = lambda *_: SpaceUsage((9, 4, 5), (3, 1, 2))  # type: ignore[method-assign]
    request = pb.NodeGetVolumeStatsRequest(volume_id="volume-1", volume_path="/s")
    assert list(node.NodeGetVolumeStats(request, CALL).usage) == [
        pb.VolumeUsage(unit=pb.VolumeUsage.BYTES, total=9, used=4, available=5),
        pb.VolumeUsage(unit=pb.VolumeUsage.INODES, total=3, used=1, available=2),
    ]


def test_expansion_with_and_without_a_range(driver: Driver) -> None:
    """An unset range is not an empty one."""
    _, node, _ = driver()
    node.NodeStageVolume(
        pb.NodeStageVolumeRequest(
            volume_id="volume-1", staging_target_path="/s", volume_capability=SHARED
        ),
        CALL,
    )
    request = pb.NodeExpandVolumeRequest(volume_id="volume-1", volume_path="/s")
    assert node.NodeExpandVolume(request, CALL).capacity_bytes == 1 << 30
    request.capacity_range.SetInParent()
    with pytest.raises(Refused) as caught:
        node.NodeExpandVolume(request, CALL)
    assert caught.value.code == Code.INVALID_ARGUMENT


def test_health_of_volume_and_storage(driver: Driver) -> None:
    """Entries with all their fields; a healthy volume has an entry, too."""
    state, node, _ = driver()
    request = pb.NodeGetVolumeHealthRequest(volume_id="volume-1")
    healthy = node.NodeGetVolumeHealth(request, CALL)
    assert healthy.HasField("volume_health")
    assert healthy.volume_health == pb.VolumeHealth(volume_id="volume-1")
    state.health.break_volume("volume-1", "DATA_LOSS", "Lost", "some")
    (entry,) = node.NodeGetVolumeHealth(request, CALL).volume_health.health_statuses
    assert (entry.status, entry.reason, entry.message) == (pb.DATA_LOSS, "Lost", "some")
    block = VolumeCapability("block", AccessMode.SINGLE_NODE_WRITER)
    state.health.break_storage("STORAGE_DEGRADED", "Slow", "very", capability=block)
    state.health.break_storage("STORAGE_UNREACHABLE", "Gone")
    reported = node.NodeGetStorageHealth(pb.NodeGetStorageHealthRequest(), CALL).backend_health
    assert [(item.status, item.reason) for item in reported] == [
        (pb.STORAGE_DEGRADED, "Slow"),
        (pb.STORAGE_UNREACHABLE, "Gone"),
    ]
    assert reported[0].volume_capability.HasField("block")
    assert [item.HasField("volume_capability") for item in reported] == [True, False]
