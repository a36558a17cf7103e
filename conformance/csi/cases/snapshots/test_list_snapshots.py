"""ListSnapshots: pages and tokens."""

from __future__ import annotations

from conformance.csi.common.deleted_rest import expect_end_moves
from conformance.csi.common.pagination import snapshots
from conformance.csi.needs import CREATE_DELETE_SNAPSHOT, LIST_SNAPSHOTS, VOLUMES
from conformance.csi.target import CsiTarget
from conformance.engine.case import case
from refimpl.csi.api import csi_pb2 as pb


@case(
    "CSI-LS-011",
    "CSI 1.13 ListSnapshots",
    needs=[LIST_SNAPSHOTS, CREATE_DELETE_SNAPSHOT, VOLUMES],
    alone=True,
)
def test_a_walk_ends_where_all_that_followed_was_deleted(csi: CsiTarget) -> None:
    """Old snapshots are pruned while the snapshotter walks. INTERNAL for a token that has nothing
    behind it any more stops the walk, though nothing is wrong."""
    volume = csi.steps.volume()
    own = [csi.steps.snapshot(volume).snapshot_id for _ in range(4)]

    def delete(id: str) -> None:
        secrets = csi.settings.secrets_for("DeleteSnapshot")
        csi.controller.DeleteSnapshot(pb.DeleteSnapshotRequest(snapshot_id=id, secrets=secrets))

    expect_end_moves([snapshots(csi, volume.volume_id), snapshots(csi)], own, delete)
