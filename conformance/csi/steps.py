"""What cases do over and over: bring a volume to a state of its life cycle.

CSI, section "Volume Lifecycle".
"""

from __future__ import annotations

import functools
from abc import abstractmethod
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar

import attrs
from google.protobuf.message import Message

from conformance.csi.paths import Paths
from conformance.csi.requests import Requests
from conformance.csi.undo import undo_all
from conformance.engine.ledger.calls import CallLedger
from conformance.engine.verdict import Broken, eventually, expect
from refimpl.csi.api import csi_pb2 as pb
from refimpl.csi.api import csi_pb2_grpc

T = TypeVar("T")
M = TypeVar("M", bound=Message)


@attrs.frozen
class Mounted:
    """A volume published on the first node, or ready for it: where, and by which request."""

    volume: pb.Volume
    target_path: str
    staging_path: str
    publish_context: Mapping[str, str]
    request: pb.NodePublishVolumeRequest


class Acts(Requests):
    """Steps of the calling side. Whatever they make is undone when the case ends."""

    controller: csi_pb2_grpc.ControllerStub
    node: csi_pb2_grpc.NodeStub
    paths: Paths | None
    ledger: CallLedger
    _afterwards: list[Callable[[], None]]
    _at_end: list[Callable[[], None]]
    _lasting: dict[str, Any]
    _lent: set[str]

    def volume(self, request: pb.CreateVolumeRequest | None = None) -> pb.Volume:
        """A new volume, or the user's own one where the driver makes none."""
        if "controller:CREATE_DELETE_VOLUME" not in self.offers and self.settings.volume_id:
            return pb.Volume(
                volume_id=self.settings.volume_id, volume_context=self.settings.volume_context
            )
        made = self.controller.CreateVolume(request or self.volume_request()).volume
        expect(
            made.volume_id,
            "CreateVolume answers with a volume that has an id",
            wanted="volume.volume_id",
            got=made,
        )
        return made

    def snapshot(self, volume: pb.Volume, name: str | None = None) -> pb.Snapshot:
        """A new snapshot that is ready to use, asked for again until it is."""
        request = self.snapshot_request(volume.volume_id, name)

        def ready() -> pb.Snapshot | None:
            made = self.controller.CreateSnapshot(request).snapshot
            return made if made.ready_to_use else None

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
        if "controller:PUBLISH_UNPUBLISH_VOLUME" not in self.offers:
            return {}
        request = self.publish_request(
            volume, node_id=node_id, capability=capability, readonly=readonly
        )
        return self.controller.ControllerPublishVolume(request).publish_context

    def staging_path(self) -> str:
        """A fresh staging directory."""
        return self._kept(self._paths().staging(self.fresh_name("d")))

    def target_path(self) -> str:
        """A fresh target path; its parent exists, it does not."""
        return self._kept(self._paths().target(self.fresh_name("d")))

    def stage(
        self,
        volume: pb.Volume,
        *,
        capability: pb.VolumeCapability | None = None,
        publish_context: Mapping[str, str] | None = None,
    ) -> str:
        """Stages where the driver asks for it; returns the staging path, empty without STAGE."""
        if "node:STAGE_UNSTAGE_VOLUME" not in self.offers:
            return ""
        path = self.staging_path()
        self.node.NodeStageVolume(
            self.stage_request(volume, path, capability=capability, publish_context=publish_context)
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
        place = self.ready(volume, capability=capability, readonly=readonly)
        self.node.NodePublishVolume(place.request)
        return place

    def ready(
        self,
        volume: pb.Volume | None = None,
        *,
        capability: pb.VolumeCapability | None = None,
        readonly: bool = False,
    ) -> Mounted:
        """All of `mount` but its last step: `request` is left to be sent."""
        if volume is None:
            asked = [capability] if capability else None
            volume = self.volume(self.volume_request(capabilities=asked))
        context = self.attach(volume, capability=capability)
        staging = self.stage(volume, capability=capability, publish_context=context)
        request = self.node_publish_request(
            volume,
            self.target_path(),
            staging_path=staging,
            capability=capability,
            readonly=readonly,
            publish_context=context,
        )
        return Mounted(volume, request.target_path, staging, context, request)

    @property
    def lasting_volume(self) -> pb.Volume:
        """A volume that stays until the run ends, published nowhere: for cases that ask about one,
        repeat what made it, or send what has to be refused, and leave it as it was."""
        made: pb.Volume = self._shared("volume", lambda: self.volume(self.lasting_request))
        return _copy(made)

    @property
    def lasting_request(self) -> pb.CreateVolumeRequest:
        """What made `lasting_volume`."""
        return _copy(self._lasting_request)

    @functools.cached_property
    def _lasting_request(self) -> pb.CreateVolumeRequest:
        return self.volume_request()

    @property
    def lasting_mount(self) -> Mounted:
        """Another such volume, published on the first node."""
        if "controller:CREATE_DELETE_VOLUME" not in self.offers:
            return self.mount()  # the one volume there is must be free for the next case
        mounted: Mounted = self._shared("mount", self.mount)
        volume, request = _copy(mounted.volume), _copy(mounted.request)
        return attrs.evolve(mounted, volume=volume, request=request)

    def forget_lasting(self, *, lent: bool = False) -> None:
        """Lets what lasts be made anew: the driver that had it is gone. lent: only what this case
        has used, which may no longer be as it was."""
        for name in self._lent if lent else set(self._lasting):
            if self._lasting.pop(name, None) and name == "volume":
                self.__dict__.pop("_lasting_request", None)

    def _shared(self, name: str, make: Callable[[], Any]) -> Any:
        self._lent.add(name)
        if name not in self._lasting:
            self._lasting[name] = self._made_to_last(make)
        return self._lasting[name]

    def _made_to_last(self, make: Callable[[], T]) -> T:
        earlier = {made.entry.number for made in self.ledger.open_calls()}
        afterwards, self._afterwards = self._afterwards, []
        try:
            thing = make()
            for made in self.ledger.open_calls():
                made.left = made.entry.number not in earlier
            self._at_end += self._afterwards
            self._afterwards = []
        finally:
            self._afterwards = afterwards + self._afterwards
        return thing

    def unmount(self, mounted: Mounted) -> None:
        """NodeUnpublishVolume of what `mount` published."""
        self.node.NodeUnpublishVolume(
            pb.NodeUnpublishVolumeRequest(
                volume_id=mounted.volume.volume_id, target_path=mounted.target_path
            )
        )

    def withdraw(self, mounted: Mounted) -> None:
        """The whole way back of `mount`: node unpublish, unstage, controller unpublish."""
        self.unmount(mounted)
        volume_id = mounted.volume.volume_id
        if mounted.staging_path:
            self.node.NodeUnstageVolume(
                pb.NodeUnstageVolumeRequest(
                    volume_id=volume_id, staging_target_path=mounted.staging_path
                )
            )
        if "controller:PUBLISH_UNPUBLISH_VOLUME" in self.offers:
            self.controller.ControllerUnpublishVolume(self.unpublish_request(volume_id))

    def clean_up(self) -> None:
        """Undoes what the case made, newest first; raises Broken when the target refuses."""
        refused = undo_all(self.ledger, self.call_with_secrets)
        _newest_first(self._afterwards)
        if refused:
            self.forget_lasting(lent=True)
        self._lent.clear()
        if refused:
            raise refused[0]

    def clean_up_all(self) -> None:
        """Undoes what lasts, and tries once more what could not be undone before."""
        undo_all(self.ledger, self.call_with_secrets, left=True)
        _newest_first(self._at_end)

    def call_with_secrets(self, method: str, request: Message) -> Any:
        """Inverse requests are built without secrets; the user's are put back here."""
        if "secrets" in request.DESCRIPTOR.fields_by_name:
            sent: Any = request
            sent.secrets.update(self.settings.secrets_for(method.rpartition("/")[2]))
        return self.call(method, request)

    @abstractmethod
    def call(self, method: str, request: Message) -> Any:
        """One call by its full method name."""

    def afterwards(self, act: Callable[[], None]) -> None:
        """Called when the case has ended and what it made is undone; the last one comes first."""
        self._afterwards.append(act)

    def _kept(self, path: str) -> str:
        self.afterwards(partial(self._paths().release, path))
        return path

    def _paths(self) -> Paths:
        assert self.paths is not None, "the case needs SAME_HOST"
        return self.paths


def _copy(message: M) -> M:
    """So that a case that changes what it got changes nothing for the next one."""
    made = type(message)()
    made.CopyFrom(message)
    return made


def _newest_first(acts: list[Callable[[], None]]) -> None:
    """Does and forgets them."""
    while acts:
        acts.pop()()


__all__ = ["Acts", "Broken", "Mounted"]
