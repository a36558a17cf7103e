"""What cases do over and over: bring a volume to a state of its life cycle.

CSI, section "Volume Lifecycle".
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import attrs

from conformance.csi.cleanup import CleanUp
from conformance.csi.paths import Paths
from conformance.csi.requests import Requests
from conformance.engine.verdict import eventually, expect
from refimpl.csi.api import csi_pb2 as pb
from refimpl.csi.kubelet import Driver

__all__ = ["Mounted", "Steps"]


@attrs.frozen
class Mounted:
    """A volume published on the first node, or ready for it: where, and by which request."""

    volume: pb.Volume
    target_path: str
    staging_path: str
    publish_context: Mapping[str, str]
    request: pb.NodePublishVolumeRequest


class Steps:
    """Steps of the calling side. Whatever they make is undone when the case ends.

    driver, node: the stubs at the controller's endpoint and at the first node's. paths: None where
    there is no way to the node's files.
    """

    def __init__(
        self,
        driver: Driver,
        node: Driver,
        requests: Requests,
        paths: Paths | None,
        cleanup: CleanUp,
    ) -> None:
        self.requests, self._paths, self._cleanup = requests, paths, cleanup
        self._controller, self._node = driver.controller, node.node

    def volume(self, request: pb.CreateVolumeRequest | None = None) -> pb.Volume:
        """A new volume, or the user's own one where the driver makes none."""
        settings = self.requests.settings
        if not self._has("controller:CREATE_DELETE_VOLUME") and settings.volume_id:
            return pb.Volume(volume_id=settings.volume_id, volume_context=settings.volume_context)
        volume = self._controller.CreateVolume(request or self.requests.volume()).volume
        expect(
            volume.volume_id,
            "CreateVolume answers with a volume that has an id",
            wanted="volume.volume_id",
            got=volume,
        )
        return volume

    def snapshot(self, volume: pb.Volume, name: str | None = None) -> pb.Snapshot:
        """A new snapshot that is ready to use, asked for again until it is."""
        request = self.requests.snapshot(volume.volume_id, name)

        def ready() -> pb.Snapshot | None:
            snapshot = self._controller.CreateSnapshot(request).snapshot
            return snapshot if snapshot.ready_to_use else None

        return eventually(ready, 60.0, "a snapshot becomes ready to use")  # type: ignore[return-value]

    def attach(
        self,
        volume: pb.Volume,
        *,
        node_id: str | None = None,
        capability: pb.VolumeCapability | None = None,
        readonly: bool = False,
    ) -> Mapping[str, str]:
        """Publishes to a node where the driver asks for it; returns the publish_context."""
        if not self._has("controller:PUBLISH_UNPUBLISH_VOLUME"):
            return {}
        request = self.requests.publish(
            volume, node_id=node_id, capability=capability, readonly=readonly
        )
        return self._controller.ControllerPublishVolume(request).publish_context

    def staging_path(self) -> str:
        """A fresh staging directory (SAME_HOST)."""
        assert self._paths is not None
        return self._kept(self._paths, self._paths.staging(self.requests.fresh_name("d")))

    def target_path(self) -> str:
        """A fresh target path; its parent exists, it does not (SAME_HOST)."""
        assert self._paths is not None
        return self._kept(self._paths, self._paths.target(self.requests.fresh_name("d")))

    def stage(
        self,
        volume: pb.Volume,
        *,
        capability: pb.VolumeCapability | None = None,
        publish_context: Mapping[str, str] | None = None,
    ) -> str:
        """Stages where the driver asks for it; returns the staging path, empty without STAGE."""
        if not self._has("node:STAGE_UNSTAGE_VOLUME"):
            return ""
        path = self.staging_path()
        self._node.NodeStageVolume(
            self.requests.stage(
                volume, path, capability=capability, publish_context=publish_context
            )
        )
        return path

    def mount(
        self,
        volume: pb.Volume | None = None,
        *,
        capability: pb.VolumeCapability | None = None,
        readonly: bool = False,
    ) -> Mounted:
        """The whole way: create, controller publish, stage, node publish."""
        mounted = self.ready(volume, capability=capability, readonly=readonly)
        self._node.NodePublishVolume(mounted.request)
        return mounted

    def ready(
        self,
        volume: pb.Volume | None = None,
        *,
        capability: pb.VolumeCapability | None = None,
        readonly: bool = False,
    ) -> Mounted:
        """All of `mount` but its last step: `request` is left to be sent."""
        if volume is None:
            capabilities = [capability] if capability else None
            volume = self.volume(self.requests.volume(capabilities=capabilities))
        context = self.attach(volume, capability=capability)
        staging = self.stage(volume, capability=capability, publish_context=context)
        request = self.requests.node_publish(
            volume,
            self.target_path(),
            staging_path=staging,
            capability=capability,
            readonly=readonly,
            publish_context=context,
        )
        return Mounted(volume, request.target_path, staging, context, request)

    def unmount(self, mounted: Mounted) -> None:
        """NodeUnpublishVolume of what `mount` published."""
        self._node.NodeUnpublishVolume(
            pb.NodeUnpublishVolumeRequest(
                volume_id=mounted.volume.volume_id, target_path=mounted.target_path
            )
        )

    def withdraw(self, mounted: Mounted) -> None:
        """The whole way back of `mount`: node unpublish, unstage, controller unpublish."""
        self.unmount(mounted)
        volume_id = mounted.volume.volume_id
        if mounted.staging_path:
            self._node.NodeUnstageVolume(
                pb.NodeUnstageVolumeRequest(
                    volume_id=volume_id, staging_target_path=mounted.staging_path
                )
            )
        if self._has("controller:PUBLISH_UNPUBLISH_VOLUME"):
            self._controller.ControllerUnpublishVolume(self.requests.unpublish(volume_id))

    def _has(self, capability: str) -> bool:
        return capability in self.requests.capabilities

    def _kept(self, paths: Paths, path: str) -> str:
        self._cleanup.scope.callback(partial(paths.release, path))
        return path
