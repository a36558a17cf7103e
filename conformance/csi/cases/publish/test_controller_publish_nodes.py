"""ControllerPublishVolume on several nodes: who may share a volume (CSI 1.13, access modes)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from conformance.csi.common.refusals import expect_room
from conformance.csi.common.uses import described, single_node_modes
from conformance.csi.needs import (
    ATTACH_LIMIT,
    CREATE_DELETE_VOLUME,
    MULTI_NODE_ONE_WRITER,
    MULTI_NODE_READER,
    MULTI_NODE_WRITERS,
    NEAR_NODES,
    NODE_ID,
    PUBLISH_READONLY,
    PUBLISH_UNPUBLISH_VOLUME,
)
from conformance.csi.requests import Mode
from conformance.csi.target import CsiTarget
from conformance.engine.case import case
from conformance.engine.needs import Need
from conformance.engine.verdict import Broken, Unjudged, expect, expect_status, should, together
from refimpl.csi.api import csi_pb2 as pb
from refimpl.wire.status import Code, Refused

_SOURCE = "CSI 1.13 ControllerPublishVolume"
_SHARED: Sequence[Need] = [PUBLISH_UNPUBLISH_VOLUME, NODE_ID, CREATE_DELETE_VOLUME, NEAR_NODES]
_LIMITED: Sequence[Need] = [PUBLISH_UNPUBLISH_VOLUME, NODE_ID, CREATE_DELETE_VOLUME, ATTACH_LIMIT]


@case("CSI-PUB-007", _SOURCE, needs=_SHARED)
def test_a_volume_for_one_node_is_not_published_to_a_second(csi: CsiTarget) -> None:
    """Two nodes that write to one file system destroy it. Whoever moves the pod needs to know
    which node to wait for, so the message should name it."""
    with together() as check:
        for mode in single_node_modes(csi):
            if not csi.preconditions.makes(mode):
                continue
            use = csi.requests.capability(mode)
            readonly = mode == Mode.SINGLE_NODE_READER_ONLY and _can_be_readonly(csi)
            volume = csi.steps.volume(csi.requests.volume(capabilities=[use]))
            csi.steps.attach(volume, capability=use, readonly=readonly)
            rule = (
                f"a volume published to one node as {described(use)} is not published to a second"
            )
            try:
                csi.steps.attach(
                    volume,
                    node_id=csi.preconditions.near_node_id,
                    capability=use,
                    readonly=readonly,
                )
            except Unjudged:
                raise
            except Refused as refusal:
                code, message = refusal.code, refusal.message
            else:
                code, message = Code.OK, "no message"
            with check:
                expect(
                    code == Code.FAILED_PRECONDITION,
                    rule,
                    wanted="FAILED_PRECONDITION",
                    got=code.name,
                )
            with check:
                should(
                    csi.capabilities.node_id in message,
                    "the refusal names the node that has the volume",
                    wanted=csi.capabilities.node_id,
                    got=message,
                )


@case("CSI-PUB-008", _SOURCE, needs=[*_SHARED, MULTI_NODE_READER])
def test_readers_on_two_nodes_share_a_volume(csi: CsiTarget) -> None:
    """ReadOnlyMany: a data set that every node reads."""
    use = csi.requests.capability(Mode.MULTI_NODE_READER_ONLY)
    volume = csi.steps.volume(csi.requests.volume(capabilities=[use]))
    with together() as check:
        for node in (csi.capabilities.node_id, csi.preconditions.near_node_id):
            with check:
                expect_status(
                    partial(
                        csi.steps.attach,
                        volume,
                        node_id=node,
                        capability=use,
                        readonly=_can_be_readonly(csi),
                    ),
                    {Code.OK},
                    f"a volume for MULTI_NODE_READER_ONLY is published to node {node}",
                )


@case("CSI-PUB-009", _SOURCE, needs=[*_SHARED, MULTI_NODE_WRITERS])
def test_writers_on_two_nodes_share_a_volume(csi: CsiTarget) -> None:
    """ReadWriteMany: without it a Deployment of two replicas never becomes ready."""
    use = csi.requests.capability(Mode.MULTI_NODE_MULTI_WRITER)
    volume = csi.steps.volume(csi.requests.volume(capabilities=[use]))
    with together() as check:
        for node in (csi.capabilities.node_id, csi.preconditions.near_node_id):
            with check:
                expect_status(
                    partial(csi.steps.attach, volume, node_id=node, capability=use),
                    {Code.OK},
                    f"a volume for MULTI_NODE_MULTI_WRITER is published to node {node}",
                )


@case("CSI-PUB-010", _SOURCE, needs=[*_SHARED, PUBLISH_READONLY, MULTI_NODE_ONE_WRITER])
def test_of_many_nodes_only_one_writes(csi: CsiTarget) -> None:
    """MULTI_NODE_SINGLE_WRITER: the other nodes read, and a second writer is held off."""
    use = csi.requests.capability(Mode.MULTI_NODE_SINGLE_WRITER)
    volume = csi.steps.volume(csi.requests.volume(capabilities=[use]))
    other = csi.preconditions.near_node_id
    csi.steps.attach(volume, capability=use)
    with together() as check:
        with check:
            expect_status(
                lambda: csi.steps.attach(volume, node_id=other, capability=use, readonly=True),
                {Code.OK},
                "a volume for MULTI_NODE_SINGLE_WRITER is published to a reader beside its writer",
            )
        csi.controller.ControllerUnpublishVolume(csi.requests.unpublish(volume.volume_id, other))
        with check:
            expect_status(
                lambda: csi.steps.attach(volume, node_id=other, capability=use),
                {Code.FAILED_PRECONDITION},
                "a volume for MULTI_NODE_SINGLE_WRITER is not published to a second writer",
            )


@case("CSI-PUB-013", _SOURCE, needs=_LIMITED, alone=True)
def test_a_node_takes_no_more_volumes_than_it_said(csi: CsiTarget) -> None:
    """The scheduler counts on max_volumes_per_node, and the attacher waits for room only after this
    code. Volumes of others count, too: the node may be full before its limit is reached here."""
    _fill(csi)


@case("CSI-PUB-014", _SOURCE, needs=_LIMITED, alone=True)
def test_a_full_node_has_room_again_after_an_unpublish(csi: CsiTarget) -> None:
    """A slot that is not given back makes the node useless after some days of pods coming and
    going."""
    attached, left_over = _fill(csi)
    csi.controller.ControllerUnpublishVolume(csi.requests.unpublish(attached[0].volume_id))
    expect_room(
        lambda: csi.steps.attach(left_over),
        "after ControllerUnpublishVolume from a full node another volume is published to it",
    )


@case("CSI-PUB-015", _SOURCE, needs=_LIMITED, alone=True)
def test_a_repeated_publish_needs_no_room_on_a_full_node(csi: CsiTarget) -> None:
    """The last volume of a node whose answer got lost is asked for again, and is already there."""
    attached, _ = _fill(csi)
    expect_room(
        lambda: csi.steps.attach(attached[-1]),
        "ControllerPublishVolume of a volume that a full node already has is repeated",
    )


def _fill(csi: CsiTarget) -> tuple[list[pb.Volume], pb.Volume]:
    """Publishes volumes to the first node until it takes no more: those it took, and the next."""
    csi.holdings.lifted = True  # the option that asks for these cases says so
    attached: list[pb.Volume] = []
    while len(attached) <= csi.capabilities.max_volumes:
        volume = csi.steps.volume(csi.requests.volume())
        try:
            csi.steps.attach(volume)
        except Refused as refusal:
            rule = "ControllerPublishVolume to a node that is full is refused"
            if refusal.code != Code.RESOURCE_EXHAUSTED or not attached:
                raise Broken(rule, "RESOURCE_EXHAUSTED, not at once", str(refusal)) from None
            return attached, volume
        attached.append(volume)
    raise Broken(
        "a node takes no more volumes than its max_volumes_per_node",
        f"RESOURCE_EXHAUSTED for number {csi.capabilities.max_volumes + 1}",
        f"OK for all {len(attached)}",
    )


def _can_be_readonly(csi: CsiTarget) -> bool:
    return csi.has(PUBLISH_READONLY)
