"""What can be tested around a target, tried out once where it has to be tried."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from conformance.csi.requests import Mode
from conformance.csi.steps import Acts
from conformance.engine.hooks import Hooks
from conformance.engine.needs import Lacks
from conformance.engine.verdict import Broken
from refimpl.csi.api import csi_pb2 as pb
from refimpl.csi.kubelet import Driver
from refimpl.wire.endpoint import Endpoint
from refimpl.wire.status import Code, Refused

if TYPE_CHECKING:
    from refimpl.csi.fake import FakeDriver

MOUNTINFO = Path("/proc/self/mountinfo")
Published = Literal["mount", "link", "plain", "nothing", "unknown"]
_SHARED = (Mode.MULTI_NODE_MULTI_WRITER, Mode.MULTI_NODE_SINGLE_WRITER)


class Surroundings(Acts):
    """What features.py asks about a driver and what lies around it."""

    fake: FakeDriver | None
    hooks: Hooks
    command: Sequence[str]
    lacks: Lacks
    endpoint: Endpoint
    node_endpoints: Sequence[Endpoint]
    nodes: Sequence[Driver]

    @functools.cached_property
    def published(self) -> tuple[Published, bool]:
        """How the driver publishes a volume, and whether this user may write there; unknown where
        it fails to, which a case will tell."""
        mark = self.ledger.open_calls()
        try:
            path = self.mount().target_path
            if not os.path.lexists(path):
                return "nothing", False
            writable = os.access(path, os.W_OK)
            if os.path.islink(path):
                return "link", writable
            return "mount" if os.path.realpath(path) in mount_points() else "plain", writable
        except (Refused, Broken):
            return "unknown", True
        finally:
            if not mark:
                self.clean_up_quietly()

    def clean_up_quietly(self) -> None:
        """Cleans up after a trial; what cannot be removed stays on the ledger for the next case."""
        with contextlib.suppress(Broken):
            self.clean_up()

    def makes(self, *modes: Mode.Mode.ValueType, block: bool | None = None) -> bool:
        """Whether the driver makes a volume for these access modes at once; tried once for each."""
        wanted = modes or (self.usual_mode,)
        return self._makes(wanted, self.settings.access_type == "block" if block is None else block)

    @functools.cache  # noqa: B019 - one target lives as long as its process
    def _makes(self, modes: tuple[Mode.Mode.ValueType, ...], block: bool) -> bool:
        if "controller:CREATE_DELETE_VOLUME" not in self.offers:
            usual = modes == (self.usual_mode,)
            return usual and (self.settings.access_type == "block") == block
        wanted = [self.capability(mode, block=block) for mode in modes]
        try:
            request = self.volume_request(capabilities=wanted, required=self.data_size)
            made = self.controller.CreateVolume(request).volume
            self.controller.DeleteVolume(self.delete_request(made.volume_id))
        except Refused as refusal:
            return refusal.code != Code.INVALID_ARGUMENT
        return True

    def sharing_mode(self, *, block: bool | None = None) -> Mode.Mode.ValueType:
        """A mode that writes to one volume at several targets of a node, UNKNOWN for none."""
        fine = all(
            f"{side}:SINGLE_NODE_MULTI_WRITER" in self.offers for side in ("controller", "node")
        )
        for mode in (*([Mode.SINGLE_NODE_MULTI_WRITER] if fine else []), *_SHARED):
            if self.makes(mode, block=block):
                return mode
        return Mode.UNKNOWN

    @functools.cached_property
    def told_capacity(self) -> pb.GetCapacityResponse:
        """What GetCapacity first told, empty where the driver does not offer it or refused."""
        if "controller:GET_CAPACITY" not in self.offers:
            return pb.GetCapacityResponse()
        try:
            return self.controller.GetCapacity(self.capacity_request())
        except Refused:
            return pb.GetCapacityResponse()

    @property
    def small_size(self) -> int:
        """Bytes of a volume that only has to exist."""
        return max(1 << 20, self.told_capacity.minimum_volume_size.value)

    @property
    def data_size(self) -> int:
        """Bytes of a volume that is written to: little, and enough for any file system of size."""
        return max(64 << 20, self.told_capacity.minimum_volume_size.value)

    @functools.cached_property
    def place(self) -> Mapping[str, str]:
        """The segments of a place where volumes can be made: that of the first node, or else of a
        volume that the driver put somewhere; empty where nobody tells."""
        if self.offers.topology or "controller:CREATE_DELETE_VOLUME" not in self.offers:
            return self.offers.topology or {}
        try:
            made = self.controller.CreateVolume(self.volume_request()).volume
            self.controller.DeleteVolume(self.delete_request(made.volume_id))
        except Refused:
            return {}
        return next((dict(told.segments) for told in made.accessible_topology), {})

    @property
    def other_node_id(self) -> str:
        """A second node the controller knows, empty where there is none."""
        if self.settings.other_node_id or len(self.nodes) < 2:
            return self.settings.other_node_id
        return self._node_id(1)

    @functools.cache  # noqa: B019
    def _node_id(self, number: int) -> str:
        return self.nodes[number].node.NodeGetInfo(pb.NodeGetInfoRequest()).node_id

    @functools.cached_property
    def near_node_id(self) -> str:
        """A second node from which volumes made for the first can be used, empty where there is
        none; a node of which only the id is known counts as one."""
        if self.settings.other_node_id or not self.other_node_id:
            return self.other_node_id
        place = self.nodes[1].node.NodeGetInfo(pb.NodeGetInfoRequest()).accessible_topology.segments
        return self.other_node_id if dict(place) == (self.offers.topology or {}) else ""


def mount_points() -> list[str]:
    """The mount points of this process, one entry a layer (proc(5), mountinfo)."""
    return [point for point, _ in mount_table()]


def mount_table() -> list[tuple[str, str]]:
    """Mount point and whole line of each mount, in the order of mounting (proc(5), mountinfo)."""
    # A path is any bytes, and only blanks, newlines and backslashes are escaped in it.
    lines = MOUNTINFO.read_text(errors="surrogateescape").split("\n")
    return [(_unescape(line.split(" ")[4]), line) for line in lines if line]


def _unescape(text: str) -> str:
    return (
        text.encode("latin-1", "backslashreplace").decode("unicode_escape")
        if "\\" in text
        else text
    )
