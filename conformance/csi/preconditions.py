"""What a driver and its surroundings let a case do: what has to be tried out is tried once.

features.py makes reasons to skip of it.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from conformance.csi.cleanup import CleanUp
from conformance.csi.common.mounts import mount_points
from conformance.csi.connections import Connections
from conformance.csi.paths import Paths
from conformance.csi.requests import Mode
from conformance.csi.sizes import Sizes
from conformance.csi.steps import Steps
from conformance.engine.targets.hooks import Hooks
from conformance.engine.verdict import Broken
from refimpl.csi.api import csi_pb2 as pb
from refimpl.wire.status import Code, Refused

if TYPE_CHECKING:
    from refimpl.csi.fake import FakeDriver

__all__ = ["Preconditions", "Published"]

Published = Literal["mount", "link", "plain", "nothing", "unknown"]
_SHARED = (Mode.MULTI_NODE_MULTI_WRITER, Mode.MULTI_NODE_SINGLE_WRITER)


class Preconditions:
    """hooks: what breaks and repairs the driver. command: what starts another process of it, empty
    where nobody knows. fake: the driver where it is ours. sizes: how large volumes may be."""

    def __init__(
        self,
        connections: Connections,
        steps: Steps,
        cleanup: CleanUp,
        *,
        paths: Paths | None,
        hooks: Hooks,
        command: Sequence[str] = (),
        fake: FakeDriver | None = None,
    ) -> None:
        self.connections, self.paths = connections, paths
        self.hooks, self.command, self.fake = hooks, command, fake
        self.settings, self.capabilities = steps.requests.settings, steps.requests.capabilities
        self._steps, self._requests, self._cleanup = steps, steps.requests, cleanup
        self._controller = connections.plain[0].controller
        self.sizes = Sizes(self.settings, lambda: self.capacity, self._makes_size)

    @functools.cached_property
    def published(self) -> tuple[Published, bool]:
        """How the driver publishes a volume, and whether this user may write there; unknown where
        it fails to, which a case will tell."""
        with self._cleanup.trial():
            try:
                path = self._steps.mount().target_path
            except (Refused, Broken):
                return "unknown", True
            if not os.path.lexists(path):
                return "nothing", False
            writable = os.access(path, os.W_OK)
            if os.path.islink(path):
                return "link", writable
            return "mount" if os.path.realpath(path) in mount_points() else "plain", writable

    def makes(self, *modes: Mode.Mode.ValueType, block: bool | None = None) -> bool:
        """Whether the driver makes a volume for these access modes at once; tried once for each."""
        usual = self.settings.access_type == "block"
        return self._makes(modes or (self._requests.usual_mode,), usual if block is None else block)

    @functools.cache  # noqa: B019 - one target lives as long as its process
    def _makes(self, modes: tuple[Mode.Mode.ValueType, ...], block: bool) -> bool:
        requests = self._requests
        if "controller:CREATE_DELETE_VOLUME" not in self.capabilities:
            usual = modes == (requests.usual_mode,)
            return usual and (self.settings.access_type == "block") == block
        wanted = [requests.capability(mode, block=block) for mode in modes]
        request = requests.volume(capabilities=wanted)
        try:
            self._tried(request)
        except Refused as refusal:
            return refusal.code != Code.INVALID_ARGUMENT
        return True

    def sharing_mode(self, *, block: bool | None = None) -> Mode.Mode.ValueType:
        """A mode that writes to one volume at several targets of a node, UNKNOWN for none."""
        fine = all(
            f"{side}:SINGLE_NODE_MULTI_WRITER" in self.capabilities
            for side in ("controller", "node")
        )
        for mode in (*([Mode.SINGLE_NODE_MULTI_WRITER] if fine else []), *_SHARED):
            if self.makes(mode, block=block):
                return mode
        return Mode.UNKNOWN

    @functools.cached_property
    def capacity(self) -> pb.GetCapacityResponse:
        """What GetCapacity first told, empty where the driver does not offer it or refused."""
        if "controller:GET_CAPACITY" not in self.capabilities:
            return pb.GetCapacityResponse()
        try:
            return self._controller.GetCapacity(self._requests.capacity())
        except Refused:
            return pb.GetCapacityResponse()

    def _makes_size(self, size: int) -> bool:
        if "controller:CREATE_DELETE_VOLUME" not in self.capabilities:
            return True
        try:
            self._tried(self._requests.volume(required=size))
        except Refused as refusal:
            return refusal.code not in (Code.OUT_OF_RANGE, Code.INVALID_ARGUMENT)
        return True

    @functools.cached_property
    def place(self) -> Mapping[str, str]:
        """The segments of a place where volumes can be made: that of the first node, or else of a
        volume that the driver put somewhere; empty where nobody tells."""
        topology = self.capabilities.topology
        if topology or "controller:CREATE_DELETE_VOLUME" not in self.capabilities:
            return topology or {}
        try:
            volume = self._tried(self._requests.volume())
        except Refused:
            return {}
        return next((dict(place.segments) for place in volume.accessible_topology), {})

    @property
    def other_node_id(self) -> str:
        """A second node the controller knows, empty where there is none."""
        if self.settings.other_node_id or len(self.connections.at_nodes) < 2:
            return self.settings.other_node_id
        return self._second_node.node_id

    @property
    def near_node_id(self) -> str:
        """A second node from which volumes made for the first can be used, empty where there is
        none; a node of which only the id is known counts as one."""
        if self.settings.other_node_id or not self.other_node_id:
            return self.other_node_id
        place = dict(self._second_node.accessible_topology.segments)
        return self.other_node_id if place == (self.capabilities.topology or {}) else ""

    @functools.cached_property
    def _second_node(self) -> pb.NodeGetInfoResponse:
        return self.connections.at_nodes[1].node.NodeGetInfo(pb.NodeGetInfoRequest())

    def _tried(self, request: pb.CreateVolumeRequest) -> pb.Volume:
        """Makes a volume and deletes it again; raises Refused."""
        with self._cleanup.trial():
            volume = self._controller.CreateVolume(request).volume
            self._controller.DeleteVolume(self._requests.delete(volume.volume_id))
            return volume
