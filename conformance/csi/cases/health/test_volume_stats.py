"""NodeGetVolumeStats: how full a volume is, which decides about evictions and alarms."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial

import pytest

from conformance.csi.common import content
from conformance.csi.common.fault_injection import break_volume, repair_volume
from conformance.csi.common.published import block_volume, publish
from conformance.csi.needs import (
    BLOCK,
    BREAKABLE,
    DATA,
    GET_VOLUME_STATS,
    MOUNT,
    NODE,
    NODE_CONDITION,
    REVISION_1_12,
    SAME_HOST,
    STAGE_UNSTAGE_VOLUME,
    VOLUMES,
    without,
)
from conformance.csi.steps import Mounted
from conformance.csi.target import CsiTarget
from conformance.engine.case import case
from conformance.engine.needs import Need
from conformance.engine.verdict import eventually, expect, expect_status, should, together
from refimpl.csi.api import csi_pb2 as pb
from refimpl.wire.status import Code

_SOURCE = "CSI 1.13 NodeGetVolumeStats"
_OLD_SOURCE = "CSI 1.12 NodeGetVolumeStats"
_STATS = (NODE, GET_VOLUME_STATS)
_PUBLISHED: Sequence[Need] = (*_STATS, VOLUMES, SAME_HOST)
_NOWHERE = "/refimpl-nowhere/mount"
_WRITTEN = 10 * content.MIB
_OVERHEAD = 0.1  # of a volume's size may be the file system's own
Unit = pb.VolumeUsage


@case("CSI-STAT-001", _SOURCE, needs=_PUBLISHED)
def test_statistics_are_not_told_without_id_and_path(csi: CsiTarget) -> None:
    """Numbers of some other volume are worse than none."""
    mounted = csi.shared.mount()
    with together() as check:
        for lacking, volume_id, path in (
            ("volume_id", "", mounted.target_path),
            ("volume_path", mounted.volume.volume_id, ""),
        ):
            with check:
                _expect_code(csi, {Code.INVALID_ARGUMENT}, f"without {lacking}", volume_id, path)


@case("CSI-STAT-002", _SOURCE, needs=_STATS)
def test_statistics_of_an_unknown_volume_are_not_found(csi: CsiTarget) -> None:
    """Kubelet asks every minute, also amid a deletion: it has to learn that the volume is gone."""
    _expect_code(
        csi,
        {Code.NOT_FOUND},
        "of a volume that does not exist",
        csi.requests.unknown_volume_id(),
        _NOWHERE,
    )


@case("CSI-STAT-003", _SOURCE, needs=_PUBLISHED)
def test_statistics_are_told_at_the_volumes_own_paths_only(csi: CsiTarget) -> None:
    """A driver that asks the kernel about any path tells the size of the node's disk, and the
    alarm for the full volume never comes."""
    volume_id = csi.shared.mount().volume.volume_id
    with together() as check:
        for what, path in (
            ("at another directory", csi.steps.staging_path()),
            ("at a path that does not exist", _NOWHERE),
        ):
            with check:
                _expect_code(
                    csi, {Code.NOT_FOUND}, f"of a published volume {what}", volume_id, path
                )


@case("CSI-STAT-004", _SOURCE, needs=_PUBLISHED)
def test_statistics_at_a_relative_path_are_refused(csi: CsiTarget) -> None:
    """Such a path has to be absolute; relative to the driver's directory it means nothing."""
    volume_id = csi.shared.mount().volume.volume_id
    codes = {Code.INVALID_ARGUMENT, Code.NOT_FOUND}
    _expect_code(csi, codes, "at a relative path", volume_id, "refimpl/mount")


@case("CSI-STAT-005", _SOURCE, needs=[*_PUBLISHED, MOUNT])
def test_the_usage_of_a_mount_volume_adds_up(csi: CsiTarget) -> None:
    """Kubelet passes these numbers on as they are: to the scheduler of evictions, and to alarms."""
    mounted = _file_system(csi)
    usage = _stats(csi, mounted.volume.volume_id, mounted.target_path).usage
    units = [entry.unit for entry in usage]
    rule = "NodeGetVolumeStats of a mount volume tells BYTES, and at most INODES besides, each once"
    valid = set(units) <= {Unit.BYTES, Unit.INODES} and len(set(units)) == len(units)
    with together() as check:
        with check:
            expect(valid and Unit.BYTES in units, rule, wanted="BYTES", got=_named(usage))
        for entry in usage:
            unit = Unit.Unit.Name(entry.unit)
            with check:
                expect(
                    min(entry.total, entry.used, entry.available) >= 0,
                    f"no number of {unit} is negative",
                    wanted="total, used and available >= 0",
                    got=entry,
                )
            # A file system that makes inodes as it needs them has no total to tell.
            demand = expect if entry.unit == Unit.BYTES else should
            with check:
                demand(
                    entry.total > 0, f"the total of {unit} is set", wanted="> 0", got=entry.total
                )
            with check:
                should(
                    entry.used + entry.available <= entry.total,
                    f"used and available {unit} are not more than the total",
                    wanted=f"at most {entry.total}",
                    got=f"{entry.used} + {entry.available}",
                )


@case("CSI-STAT-006", _SOURCE, needs=[*_STATS, VOLUMES, MOUNT, DATA])
def test_the_usage_grows_with_what_is_written(csi: CsiTarget) -> None:
    """A volume that seems empty until the first write fails warns nobody."""
    mounted = csi.steps.mount(capability=csi.requests.capability(block=False))

    def used() -> int:
        return _bytes(_stats(csi, mounted.volume.volume_id, mounted.target_path)).used

    def grows() -> bool:
        content.erase(mounted)
        before = used()
        content.write(mounted, os.urandom(_WRITTEN))
        return used() > before

    # Several times: where volumes share a file system, others may give space back meanwhile.
    eventually(grows, 2.0, f"used bytes are more when {_WRITTEN} bytes are written")
    content.erase(mounted)


@case("CSI-STAT-007", _SOURCE, needs=[*_PUBLISHED, BLOCK])
def test_the_total_of_a_block_volume_is_its_capacity(csi: CsiTarget) -> None:
    """There is no file system to ask, and asking the one that holds the device node tells the
    size of the node's memory instead."""
    mounted = publish(csi, block_volume(csi))
    total = _bytes(_stats(csi, mounted.volume.volume_id, mounted.target_path)).total
    capacity = mounted.volume.capacity_bytes
    rule = "the total of a block volume is the capacity it was made with"
    wanted = capacity or "more than 0"
    expect(total == capacity if capacity else total > 0, rule, wanted=wanted, got=total)


@case("CSI-STAT-008", _SOURCE, needs=[*_PUBLISHED, STAGE_UNSTAGE_VOLUME])
def test_statistics_are_told_at_the_staging_path(csi: CsiTarget) -> None:
    """Some callers know where a volume is staged and not where it is published."""
    mounted = csi.shared.mount()
    reply = _stats(csi, mounted.volume.volume_id, mounted.staging_path)
    expect(reply.usage, "at the staging path usage is told, too", wanted="usage", got=reply)


@case("CSI-STAT-009", _SOURCE, needs=[*_PUBLISHED, STAGE_UNSTAGE_VOLUME])
def test_a_staging_path_beside_the_target_changes_nothing(csi: CsiTarget) -> None:
    """Kubelet leaves it out; a driver that counts on it shows no usage in a cluster."""
    mounted = csi.shared.mount()
    volume_id, target = mounted.volume.volume_id, mounted.target_path
    without = _totals(_stats(csi, volume_id, target))
    given = _totals(_stats(csi, volume_id, target, mounted.staging_path))
    rule = "the same totals are told with staging_target_path and without"
    expect(given == without, rule, wanted=without, got=given)


@case("CSI-STAT-010", _SOURCE, needs=_PUBLISHED)
def test_after_an_unpublish_there_are_no_statistics_at_the_target(csi: CsiTarget) -> None:
    """What would be told is the usage of the node's own disk, under the name of the volume."""
    mounted = csi.steps.mount()
    csi.steps.unmount(mounted)
    what = "at a target where the volume was published before"
    _expect_code(csi, {Code.NOT_FOUND}, what, mounted.volume.volume_id, mounted.target_path)


@case("CSI-STAT-011", _OLD_SOURCE, needs=[REVISION_1_12, NODE, NODE_CONDITION, *_PUBLISHED[2:]])
def test_the_condition_of_a_volume_is_told_with_its_statistics(csi: CsiTarget) -> None:
    """An event at the pod's claim is made of it: no condition counts as a healthy volume. That a
    broken volume is told as abnormal is looked at where there is a way to break one."""
    mounted = csi.steps.mount()
    volume_id = mounted.volume.volume_id
    healthy = _condition(csi, volume_id, mounted.target_path)
    rule = "the condition of a volume nobody has broken is not abnormal"
    expect(not healthy.abnormal, rule, wanted="abnormal = False", got=healthy)
    if not csi.has(BREAKABLE):
        return
    break_volume(csi, volume_id)
    try:
        rule = "the condition of a broken volume is abnormal"
        eventually(lambda: _condition(csi, volume_id, mounted.target_path).abnormal, 10.0, rule)
    finally:
        repair_volume(csi, volume_id)
    rule = "the condition of a repaired volume is not abnormal any more"
    eventually(lambda: not _condition(csi, volume_id, mounted.target_path).abnormal, 10.0, rule)


@case("CSI-STAT-012", "robustness: size of a volume", needs=[*_PUBLISHED, MOUNT])
def test_the_total_of_a_mount_volume_is_about_its_capacity(csi: CsiTarget) -> None:
    """A claim of 10 GiB that shows 500 never fills up in anybody's dashboard. A driver that shares
    one file system between all volumes has a reason, and an entry among its known failures."""
    mounted = _file_system(csi)
    capacity = mounted.volume.capacity_bytes
    if not capacity:
        pytest.skip("the capacity of the volume is unknown")
    total = _bytes(_stats(csi, mounted.volume.volume_id, mounted.target_path)).total
    room = int(capacity * _OVERHEAD)
    expect(
        abs(total - capacity) <= room,
        "the total of a mount volume differs from its capacity by what a file system takes",
        wanted=f"{capacity} bytes, give or take {room}",
        got=total,
    )


@case(
    "CSI-STAT-013",
    _OLD_SOURCE,
    needs=[NODE, NODE_CONDITION, without(GET_VOLUME_STATS), *_PUBLISHED[2:]],
)
def test_whoever_tells_conditions_only_is_still_asked_for_statistics(csi: CsiTarget) -> None:
    """In CSI 1.12 the condition travels with this RPC and with no other, so that it has to be
    there; CSI 1.13 knows no such condition, and need not serve it."""
    mounted = csi.steps.mount()
    request = pb.NodeGetVolumeStatsRequest(
        volume_id=mounted.volume.volume_id, volume_path=mounted.target_path
    )
    also = set() if csi.revision.until("1.12") else {Code.UNIMPLEMENTED}
    expect_status(
        lambda: csi.node.NodeGetVolumeStats(request),
        {Code.OK} | also,
        "NodeGetVolumeStats is served with VOLUME_CONDITION, without GET_VOLUME_STATS",
    )


def _file_system(csi: CsiTarget) -> Mounted:
    """A published mount volume to look at."""
    usual = csi.settings.access_type == "mount"
    return (
        csi.shared.mount()
        if usual
        else csi.steps.mount(capability=csi.requests.capability(block=False))
    )


def _stats(
    csi: CsiTarget, volume_id: str, path: str, staging: str = ""
) -> pb.NodeGetVolumeStatsResponse:
    return csi.node.NodeGetVolumeStats(
        pb.NodeGetVolumeStatsRequest(
            volume_id=volume_id, volume_path=path, staging_target_path=staging
        )
    )


def _expect_code(csi: CsiTarget, codes: set[Code], what: str, volume_id: str, path: str) -> None:
    expect_status(
        partial(_stats, csi, volume_id, path), codes, f"NodeGetVolumeStats {what} is refused"
    )


def _bytes(reply: pb.NodeGetVolumeStatsResponse) -> pb.VolumeUsage:
    usage = next((entry for entry in reply.usage if entry.unit == Unit.BYTES), None)
    expect(usage, "NodeGetVolumeStats tells BYTES", wanted="BYTES", got=_named(reply.usage))
    assert usage is not None
    return usage


def _condition(csi: CsiTarget, volume_id: str, path: str) -> pb.VolumeCondition:
    reply = _stats(csi, volume_id, path)
    expect(
        reply.HasField("volume_condition") and reply.volume_condition.message,
        "NodeGetVolumeStats tells the condition, with a message",
        wanted="volume_condition.message",
        got=reply,
    )
    return reply.volume_condition


def _totals(reply: pb.NodeGetVolumeStatsResponse) -> dict[str, int]:
    return {Unit.Unit.Name(entry.unit): entry.total for entry in reply.usage}


def _named(usage: Sequence[pb.VolumeUsage]) -> str:
    return ", ".join(Unit.Unit.Name(entry.unit) for entry in usage) or "no usage"
