"""Controller: volumes. The half about snapshots and health is in `snapshots`."""

from __future__ import annotations

from google.protobuf.wrappers_pb2 import Int64Value

from refimpl.csi import codec
from refimpl.csi.api import csi_pb2 as pb
from refimpl.csi.services.snapshots import SnapshotRpcs
from refimpl.csi.state.capabilities import NUMBERS
from refimpl.csi.state.volumes.health import condition
from refimpl.csi.state.volumes.queries import VolumeEntry
from refimpl.csi.state.volumes.requests import NewVolume
from refimpl.wire.server import Call

_Rpc = pb.ControllerServiceCapability.RPC


class ControllerService(SnapshotRpcs):
    """CSI 1.13, Controller service RPC."""

    def ControllerGetCapabilities(
        self, request: pb.ControllerGetCapabilitiesRequest, call: Call
    ) -> pb.ControllerGetCapabilitiesResponse:
        """What the controller offers, in the order of the numbers."""
        settings = self._state.settings
        settings.demand("ControllerGetCapabilities")
        return pb.ControllerGetCapabilitiesResponse(
            capabilities=[
                pb.ControllerServiceCapability(rpc=_Rpc(type=_Rpc.Type.Value(name)))
                for name in NUMBERS["controller"]
                if settings.has("controller", name)
            ]
        )

    def CreateVolume(self, request: pb.CreateVolumeRequest, call: Call) -> pb.CreateVolumeResponse:
        """A volume by name."""
        self._point("CreateVolume.before_effect")
        volume = self._state.volumes.create(_new_volume(request))
        self._point("CreateVolume.after_effect")
        return pb.CreateVolumeResponse(volume=codec.volume_out(volume, sized=self._sized))

    def DeleteVolume(self, request: pb.DeleteVolumeRequest, call: Call) -> pb.DeleteVolumeResponse:
        """No volume of that id."""
        self._point("DeleteVolume.before_effect")
        self._state.volumes.delete(request.volume_id, request.secrets)
        self._point("DeleteVolume.after_effect")
        return pb.DeleteVolumeResponse()

    def ControllerPublishVolume(
        self, request: pb.ControllerPublishVolumeRequest, call: Call
    ) -> pb.ControllerPublishVolumeResponse:
        """The volume at a node."""
        self._point("ControllerPublishVolume.before_effect")
        has_capability = request.HasField("volume_capability")
        attachment = self._state.attachments.publish(
            request.volume_id,
            request.node_id,
            codec.capability_in(request.volume_capability) if has_capability else None,
            request.readonly,
            request.volume_context,
            request.secrets,
        )
        self._point("ControllerPublishVolume.after_effect")
        return pb.ControllerPublishVolumeResponse(publish_context=attachment.context)

    def ControllerUnpublishVolume(
        self, request: pb.ControllerUnpublishVolumeRequest, call: Call
    ) -> pb.ControllerUnpublishVolumeResponse:
        """The volume no longer at that node, or at none."""
        self._point("ControllerUnpublishVolume.before_effect")
        self._state.attachments.unpublish(request.volume_id, request.node_id, request.secrets)
        self._point("ControllerUnpublishVolume.after_effect")
        return pb.ControllerUnpublishVolumeResponse()

    def ValidateVolumeCapabilities(
        self, request: pb.ValidateVolumeCapabilitiesRequest, call: Call
    ) -> pb.ValidateVolumeCapabilitiesResponse:
        """Whether the volume can be used so; what was sent comes back as confirmed."""
        answer = self._state.queries.validate(
            request.volume_id,
            codec.capabilities_in(request.volume_capabilities),
            request.volume_context,
            request.parameters,
            request.mutable_parameters,
            request.secrets,
        )
        if not answer.confirmed:
            return pb.ValidateVolumeCapabilitiesResponse(message=answer.message)
        confirmed = pb.ValidateVolumeCapabilitiesResponse.Confirmed(
            volume_context=request.volume_context,
            volume_capabilities=request.volume_capabilities,
            parameters=request.parameters,
            mutable_parameters=request.mutable_parameters,
        )
        return pb.ValidateVolumeCapabilitiesResponse(confirmed=confirmed)

    def ListVolumes(self, request: pb.ListVolumesRequest, call: Call) -> pb.ListVolumesResponse:
        """A page of volumes."""
        page = self._state.queries.list(request.starting_token, request.max_entries)
        return pb.ListVolumesResponse(
            entries=[self._listed(entry) for entry in page.entries], next_token=page.next_token
        )

    def ControllerGetVolume(
        self, request: pb.ControllerGetVolumeRequest, call: Call
    ) -> pb.ControllerGetVolumeResponse:
        """One volume with its status."""
        entry = self._state.queries.get(request.volume_id)
        status = pb.ControllerGetVolumeResponse.VolumeStatus()
        self._fill(status, entry)
        volume = codec.volume_out(entry.volume, sized=self._sized)
        return pb.ControllerGetVolumeResponse(volume=volume, status=status)

    def GetCapacity(self, request: pb.GetCapacityRequest, call: Call) -> pb.GetCapacityResponse:
        """Room for volumes of a kind."""
        placed = request.HasField("accessible_topology")
        capacity = self._state.queries.capacity(
            codec.capabilities_in(request.volume_capabilities),
            request.parameters,
            codec.topology_in(request.accessible_topology) if placed else None,
        )
        reply = pb.GetCapacityResponse(available_capacity=capacity.available)
        if capacity.maximum is not None:
            reply.maximum_volume_size.CopyFrom(Int64Value(value=capacity.maximum))
        if capacity.minimum is not None:
            reply.minimum_volume_size.CopyFrom(Int64Value(value=capacity.minimum))
        return reply

    def ControllerExpandVolume(
        self, request: pb.ControllerExpandVolumeRequest, call: Call
    ) -> pb.ControllerExpandVolumeResponse:
        """Makes the volume at least as large as requested."""
        self._point("ControllerExpandVolume.before_effect")
        ranged, used = request.HasField("capacity_range"), request.HasField("volume_capability")
        size, on_node = self._state.changes.expand(
            request.volume_id,
            codec.range_in(request.capacity_range) if ranged else None,
            codec.capability_in(request.volume_capability) if used else None,
            request.secrets,
        )
        self._point("ControllerExpandVolume.after_effect")
        return pb.ControllerExpandVolumeResponse(
            capacity_bytes=size, node_expansion_required=on_node
        )

    def ControllerModifyVolume(
        self, request: pb.ControllerModifyVolumeRequest, call: Call
    ) -> pb.ControllerModifyVolumeResponse:
        """Other values of mutable parameters."""
        self._point("ControllerModifyVolume.before_effect")
        parameters = dict(request.mutable_parameters)
        self._state.changes.modify(request.volume_id, parameters, request.secrets)
        self._point("ControllerModifyVolume.after_effect")
        return pb.ControllerModifyVolumeResponse()

    @property
    def _sized(self) -> bool:
        return self._state.settings.report_capacity

    def _listed(self, entry: VolumeEntry) -> pb.ListVolumesResponse.Entry:
        entry_out = pb.ListVolumesResponse.Entry(
            volume=codec.volume_out(entry.volume, sized=self._sized)
        )
        if self._reports_status:
            self._fill(entry_out.status, entry)
            entry_out.status.SetInParent()
        return entry_out

    @property
    def _reports_status(self) -> bool:
        names = self._state.settings.controller
        return "LIST_VOLUMES_PUBLISHED_NODES" in names or "VOLUME_CONDITION" in names

    def _fill(
        self,
        status: pb.ListVolumesResponse.VolumeStatus | pb.ControllerGetVolumeResponse.VolumeStatus,
        entry: VolumeEntry,
    ) -> None:
        settings = self._state.settings
        if entry.published and settings.has("controller", "LIST_VOLUMES_PUBLISHED_NODES"):
            status.published_node_ids.extend(entry.published)
        if settings.has("controller", "VOLUME_CONDITION"):
            status.volume_condition.CopyFrom(codec.condition_out(condition(entry.faults)))


def _new_volume(request: pb.CreateVolumeRequest) -> NewVolume:
    has = request.HasField
    return NewVolume(
        request.name,
        codec.capabilities_in(request.volume_capabilities),
        codec.range_in(request.capacity_range) if has("capacity_range") else None,
        codec.map_in(request.parameters),
        codec.map_in(request.mutable_parameters),
        codec.source_in(request.volume_content_source) if has("volume_content_source") else None,
        codec.requirement_in(request.accessibility_requirements)
        if has("accessibility_requirements")
        else None,
        request.secrets,
    )
