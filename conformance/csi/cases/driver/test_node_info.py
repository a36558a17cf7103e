"""NodeGetCapabilities and NodeGetInfo: what a node says of itself when it is registered."""

from __future__ import annotations

import contextlib

from conformance.csi.common import places
from conformance.csi.common.limits import NODE_ID_BYTES
from conformance.csi.needs import NODE, SUPERVISED, TOPOLOGY, without
from conformance.csi.target import CsiTarget
from conformance.engine.case import case
from conformance.engine.targets.supervise import Supervised
from conformance.engine.verdict import expect, should, together
from refimpl.csi.api import csi_pb2 as pb
from refimpl.csi.api import csi_pb2_grpc
from refimpl.csi.kubelet import Driver
from refimpl.wire.client import Channel

_Rpc = pb.NodeServiceCapability.RPC
_TIMES = 3


@case("CSI-NODE-001", "CSI 1.13 NodeGetCapabilities", needs=[NODE])
def test_the_capabilities_of_a_node_are_known_and_stay(csi: CsiTarget) -> None:
    """Kubelet asks before each step and takes each answer anew: staged by one answer, and published
    by another that does not know of staging, a volume is mounted wrongly."""
    with together() as check:
        for driver in csi.nodes:
            replies = [_capabilities(driver) for _ in range(_TIMES)]
            first = replies[0]
            unknown = [number for number in first if not number or number not in _Rpc.Type.values()]
            with check:
                expect(
                    not unknown,
                    "each node capability is a known one",
                    wanted="no UNKNOWN and no other number",
                    got=unknown,
                )
            for other in replies[1:]:
                rule = "NodeGetCapabilities answers the same each time"
                with check:
                    expect(set(other) == set(first), rule, wanted=_named(first), got=_named(other))
            rule = "no node capability is listed twice"
            with check:
                should(len(set(first)) == len(first), rule, wanted="each once", got=_named(first))


@case("CSI-NODE-002", "CSI 1.13 NodeGetInfo", needs=[NODE])
def test_what_a_node_tells_of_itself_is_well_formed(csi: CsiTarget) -> None:
    """All of it ends up as labels and limits of the node in the cluster; kubelet does not register
    a driver of which it cannot write them."""
    replies = [_info(driver) for driver in csi.nodes]
    with together() as check:
        for info in replies:
            size = len(info.node_id.encode())
            rule = f"node_id is there, and not longer than {NODE_ID_BYTES} bytes"
            with check:
                expect(
                    0 < size <= NODE_ID_BYTES, rule, wanted=f"1 to {NODE_ID_BYTES} bytes", got=size
                )
            limit = info.max_volumes_per_node
            rule = "max_volumes_per_node is not negative"
            with check:
                expect(limit >= 0, rule, wanted="0, or a limit", got=limit)
            segments = info.accessible_topology.segments
            wrong = list(places.problems(segments))
            rule = "accessible_topology obeys the grammar of topology"
            with check:
                expect(not wrong, rule, wanted="[prefix/]name: value", got=wrong)
            if csi.has(TOPOLOGY):
                rule = "a node of a driver with VOLUME_ACCESSIBILITY_CONSTRAINTS tells where it is"
                with check:
                    should(segments, rule, wanted="accessible_topology.segments", got=info)
        prefixes = places.prefixes(
            key for info in replies for key in info.accessible_topology.segments
        )
        rule = "all topology keys of a driver have one prefix"
        with check:
            expect(len(prefixes) <= 1, rule, wanted="one prefix", got=sorted(prefixes))
        ids = {info.node_id for info in replies}
        rule = "every node has a node_id of its own"
        with check:
            expect(
                len(ids) == len(replies),
                rule,
                wanted=f"{len(replies)} different ones",
                got=sorted(ids),
            )


@case("CSI-NODE-003", "CSI 1.13 NodeGetInfo", needs=[NODE])
def test_a_node_keeps_its_id(csi: CsiTarget) -> None:
    """Attachments are kept under the node's id: under another one they belong to a node that does
    not exist, and the volumes stay attached there. Asked again and again and, where the suite can
    start the driver, before and after a restart."""
    with together() as check:
        for driver in csi.nodes:
            with check:
                ids = {_info(driver).node_id for _ in range(_TIMES)}
                rule = "NodeGetInfo tells the same node_id each time"
                expect(len(ids) == 1, rule, wanted="one node_id", got=sorted(ids))
        if not csi.has(SUPERVISED):
            return
        with contextlib.closing(csi.new_process()) as process:
            before = _id_of_started(process)
            process.kill()
            after = _id_of_started(process)
        rule = "a node tells the same node_id after a restart of its driver"
        with check:
            expect(after == before, rule, wanted=before, got=after)


@case(
    "CSI-NODE-004",
    "CSI 1.13 NodeGetInfo",
    needs=[NODE, without(TOPOLOGY)],
)
def test_a_driver_without_topology_tells_no_place(csi: CsiTarget) -> None:
    """The scheduler would then keep pods off nodes for a driver whose volumes know no places."""
    with together() as check:
        for driver in csi.nodes:
            with check:
                info = _info(driver)
                expect(
                    not info.HasField("accessible_topology"),
                    "without VOLUME_ACCESSIBILITY_CONSTRAINTS a node has no accessible_topology",
                    wanted="no accessible_topology",
                    got=info,
                )


def _capabilities(driver: Driver) -> list[int]:
    reply = driver.node.NodeGetCapabilities(pb.NodeGetCapabilitiesRequest())
    return [entry.rpc.type for entry in reply.capabilities]


def _info(driver: Driver) -> pb.NodeGetInfoResponse:
    return driver.node.NodeGetInfo(pb.NodeGetInfoRequest())


def _id_of_started(process: Supervised) -> str:
    process.start().ready()
    with contextlib.closing(Channel(process.endpoint)) as channel:
        return csi_pb2_grpc.NodeStub(channel).NodeGetInfo(pb.NodeGetInfoRequest()).node_id


def _named(numbers: list[int]) -> str:
    known = _Rpc.Type
    return ", ".join(known.Name(n) if n in known.values() else str(n) for n in numbers)  # type: ignore[arg-type]
