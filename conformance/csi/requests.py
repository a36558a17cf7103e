"""Well-formed requests to start from: a case changes the one thing it is about."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence

from conformance.csi.capabilities import Capabilities
from conformance.csi.settings import CsiSettings
from conformance.engine.runid import PREFIX, worker
from refimpl.csi.api import csi_pb2 as pb

Mode = pb.VolumeCapability.AccessMode
_numbers = itertools.count(1)


class Requests:
    """Builds requests for one target with its parameters, secrets and sizes filled in.

    size: tells the bytes of a volume whose case is not about sizes, once a volume is asked for.
    """

    def __init__(
        self,
        settings: CsiSettings,
        capabilities: Capabilities,
        run_id: str,
        size: Callable[[], int],
    ) -> None:
        self.settings, self.capabilities = settings, capabilities
        self._run_id, self._size = run_id, size

    @property
    def size(self) -> int:
        """Bytes of a volume whose case is not about sizes."""
        return self._size()

    def fresh_name(self, hint: str = "v") -> str:
        """A name nobody else uses: it carries the run's id, so that leftovers can be told."""
        return f"{PREFIX}-{self._run_id}-{worker()}-{hint}{next(_numbers)}"

    @property
    def usual_mode(self) -> Mode.Mode.ValueType:
        """The access mode of a volume whose case is not about modes."""
        return Mode.Mode.Value(self.settings.access_mode)

    def capability(
        self,
        mode: Mode.Mode.ValueType | None = None,
        *,
        block: bool | None = None,
        fs_type: str = "",
        mount_flags: Sequence[str] = (),
        mount_group: str = "",
    ) -> pb.VolumeCapability:
        """A capability; of the mode and access type the user chose where they are not given."""
        capability = pb.VolumeCapability(
            access_mode=Mode(mode=self.usual_mode if mode is None else mode)
        )
        if self.settings.access_type == "block" if block is None else block:
            capability.block.SetInParent()
        else:
            capability.mount.SetInParent()
            capability.mount.fs_type = fs_type
            capability.mount.mount_flags.extend(mount_flags)
            capability.mount.volume_mount_group = mount_group
        return capability

    def volume(
        self,
        name: str | None = None,
        *,
        capabilities: Sequence[pb.VolumeCapability] | None = None,
        required: int | None = None,
        limit: int = 0,
        parameters: Mapping[str, str] | None = None,
        source: pb.VolumeContentSource | None = None,
    ) -> pb.CreateVolumeRequest:
        """A CreateVolume of the usual size; `required` and `limit` in bytes, 0 is unset."""
        size = required if required is not None else 0 if limit else self.size
        request = pb.CreateVolumeRequest(
            name=self.fresh_name() if name is None else name,
            volume_capabilities=[self.capability()] if capabilities is None else capabilities,
            parameters=self.settings.parameters if parameters is None else parameters,
            secrets=self.settings.secrets_for("CreateVolume"),
            volume_content_source=source,
        )
        if size or limit:
            request.capacity_range.required_bytes = size
            request.capacity_range.limit_bytes = limit
        if (
            "plugin:VOLUME_ACCESSIBILITY_CONSTRAINTS" in self.capabilities
            and self.capabilities.topology
        ):
            request.accessibility_requirements.requisite.add(segments=self.capabilities.topology)
            request.accessibility_requirements.preferred.add(segments=self.capabilities.topology)
        return request

    def delete(self, volume_id: str) -> pb.DeleteVolumeRequest:
        """A DeleteVolume."""
        secrets = self.settings.secrets_for("DeleteVolume")
        return pb.DeleteVolumeRequest(volume_id=volume_id, secrets=secrets)

    def modify(
        self, volume_id: str, mutable_parameters: Mapping[str, str]
    ) -> pb.ControllerModifyVolumeRequest:
        """A ControllerModifyVolume."""
        return pb.ControllerModifyVolumeRequest(
            volume_id=volume_id,
            mutable_parameters=mutable_parameters,
            secrets=self.settings.secrets_for("ControllerModifyVolume"),
        )

    def publish(
        self,
        volume: pb.Volume,
        *,
        node_id: str | None = None,
        capability: pb.VolumeCapability | None = None,
        readonly: bool = False,
    ) -> pb.ControllerPublishVolumeRequest:
        """A ControllerPublishVolume to the first node, with the volume's own context."""
        return pb.ControllerPublishVolumeRequest(
            volume_id=volume.volume_id,
            node_id=self.capabilities.node_id if node_id is None else node_id,
            volume_capability=capability or self.capability(),
            readonly=readonly,
            secrets=self.settings.secrets_for("ControllerPublishVolume"),
            volume_context=volume.volume_context,
        )

    def unpublish(
        self, volume_id: str, node_id: str | None = None
    ) -> pb.ControllerUnpublishVolumeRequest:
        """A ControllerUnpublishVolume from the first node; an empty node_id means all nodes."""
        return pb.ControllerUnpublishVolumeRequest(
            volume_id=volume_id,
            node_id=self.capabilities.node_id if node_id is None else node_id,
            secrets=self.settings.secrets_for("ControllerUnpublishVolume"),
        )

    def validate(
        self, volume: pb.Volume, capabilities: Sequence[pb.VolumeCapability] | None = None
    ) -> pb.ValidateVolumeCapabilitiesRequest:
        """A ValidateVolumeCapabilities that sends back what CreateVolume gave."""
        return pb.ValidateVolumeCapabilitiesRequest(
            volume_id=volume.volume_id,
            volume_capabilities=[self.capability()] if capabilities is None else capabilities,
            volume_context=volume.volume_context,
            secrets=self.settings.secrets_for("ValidateVolumeCapabilities"),
        )

    def snapshot(self, volume_id: str, name: str | None = None) -> pb.CreateSnapshotRequest:
        """A CreateSnapshot."""
        return pb.CreateSnapshotRequest(
            source_volume_id=volume_id,
            name=self.fresh_name("s") if name is None else name,
            parameters=self.settings.snapshot_parameters,
            secrets=self.settings.secrets_for("CreateSnapshot"),
        )

    def stage(
        self,
        volume: pb.Volume,
        staging_path: str,
        *,
        capability: pb.VolumeCapability | None = None,
        publish_context: Mapping[str, str] | None = None,
    ) -> pb.NodeStageVolumeRequest:
        """A NodeStageVolume at a directory that exists."""
        return pb.NodeStageVolumeRequest(
            volume_id=volume.volume_id,
            staging_target_path=staging_path,
            volume_capability=capability or self.capability(),
            publish_context=publish_context,
            volume_context=volume.volume_context,
            secrets=self.settings.secrets_for("NodeStageVolume"),
        )

    def node_publish(
        self,
        volume: pb.Volume,
        target_path: str,
        *,
        staging_path: str = "",
        capability: pb.VolumeCapability | None = None,
        readonly: bool = False,
        publish_context: Mapping[str, str] | None = None,
    ) -> pb.NodePublishVolumeRequest:
        """A NodePublishVolume at a path that does not exist below a directory that does."""
        return pb.NodePublishVolumeRequest(
            volume_id=volume.volume_id,
            target_path=target_path,
            staging_target_path=staging_path,
            volume_capability=capability or self.capability(),
            readonly=readonly,
            publish_context=publish_context,
            volume_context=volume.volume_context,
            secrets=self.settings.secrets_for("NodePublishVolume"),
        )

    def capacity(self, parameters: Mapping[str, str] | None = None) -> pb.GetCapacityRequest:
        """A GetCapacity for the volumes that `volume` asks for."""
        request = pb.GetCapacityRequest(
            volume_capabilities=[self.capability()],
            parameters=self.settings.parameters if parameters is None else parameters,
        )
        if (
            "plugin:VOLUME_ACCESSIBILITY_CONSTRAINTS" in self.capabilities
            and self.capabilities.topology
        ):
            request.accessible_topology.segments.update(self.capabilities.topology)
        return request

    def unknown_volume_id(self) -> str:
        """An id the driver never gave; the user's choice where ids have a form of their own."""
        return self.settings.unknown_volume_id or self.fresh_name("unknown")

    def unknown_snapshot_id(self) -> str:
        """As unknown_volume_id, of a snapshot."""
        return self.settings.unknown_snapshot_id or self.fresh_name("unknown")


def from_snapshot(snapshot_id: str) -> pb.VolumeContentSource:
    """The content source of a restore."""
    source = pb.VolumeContentSource.SnapshotSource(snapshot_id=snapshot_id)
    return pb.VolumeContentSource(snapshot=source)


def from_volume(volume_id: str) -> pb.VolumeContentSource:
    """The content source of a clone."""
    return pb.VolumeContentSource(volume=pb.VolumeContentSource.VolumeSource(volume_id=volume_id))
