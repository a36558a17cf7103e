"""The GroupController service."""

from __future__ import annotations

from typing import Any

from refimpl.csi.api import csi_pb2 as pb
from refimpl.wire.status import Code


def test_capabilities_are_told(serve: Any, call: Any, refused: Any) -> None:
    """Or the service is not there."""
    request = pb.GroupControllerGetCapabilitiesRequest()
    answer = serve().group.GroupControllerGetCapabilities(request, call)
    assert [one.rpc.type for one in answer.capabilities] == [1]
    with refused(Code.UNIMPLEMENTED, "GROUP_CONTROLLER_SERVICE"):
        serve(without=("GROUP_CONTROLLER_SERVICE",)).group.GroupControllerGetCapabilities(
            request, call
        )


def test_a_group_is_made_got_and_deleted(served: Any, call: Any) -> None:
    """With all its fields on the way."""
    sources = [served.volume(name).volume_id for name in "ab"]
    made = served.group.CreateVolumeGroupSnapshot(
        pb.CreateVolumeGroupSnapshotRequest(
            name="g", source_volume_ids=sources, parameters={"k": "v"}
        ),
        call,
    ).group_snapshot
    assert made.ready_to_use
    assert [one.source_volume_id for one in made.snapshots] == sources
    assert served.state.tables.groups[made.group_snapshot_id].parameters == {"k": "v"}
    members = [one.snapshot_id for one in made.snapshots]
    got = served.group.GetVolumeGroupSnapshot(
        pb.GetVolumeGroupSnapshotRequest(
            group_snapshot_id=made.group_snapshot_id, snapshot_ids=members
        ),
        call,
    )
    assert got.group_snapshot == made
    served.group.DeleteVolumeGroupSnapshot(
        pb.DeleteVolumeGroupSnapshotRequest(
            group_snapshot_id=made.group_snapshot_id, snapshot_ids=members
        ),
        call,
    )
    assert served.state.tables.groups == served.state.tables.snapshots == {}
    assert served.points[-1] == "DeleteVolumeGroupSnapshot.after_effect"
