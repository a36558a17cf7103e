"""GroupController: snapshots of several volumes at one moment."""

from __future__ import annotations

from refimpl.csi import codec
from refimpl.csi.api import csi_pb2 as pb
from refimpl.csi.services.snapshots import Point, nowhere
from refimpl.csi.state import DriverState
from refimpl.csi.state.capabilities import NUMBERS
from refimpl.csi.state.models import GroupSnapshot
from refimpl.wire.server import Call

_Rpc = pb.GroupControllerServiceCapability.RPC


class GroupControllerService:
    """CSI 1.13, Group Controller service RPC."""

    def __init__(self, state: DriverState, point: Point = nowhere) -> None:
        self._state = state
        self._point = point

    def GroupControllerGetCapabilities(
        self, request: pb.GroupControllerGetCapabilitiesRequest, call: Call
    ) -> pb.GroupControllerGetCapabilitiesResponse:
        """What the group controller offers."""
        settings = self._state.settings
        settings.demand("GroupControllerGetCapabilities")
        return pb.GroupControllerGetCapabilitiesResponse(
            capabilities=[
                pb.GroupControllerServiceCapability(rpc=_Rpc(type=_Rpc.Type.Value(name)))
                for name in NUMBERS["group"]
                if settings.has("group", name)
            ]
        )

    def CreateVolumeGroupSnapshot(
        self, request: pb.CreateVolumeGroupSnapshotRequest, call: Call
    ) -> pb.CreateVolumeGroupSnapshotResponse:
        """A group by name."""
        self._point("CreateVolumeGroupSnapshot.before_effect")
        group = self._state.groups.create(
            request.name,
            tuple(request.source_volume_ids),
            dict(request.parameters),
            request.secrets,
        )
        self._point("CreateVolumeGroupSnapshot.after_effect")
        return pb.CreateVolumeGroupSnapshotResponse(group_snapshot=self._group(group))

    def DeleteVolumeGroupSnapshot(
        self, request: pb.DeleteVolumeGroupSnapshotRequest, call: Call
    ) -> pb.DeleteVolumeGroupSnapshotResponse:
        """No group of that id."""
        self._point("DeleteVolumeGroupSnapshot.before_effect")
        self._state.groups.delete(
            request.group_snapshot_id, tuple(request.snapshot_ids), request.secrets
        )
        self._point("DeleteVolumeGroupSnapshot.after_effect")
        return pb.DeleteVolumeGroupSnapshotResponse()

    def GetVolumeGroupSnapshot(
        self, request: pb.GetVolumeGroupSnapshotRequest, call: Call
    ) -> pb.GetVolumeGroupSnapshotResponse:
        """One group with its members."""
        group = self._state.groups.get(
            request.group_snapshot_id, tuple(request.snapshot_ids), request.secrets
        )
        return pb.GetVolumeGroupSnapshotResponse(group_snapshot=self._group(group))

    def _group(self, group: GroupSnapshot) -> pb.VolumeGroupSnapshot:
        return codec.group_out(group, self._state.tables.clock())
