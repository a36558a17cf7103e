"""A volume on its way to a staging path: the request as a case changes it, and the way back."""

from __future__ import annotations

from typing import Any

from conformance.csi.target import CsiTarget
from refimpl.csi.api import csi_pb2 as pb


def ready(
    csi: CsiTarget,
    volume: pb.Volume | None = None,
    *,
    capability: pb.VolumeCapability | None = None,
) -> pb.NodeStageVolumeRequest:
    """A NodeStageVolume, all but sent, of a volume published to the node."""
    if volume is None:
        capabilities = [capability] if capability else None
        volume = csi.steps.volume(csi.requests.volume(capabilities=capabilities))
    context = csi.steps.attach(volume, capability=capability)
    return csi.requests.stage(
        volume, csi.steps.staging_path(), capability=capability, publish_context=context
    )


def changed(request: pb.NodeStageVolumeRequest, **fields: Any) -> pb.NodeStageVolumeRequest:
    """The same request with fields changed."""
    copy = pb.NodeStageVolumeRequest()
    copy.CopyFrom(request)
    for name in fields:
        copy.ClearField(name)  # type: ignore[arg-type]
    copy.MergeFrom(pb.NodeStageVolumeRequest(**fields))
    return copy


def back(request: pb.NodeStageVolumeRequest) -> pb.NodeUnstageVolumeRequest:
    """The NodeUnstageVolume that undoes a request."""
    return pb.NodeUnstageVolumeRequest(
        volume_id=request.volume_id, staging_target_path=request.staging_target_path
    )


def publish_request(
    csi: CsiTarget, staged: pb.NodeStageVolumeRequest
) -> pb.NodePublishVolumeRequest:
    """A NodePublishVolume of what was staged so, at a fresh target."""
    volume = pb.Volume(volume_id=staged.volume_id, volume_context=staged.volume_context)
    return csi.requests.node_publish(
        volume,
        csi.steps.target_path(),
        staging_path=staged.staging_target_path,
        capability=staged.volume_capability,
        publish_context=staged.publish_context,
    )
