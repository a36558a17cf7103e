"""The GroupController service."""

from __future__ import annotations

from typing import Any

from refimpl.csi.api import csi_pb2 as pb
from refimpl.wire.status import Code


def test_capabilities_are_told(serve: Any, call: Any, refused: Any) -> None:
    """Or the service is not there."""
    request = pb.GroupControllerGetCapabilitiesRequest()
    answer = serve().group.GroupControllerGetCapabilities(request, call)
    assert [item.rpc.type for item in answer.capabilities] == [1]
    with refused(Code.UNIMPLEMENTED, "GROUP_CONTROLLER_SERVICE"):
        serve(without=("GROUP_CONTROLLER_SERVICE",)).group.GroupControllerGetCapabilities(
            request, call
        )


def test_a_group_is_made_got_and_deleted(served: Any, call: Any) -> None:
    """With all its fields on the way."""
    sources = [served.volume(name).volume_id for name in "ab"]
    created = served.group.CreateVolumeGroupSnapshot(
        pb.CreateVolumeGroupSnapshotRequest(
            name="g", source_volume_ids=sources, parameters={"k": "v"}
        ),
        call,
    ).group_snapshot
    assert created.ready_to_use
    assert [item.source_volume_id for item in created.snapshots] == sources
    assert served.state.tables.groups[created.group_snapshot_id].parameters == {"k": "v"}
    members = [item.snapshot_id for item in created.snapshots]
    fetched = served.group.GetVolumeGroupSnapshot(
        pb.GetVolumeGroupSnapshotRequest(
            group_snapshot_id=created.group_snapshot_id, snapshot_ids=members
        ),
        call,
    )
    assert fetched.group_snapshot == created
    served.group.DeleteVolumeGroupSnapshot(
        pb.DeleteVolumeGroupSnapshotRequest(
            group_snapshot_id=created.group_snapshot_id, snapshot_ids=members
        ),
        call,
    )
    assert served.state.tables.groups == served.state.tables.snapshots == {}
    assert served.points[-1] == "DeleteVolumeGroupSnapshot.after_effect"
