"""The Controller's RPCs about snapshots and health."""

from __future__ import annotations

from typing import Any

from refimpl.csi.api import csi_pb2 as pb
from refimpl.wire.status import Code


def test_a_snapshot_is_told_the_same_everywhere(served: Any, call: Any) -> None:
    """Created, repeated, listed, got."""
    volume = served.volume()
    snapshot = served.snapshot(volume)
    assert snapshot.ready_to_use
    assert snapshot.creation_time.seconds == 1000
    assert snapshot.source_volume_id == volume.volume_id
    assert served.snapshot(volume) == snapshot
    (entry,) = served.controller.ListSnapshots(
        pb.ListSnapshotsRequest(source_volume_id=volume.volume_id), call
    ).entries
    fetched = served.controller.GetSnapshot(
        pb.GetSnapshotRequest(snapshot_id=snapshot.snapshot_id), call
    )
    assert entry.snapshot == fetched.snapshot == snapshot


def test_a_snapshot_in_work_is_not_ready(serve: Any) -> None:
    """It is told all the same."""
    served = serve(snapshot_delay=5.0)
    assert not served.snapshot(served.volume()).ready_to_use


def test_the_requirement_of_a_snapshot_counts(served: Any, call: Any, refused: Any) -> None:
    """Unset, set, and set to something that cannot be had."""
    volume = served.volume()
    request = pb.CreateSnapshotRequest(source_volume_id=volume.volume_id, name="s")
    request.accessibility_requirements.requisite.add().segments["other"] = "place"
    with refused(Code.RESOURCE_EXHAUSTED):
        served.controller.CreateSnapshot(request, call)
    request.ClearField("accessibility_requirements")
    assert served.controller.CreateSnapshot(request, call).snapshot.accessible_topology == []


def test_deleting_reaches_the_state(served: Any, call: Any) -> None:
    """And passes its crash points."""
    snapshot = served.snapshot(served.volume())
    request = pb.DeleteSnapshotRequest(snapshot_id=snapshot.snapshot_id)
    served.controller.DeleteSnapshot(request, call)
    assert served.state.tables.snapshots == {}
    assert served.points[-2:] == ["DeleteSnapshot.before_effect", "DeleteSnapshot.after_effect"]


def test_pages_and_filters_pass(served: Any, call: Any) -> None:
    """In both directions."""
    volume = served.volume()
    ids = [served.snapshot(volume, name).snapshot_id for name in "abc"]
    page = served.controller.ListSnapshots(pb.ListSnapshotsRequest(max_entries=2), call)
    next_request = pb.ListSnapshotsRequest(starting_token=page.next_token)
    (last_entry,) = served.controller.ListSnapshots(next_request, call).entries
    assert last_entry.snapshot.snapshot_id == ids[2]
    (entry,) = served.controller.ListSnapshots(
        pb.ListSnapshotsRequest(snapshot_id=ids[1]), call
    ).entries
    assert entry.snapshot.snapshot_id == ids[1]


def test_health_is_told_of_one_and_of_all(served: Any, call: Any) -> None:
    """The list leaves the healthy out, the question does not."""
    sick, well = served.volume("sick"), served.volume("well")
    served.state.health.break_volume(sick.volume_id, "DEGRADED", "Slow", "it is slow")
    get = served.controller.ControllerGetVolumeHealth
    health = get(pb.ControllerGetVolumeHealthRequest(volume_id=sick.volume_id), call).volume_health
    assert [entry.reason for entry in health.health_statuses] == ["Slow"]
    request = pb.ControllerListVolumeHealthRequest(max_entries=5)
    assert served.controller.ControllerListVolumeHealth(request, call).entries == [health]
    good = get(pb.ControllerGetVolumeHealthRequest(volume_id=well.volume_id), call)
    assert good.volume_health == pb.VolumeHealth(volume_id=well.volume_id)
