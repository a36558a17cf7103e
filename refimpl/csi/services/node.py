"""Node: one node's share of the volumes, where workloads meet them."""

from __future__ import annotations

from typing import cast

from refimpl.csi import codec
from refimpl.csi.api import csi_pb2 as pb
from refimpl.csi.services.snapshots import Point, nowhere
from refimpl.csi.state.capabilities import NUMBERS
from refimpl.csi.state.models import StorageFault
from refimpl.csi.state.node import ExpandRequest, NodeState, PublishRequest, StageRequest
from refimpl.wire.server import Call

_Rpc = pb.NodeServiceCapability.RPC
_Backend = pb.NodeGetStorageHealthResponse.StorageBackendHealth


class NodeService:
    """CSI 1.13, Node service RPC, on one node."""

    def __init__(self, state: NodeState, point: Point = nowhere) -> None:
        self._state = state
        self._point = point

    def NodeGetInfo(self, request: pb.NodeGetInfoRequest, call: Call) -> pb.NodeGetInfoResponse:
        """Name, limit and place of the node."""
        info = self._state.info()
        reply = pb.NodeGetInfoResponse(node_id=info.node_id, max_volumes_per_node=info.most_volumes)
        if info.place is not None:
            reply.accessible_topology.CopyFrom(codec.topology_out(info.place))
        return reply

    def NodeGetCapabilities(
        self, request: pb.NodeGetCapabilitiesRequest, call: Call
    ) -> pb.NodeGetCapabilitiesResponse:
        """What the node offers, in the order of the numbers."""
        offered = self._state.capabilities()
        return pb.NodeGetCapabilitiesResponse(
            capabilities=[
                pb.NodeServiceCapability(rpc=_Rpc(type=_Rpc.Type.Value(name)))
                for name in NUMBERS["node"]
                if name in offered
            ]
        )

    def NodeStageVolume(
        self, request: pb.NodeStageVolumeRequest, call: Call
    ) -> pb.NodeStageVolumeResponse:
        """The volume ready at its staging path."""
        self._point("NodeStageVolume.before_effect")
        has_capability = request.HasField("volume_capability")
        self._state.stage(
            StageRequest(
                volume_id=request.volume_id,
                path=request.staging_target_path,
                capability=codec.capability_in(request.volume_capability)
                if has_capability
                else None,
                publish_context=request.publish_context,
                volume_context=request.volume_context,
                secrets=request.secrets,
            )
        )
        self._point("NodeStageVolume.after_effect")
        return pb.NodeStageVolumeResponse()

    def NodeUnstageVolume(
        self, request: pb.NodeUnstageVolumeRequest, call: Call
    ) -> pb.NodeUnstageVolumeResponse:
        """The staging path as the caller made it."""
        self._point("NodeUnstageVolume.before_effect")
        self._state.unstage(request.volume_id, request.staging_target_path)
        self._point("NodeUnstageVolume.after_effect")
        return pb.NodeUnstageVolumeResponse()

    def NodePublishVolume(
        self, request: pb.NodePublishVolumeRequest, call: Call
    ) -> pb.NodePublishVolumeResponse:
        """The volume at a target that we make."""
        self._point("NodePublishVolume.before_effect")
        has_capability = request.HasField("volume_capability")
        self._state.publish(
            PublishRequest(
                volume_id=request.volume_id,
                target=request.target_path,
                capability=codec.capability_in(request.volume_capability)
                if has_capability
                else None,
                readonly=request.readonly,
                staging=request.staging_target_path,
                publish_context=request.publish_context,
                volume_context=request.volume_context,
                secrets=request.secrets,
            )
        )
        self._point("NodePublishVolume.after_effect")
        return pb.NodePublishVolumeResponse()

    def NodeUnpublishVolume(
        self, request: pb.NodeUnpublishVolumeRequest, call: Call
    ) -> pb.NodeUnpublishVolumeResponse:
        """No volume and no target."""
        self._point("NodeUnpublishVolume.before_effect")
        self._state.unpublish(request.volume_id, request.target_path)
        self._point("NodeUnpublishVolume.after_effect")
        return pb.NodeUnpublishVolumeResponse()

    def NodeGetVolumeStats(
        self, request: pb.NodeGetVolumeStatsRequest, call: Call
    ) -> pb.NodeGetVolumeStatsResponse:
        """Bytes, for mounts inodes, and in 1.12 the condition."""
        stats = self._state.stats(request.volume_id, request.volume_path)
        reply = pb.NodeGetVolumeStatsResponse(
            usage=[_usage(pb.VolumeUsage.BYTES, stats.usage.bytes)]
        )
        if stats.usage.inodes is not None:
            reply.usage.append(_usage(pb.VolumeUsage.INODES, stats.usage.inodes))
        if stats.condition is not None:
            reply.volume_condition.CopyFrom(codec.condition_out(stats.condition))
        return reply

    def NodeExpandVolume(
        self, request: pb.NodeExpandVolumeRequest, call: Call
    ) -> pb.NodeExpandVolumeResponse:
        """The volume on this node at its new size."""
        self._point("NodeExpandVolume.before_effect")
        has_range = request.HasField("capacity_range")
        has_capability = request.HasField("volume_capability")
        capacity = self._state.expand(
            ExpandRequest(
                volume_id=request.volume_id,
                path=request.volume_path,
                wanted=codec.range_in(request.capacity_range) if has_range else None,
                capability=codec.capability_in(request.volume_capability)
                if has_capability
                else None,
                secrets=request.secrets,
            )
        )
        self._point("NodeExpandVolume.after_effect")
        return pb.NodeExpandVolumeResponse(capacity_bytes=capacity)

    def NodeGetVolumeHealth(
        self, request: pb.NodeGetVolumeHealthRequest, call: Call
    ) -> pb.NodeGetVolumeHealthResponse:
        """What is wrong with the volume, seen from here (since 1.13)."""
        health = self._state.health(
            request.volume_id, request.volume_publish_path, request.staging_target_path
        )
        return pb.NodeGetVolumeHealthResponse(volume_health=codec.health_out(health))

    def NodeGetStorageHealth(
        self, request: pb.NodeGetStorageHealthRequest, call: Call
    ) -> pb.NodeGetStorageHealthResponse:
        """What is wrong with the storage behind all volumes, seen from here (since 1.13)."""
        faults = self._state.storage_health(request.secrets)
        return pb.NodeGetStorageHealthResponse(backend_health=map(_backend, faults))


def _usage(unit: pb.VolumeUsage.Unit.ValueType, numbers: tuple[int, int, int]) -> pb.VolumeUsage:
    total, used, available = numbers
    return pb.VolumeUsage(unit=unit, total=total, used=used, available=available)


def _backend(fault: StorageFault) -> pb.NodeGetStorageHealthResponse.StorageBackendHealth:
    reply = _Backend(
        status=cast(pb.StorageHealthErrorType.ValueType, int(fault.status)),
        reason=fault.reason,
        message=fault.message,
    )
    if fault.capability is not None:
        reply.volume_capability.CopyFrom(codec.capability_out(fault.capability))
    return reply
