"""What is wrong with volumes and storage."""

from __future__ import annotations

from typing import Any

import pytest

from refimpl.csi.state.models import StorageStatus, VolumeStatus
from refimpl.csi.state.volumes.health import condition, storage_faults, volume_faults
from refimpl.wire.status import Code


def reasons(desk: Any, volume_id: str) -> list[str]:
    return [fault.reason for fault in desk.state.health.get(volume_id, {}).faults]


def sick(desk: Any, **page: Any) -> list[str]:
    listing = desk.state.health.list(page.get("token", ""), page.get("most", 0), {})
    return [health.volume_id for health in listing.entries]


def test_a_fault_stays_until_it_is_repaired(desk: Any) -> None:
    """And a healthy volume has none, but an answer."""
    volume = desk.volume()
    assert reasons(desk, volume.id) == []
    desk.state.health.break_volume(volume.id, "DEGRADED", "DiskSlow", "slow")
    for _ in range(3):
        assert reasons(desk, volume.id) == ["DiskSlow"]
    desk.state.health.repair_volume(volume.id)
    assert reasons(desk, volume.id) == []


def test_faults_come_and_go_one_by_one(desk: Any) -> None:
    """Repairing one leaves the other; the same one again changes its message only."""
    volume = desk.volume()
    desk.state.health.break_volume(volume.id, "DEGRADED", "Slow", "old")
    desk.state.health.break_volume(volume.id, "DATA_LOSS", "Rot")
    desk.state.health.break_volume(volume.id, "DEGRADED", "Slow", "new")
    faults = desk.state.health.get(volume.id, {}).faults
    assert {(fault.status, fault.reason, fault.message) for fault in faults} == {
        (VolumeStatus.DATA_LOSS, "Rot", ""),
        (VolumeStatus.DEGRADED, "Slow", "new"),
    }
    desk.state.health.repair_volume(volume.id, "Slow")
    assert reasons(desk, volume.id) == ["Rot"]


def test_the_list_holds_the_sick_only(desk: Any) -> None:
    """In pages, without the healed and the deleted."""
    volumes = [desk.volume(name) for name in "abcd"]
    for volume in volumes[:3]:
        desk.state.health.break_volume(volume.id, "DEGRADED", "Slow")
    assert sick(desk) == [volume.id for volume in volumes[:3]]
    page = desk.state.health.list("", 1, {})
    desk.state.health.repair_volume(volumes[1].id)
    assert sick(desk, token=page.next_token) == [volumes[2].id]
    desk.state.volumes.delete(volumes[0].id, {})
    assert sick(desk) == [volumes[2].id]


def test_what_one_node_sees_is_told_by_that_node(desk: Any) -> None:
    """From the controller INACCESSIBLE reads as "from no node"."""
    volume = desk.volume()
    desk.state.health.break_volume(volume.id, "INACCESSIBLE", "PathDown", node_id="node-0")
    tables = desk.state.tables
    assert [fault.reason for fault in volume_faults(tables, volume.id, "node-0")] == ["PathDown"]
    assert volume_faults(tables, volume.id, "node-1") == ()
    assert reasons(desk, volume.id) == []
    assert sick(desk) == []


def test_a_node_tells_no_fault_twice(desk: Any) -> None:
    """(status, reason) is unique in an answer."""
    volume = desk.volume()
    for node in ("", "node-0"):
        desk.state.health.break_volume(volume.id, "DEGRADED", "Slow", node_id=node)
        desk.state.health.break_storage("STORAGE_DEGRADED", "Slow", node_id=node)
    assert len(volume_faults(desk.state.tables, volume.id, "node-0")) == 1
    assert len(storage_faults(desk.state.tables, "node-0")) == 1
    desk.state.health.repair_volume(volume.id, node_id="")
    assert reasons(desk, volume.id) == []
    assert len(volume_faults(desk.state.tables, volume.id, "node-0")) == 1


def test_storage_is_broken_and_repaired(desk: Any) -> None:
    """For all kinds of volumes or one, for all nodes or one."""
    health, tables = desk.state.health, desk.state.tables
    health.break_storage("STORAGE_DEGRADED", "Slow")
    health.break_storage("STORAGE_DEGRADED", "Slow", capability=desk.block())
    health.break_storage("STORAGE_UNREACHABLE", "Cut", node_id="node-1")
    assert len(storage_faults(tables, "node-0")) == 2
    assert {fault.status for fault in storage_faults(tables, "node-1")} == set(StorageStatus)
    health.repair_storage("Slow")
    assert [fault.reason for fault in storage_faults(tables, "node-1")] == ["Cut"]
    health.repair_storage(node_id="node-1")
    assert storage_faults(tables, "node-1") == ()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("BROKEN", "Slow"), "DEGRADED, INACCESSIBLE, DATA_LOSS"),
        (("DEGRADED", "too slow"), "CamelCase"),
        (("DEGRADED", ""), "CamelCase"),
        (("DEGRADED", "S" * 129), "CamelCase"),
        (("DEGRADED", "Slow", "m" * 129), "128 bytes"),
    ],
)
def test_what_the_interface_cannot_carry_is_refused(
    desk: Any, arguments: tuple[str, ...], message: str
) -> None:
    """A mistake of the one who breaks, not of a caller: ValueError."""
    volume = desk.volume()
    with pytest.raises(ValueError, match=message):
        desk.state.health.break_volume(volume.id, *arguments)
    assert reasons(desk, volume.id) == []


def test_more_faults_than_callers_take_are_refused(desk: Any) -> None:
    """Kubelet discards an answer of more than sixteen."""
    volume = desk.volume()
    for number in range(16):
        desk.state.health.break_volume(volume.id, "DEGRADED", f"R{number}")
        desk.state.health.break_storage("STORAGE_DEGRADED", f"R{number}")
    with pytest.raises(ValueError, match="17"):
        desk.state.health.break_volume(volume.id, "DEGRADED", "R16")
    with pytest.raises(ValueError, match="17"):
        desk.state.health.break_storage("STORAGE_DEGRADED", "R16")
    desk.state.health.break_volume(volume.id, "DEGRADED", "R15", "again")


def test_unknown_volumes_have_no_health(desk: Any, refused: Any) -> None:
    """Nor has a deleted one; repairing it is no error."""
    volume = desk.volume()
    desk.state.health.break_volume(volume.id, "DEGRADED", "Slow")
    desk.state.volumes.delete(volume.id, {})
    desk.state.health.repair_volume(volume.id)
    with refused(Code.NOT_FOUND):
        desk.state.health.get(volume.id, {})
    with refused(Code.NOT_FOUND):
        desk.state.health.break_volume(volume.id, "DEGRADED", "Slow")
    with refused(Code.INVALID_ARGUMENT, "volume_id"):
        desk.state.health.get("", {})
    assert desk.state.tables.health == {}


def test_a_condition_sums_the_faults_up(desk: Any) -> None:
    """1.12: abnormal or not, and a message that is never empty and never too long."""
    assert condition(()) == (False, "the volume works")
    volume = desk.volume()
    desk.state.health.break_volume(volume.id, "DEGRADED", "Slow")
    desk.state.health.break_volume(volume.id, "DATA_LOSS", "Rot", "m" * 120)
    abnormal, message = condition(volume_faults(desk.state.tables, volume.id))
    assert abnormal
    assert message.startswith("DEGRADED: Slow; mmm")
    assert len(message) == 128
