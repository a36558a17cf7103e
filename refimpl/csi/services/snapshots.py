"""The RPCs of the Controller service about snapshots and about the health of volumes."""

from __future__ import annotations

from collections.abc import Callable

from refimpl.csi import codec
from refimpl.csi.api import csi_pb2 as pb
from refimpl.csi.state import DriverState
from refimpl.csi.state.models import Snapshot
from refimpl.csi.state.snapshots.snapshots import ready
from refimpl.wire.server import Call

Point = Callable[[str], object]
"""Where a crash may be asked for; gets the name of the point."""


def nowhere(name: str) -> None:
    """The crash point of a driver without faults."""


class SnapshotRpcs:
    """One half of the Controller service; `controller.Controller` is the whole."""

    def __init__(self, state: DriverState, point: Point = nowhere) -> None:
        self._state = state
        self._point = point

    def CreateSnapshot(
        self, request: pb.CreateSnapshotRequest, call: Call
    ) -> pb.CreateSnapshotResponse:
        """A snapshot of a volume, by name."""
        self._point("CreateSnapshot.before_effect")
        placed = request.HasField("accessibility_requirements")
        snapshot = self._state.snapshots.create(
            request.source_volume_id,
            request.name,
            request.parameters,
            codec.requirement_in(request.accessibility_requirements) if placed else None,
            request.secrets,
        )
        self._point("CreateSnapshot.after_effect")
        return pb.CreateSnapshotResponse(snapshot=self._snapshot(snapshot))

    def DeleteSnapshot(
        self, request: pb.DeleteSnapshotRequest, call: Call
    ) -> pb.DeleteSnapshotResponse:
        """No snapshot of that id."""
        self._point("DeleteSnapshot.before_effect")
        self._state.snapshots.delete(request.snapshot_id, request.secrets)
        self._point("DeleteSnapshot.after_effect")
        return pb.DeleteSnapshotResponse()

    def ListSnapshots(
        self, request: pb.ListSnapshotsRequest, call: Call
    ) -> pb.ListSnapshotsResponse:
        """A page of snapshots, of all or of one volume."""
        page = self._state.snapshots.list(
            request.starting_token,
            request.max_entries,
            request.source_volume_id,
            request.snapshot_id,
            request.secrets,
        )
        entries = [
            pb.ListSnapshotsResponse.Entry(snapshot=self._snapshot(snapshot))
            for snapshot in page.entries
        ]
        return pb.ListSnapshotsResponse(entries=entries, next_token=page.next_token)

    def GetSnapshot(self, request: pb.GetSnapshotRequest, call: Call) -> pb.GetSnapshotResponse:
        """One snapshot, ready or not."""
        snapshot = self._state.snapshots.get(request.snapshot_id, request.secrets)
        return pb.GetSnapshotResponse(snapshot=self._snapshot(snapshot))

    def ControllerListVolumeHealth(
        self, request: pb.ControllerListVolumeHealthRequest, call: Call
    ) -> pb.ControllerListVolumeHealthResponse:
        """A page of the volumes with faults."""
        page = self._state.health.list(request.starting_token, request.max_entries, request.secrets)
        return pb.ControllerListVolumeHealthResponse(
            entries=map(codec.health_out, page.entries), next_token=page.next_token
        )

    def ControllerGetVolumeHealth(
        self, request: pb.ControllerGetVolumeHealthRequest, call: Call
    ) -> pb.ControllerGetVolumeHealthResponse:
        """The faults of one volume."""
        health = self._state.health.get(request.volume_id, request.secrets)
        return pb.ControllerGetVolumeHealthResponse(volume_health=codec.health_out(health))

    def _snapshot(self, snapshot: Snapshot) -> pb.Snapshot:
        return codec.snapshot_out(snapshot, ready(self._state.tables, snapshot))
