"""What can be tested around a target: each `no_*` is empty, or the reason why something cannot."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from conformance.csi.configured import Configured
from conformance.csi.requests import Mode
from conformance.engine.verdict import Broken
from refimpl.csi.api import csi_pb2 as pb
from refimpl.csi.kubelet import Driver
from refimpl.wire.endpoint import Endpoint
from refimpl.wire.status import Code, Refused

MOUNTINFO = Path("/proc/self/mountinfo")
Published = Literal["mount", "link", "plain", "nothing", "unknown"]
_SHARED = (Mode.MULTI_NODE_MULTI_WRITER, Mode.MULTI_NODE_SINGLE_WRITER)


class Surroundings(Configured):
    """Answers the `Has` needs of needs.py; what has to be tried out is tried once."""

    endpoint: Endpoint
    node_endpoints: Sequence[Endpoint]
    nodes: Sequence[Driver]

    @property
    def no_volumes(self) -> str:
        """Whether there is a volume to work on."""
        if "controller:CREATE_DELETE_VOLUME" in self.offers or self.settings.volume_id:
            return ""
        return "the driver makes no volumes and no volume_id is configured"

    @property
    def no_paths(self) -> str:
        """Whether staging and target directories can be made."""
        if self.paths is None:
            return "the driver may be on another host; give path commands or a unix socket"
        return ""

    @property
    def no_files(self) -> str:
        """Whether this process sees the driver's files."""
        if self.paths is None or not self.paths.visible:
            return "the driver's files cannot be seen from here"
        return ""

    @property
    def no_kinds(self) -> str:
        """Whether it can be told what lies at a path where the driver is."""
        if self.paths is None or not (self.paths.visible or self.settings.check_path):
            return "what the driver puts at a path cannot be seen from here (--csi.checkpathcmd)"
        return ""

    @property
    def no_root(self) -> str:
        """Whether this process may do what root may."""
        return "" if os.geteuid() == 0 else "needs root"

    @property
    def no_node(self) -> str:
        """Whether there is a node to publish volumes on."""
        return "" if "node" in self.offers.services else "no node service"

    @property
    def no_mounts(self) -> str:
        """Whether a published volume is a mount that this process sees."""
        if lacking := self.no_files or self.no_volumes or self.no_node:
            return lacking
        if self._published[0] in ("mount", "unknown"):
            return ""
        return "the driver makes no mounts that can be seen from here"

    @property
    def no_file_systems(self) -> str:
        """Whether a volume has a file system of its own, and not a share of another one."""
        if self.fake and "fs_types" not in self.fake.storage.capabilities:
            return "the fake makes no file systems here (loop devices and mkfs are needed)"
        return self.no_mounts

    @property
    def no_data(self) -> str:
        """Whether a published path leads to the volume's data."""
        if self.settings.access_mode.endswith("READER_ONLY"):
            return "volumes are made for readers only (access_mode)"
        if lacking := self.no_files or self.no_volumes or self.no_node:
            return lacking
        how, writable = self._published
        if how == "nothing":
            return "nothing can be seen at a published target"
        if how == "plain":
            return "the driver publishes plain directories without a volume behind them"
        return "" if writable else "this user may not write to the driver's volumes"

    @functools.cached_property
    def _published(self) -> tuple[Published, bool]:
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

    @property
    def no_block(self) -> str:
        """Whether the driver makes block volumes."""
        return "" if self.makes(block=True) else "the driver makes no block volumes"

    @property
    def no_mount(self) -> str:
        """Whether the driver makes mount volumes."""
        return "" if self.makes(block=False) else "the driver makes no mount volumes"

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

    @property
    def no_sharing(self) -> str:
        """Whether a volume can be published at several targets of one node."""
        return "" if self.sharing_mode() else "the driver makes no volumes for several targets"

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

    @property
    def no_maximum_size(self) -> str:
        """Whether the driver tells how large a volume can be."""
        told = self.told_capacity.HasField("maximum_volume_size")
        return "" if told else "GetCapacity tells no maximum_volume_size"

    @property
    def no_minimum_size(self) -> str:
        """Whether the driver tells how small a volume can be, and that is not any size."""
        told = self.told_capacity.minimum_volume_size.value > 1
        return "" if told else "GetCapacity tells no minimum_volume_size"

    @property
    def no_node_topology(self) -> str:
        """Whether the first node tells where it is."""
        if self.offers.topology:
            return ""
        return "the node tells no place of its own (NodeGetInfo, accessible_topology)"

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
    def no_place(self) -> str:
        """Whether a place is known in which volumes can be made."""
        return "" if self.place else "neither NodeGetInfo nor CreateVolume tells a place"

    @property
    def no_node_id(self) -> str:
        """Whether volumes can be published to a node."""
        return "" if self.offers.node_id else "no node tells its id (NodeGetInfo)"

    @property
    def no_backing(self) -> str:
        """Whether this process sees what volumes are made of."""
        known = self.settings.backing_dir
        return "" if known else "the driver's own directory is not configured (backing_dir)"

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

    @property
    def no_near_node(self) -> str:
        """Whether two nodes can share a volume."""
        return self.no_second_node or ("" if self.near_node_id else "the nodes share no volumes")

    @property
    def no_second_node(self) -> str:
        """Whether volumes can be published to two nodes."""
        return "" if self.other_node_id else "no second node (node_endpoints or other_node_id)"

    @property
    def no_second_endpoint(self) -> str:
        """Whether two nodes can be called."""
        return "" if len(self.nodes) > 1 else "no second node endpoint (node_endpoints)"

    @property
    def no_split_endpoints(self) -> str:
        """Whether controller and node have addresses of their own."""
        if all(endpoint == self.endpoint for endpoint in self.node_endpoints):
            return "controller and node share one endpoint"
        return ""


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
