"""ControllerUnpublishVolume: taking a volume off its nodes, whatever happened before."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from conformance.csi.common.interposed import interposed
from conformance.csi.common.pagination import volumes
from conformance.csi.needs import (
    CREATE_DELETE_VOLUME,
    LIST_PUBLISHED_NODES,
    MULTI_NODE_WRITERS,
    NEAR_NODES,
    NODE_ID,
    PUBLISH_READONLY,
    PUBLISH_UNPUBLISH_VOLUME,
    SAME_HOST,
    STAGE_UNSTAGE_VOLUME,
    VOLUMES,
)
from conformance.csi.requests import Mode
from conformance.csi.target import CsiTarget
from conformance.engine.case import case
from conformance.engine.needs import Need
from conformance.engine.verdict import expect, expect_status, together
from refimpl.csi.api import csi_pb2 as pb
from refimpl.wire.faults import DropReply, FaultRule, Status
from refimpl.wire.status import Code

_SOURCE = "CSI 1.13 ControllerUnpublishVolume"
_SHARED: Sequence[Need] = [PUBLISH_UNPUBLISH_VOLUME, NODE_ID, CREATE_DELETE_VOLUME, NEAR_NODES]


@case("CSI-PUB-019", _SOURCE, needs=[PUBLISH_UNPUBLISH_VOLUME, NODE_ID])
def test_an_unpublish_without_a_volume_is_refused(csi: CsiTarget) -> None:
    """Taken for "all volumes", it would pull every disk off the node."""
    request = csi.requests.unpublish("")
    expect_status(
        lambda: csi.controller.ControllerUnpublishVolume(request),
        {Code.INVALID_ARGUMENT},
        "ControllerUnpublishVolume without volume_id is refused",
    )


@case("CSI-PUB-020", _SOURCE, needs=[PUBLISH_UNPUBLISH_VOLUME, NODE_ID, VOLUMES])
def test_a_volume_that_was_never_published_counts_as_unpublished(csi: CsiTarget) -> None:
    """A publish may have failed before it began; its clean-up must come to an end nevertheless."""
    rule = "ControllerUnpublishVolume of a volume no node has is done"
    _unpublish(csi, csi.shared.volume(), rule)


@case("CSI-PUB-021", _SOURCE, needs=[PUBLISH_UNPUBLISH_VOLUME, NODE_ID, VOLUMES])
def test_a_repeated_unpublish_is_done(csi: CsiTarget) -> None:
    """The detacher repeats what it got no answer to, and retries an error for ever: the volume
    would stay "attached" in the cluster until someone removes a finalizer by hand."""
    volume = csi.shared.volume()
    csi.steps.attach(volume)
    _unpublish(csi, volume, "ControllerUnpublishVolume of a published volume is done")
    _unpublish(csi, volume, "the same ControllerUnpublishVolume once more is done")


@case("CSI-PUB-022", _SOURCE, needs=[PUBLISH_UNPUBLISH_VOLUME, NODE_ID, VOLUMES])
def test_what_cannot_be_found_counts_as_unpublished_or_as_missing(csi: CsiTarget) -> None:
    """Nodes and volumes vanish before they are let go of. OK is what lets the caller finish;
    NOT_FOUND is for a driver that cannot tell whether the volume is still in use."""
    unknown, node = csi.requests.unknown_volume_id(), csi.requests.fresh_name("node")
    with together() as check:
        for what, request in (
            ("an unknown volume", csi.requests.unpublish(unknown)),
            ("an unknown node", csi.requests.unpublish(csi.shared.volume().volume_id, node)),
        ):
            with check:
                expect_status(
                    partial(csi.controller.ControllerUnpublishVolume, request),
                    {Code.OK, Code.NOT_FOUND},
                    f"ControllerUnpublishVolume with {what} is done, or refused as not found",
                )


@case("CSI-PUB-023", _SOURCE, needs=[PUBLISH_UNPUBLISH_VOLUME, NODE_ID, CREATE_DELETE_VOLUME])
def test_an_unpublish_without_a_node_takes_the_volume_off_all(csi: CsiTarget) -> None:
    """A node that keeps the volume goes on writing to what its owner believes free. Whether one
    does is seen by publishing the volume there in another way (CSI-PUB-006). With a single node,
    or a driver for single nodes, "all" is one."""
    near = csi.preconditions.near_node_id
    modes = (Mode.MULTI_NODE_MULTI_WRITER, Mode.SINGLE_NODE_WRITER)
    both = near and csi.preconditions.makes(*modes)
    nodes = [csi.capabilities.node_id, near] if both else [csi.capabilities.node_id]
    one = csi.requests.capability()
    many = csi.requests.capability(Mode.MULTI_NODE_MULTI_WRITER) if both else one
    volume = csi.steps.volume(csi.requests.volume(capabilities=[many, one] if both else [one]))
    for node in nodes:
        csi.steps.attach(volume, node_id=node, capability=many)
    _unpublish(csi, volume, "ControllerUnpublishVolume without node_id is done", node_id="")
    for node in nodes:
        expect_status(
            partial(csi.steps.attach, volume, node_id=node, capability=one),
            {Code.OK},
            f"after ControllerUnpublishVolume without node_id the volume is free on node {node}",
        )
        _unpublish(csi, volume, f"ControllerUnpublishVolume from {node} is done", node_id=node)


@case("CSI-PUB-024", _SOURCE, needs=[*_SHARED, MULTI_NODE_WRITERS])
def test_an_unpublish_leaves_the_other_nodes_alone(csi: CsiTarget) -> None:
    """One replica that ends must not cost the others their storage."""
    near = csi.preconditions.near_node_id
    many = csi.requests.capability(Mode.MULTI_NODE_MULTI_WRITER)
    one = csi.requests.capability(Mode.SINGLE_NODE_WRITER)
    volume = csi.steps.volume(csi.requests.volume(capabilities=[many, one]))
    for node in (csi.capabilities.node_id, near):
        csi.steps.attach(volume, node_id=node, capability=many)
    _unpublish(csi, volume, "ControllerUnpublishVolume from one of two nodes is done")
    with together() as check:
        if csi.has(LIST_PUBLISHED_NODES):
            entry = volumes(csi).find(volume.volume_id)
            nodes = list(entry.status.published_node_ids) if entry else []
            rule = "after ControllerUnpublishVolume from one node ListVolumes tells the other"
            with check:
                expect(near in nodes, rule, wanted=near, got=nodes)
        with check:
            expect_status(
                lambda: csi.steps.attach(volume, node_id=near, capability=one),
                {Code.ALREADY_EXISTS},
                "after ControllerUnpublishVolume from one node the volume is still published to the"
                " other, so that another use is refused there",
            )


@case("CSI-PUB-025", _SOURCE, needs=_SHARED)
def test_a_volume_moves_to_another_node(csi: CsiTarget) -> None:
    """What happens to every StatefulSet when its node is drained."""
    volume = csi.steps.volume()
    csi.steps.attach(volume)
    _unpublish(csi, volume, "ControllerUnpublishVolume from the first node is done")
    expect_status(
        lambda: csi.steps.attach(volume, node_id=csi.preconditions.near_node_id),
        {Code.OK},
        "a volume that was unpublished from one node is published to another",
    )


@case("CSI-PUB-026", "CSI 1.13 Timeouts", needs=[PUBLISH_UNPUBLISH_VOLUME, NODE_ID, VOLUMES])
def test_an_unpublish_cancels_a_publish_of_unknown_outcome(csi: CsiTarget) -> None:
    """A pod is deleted while its attach hangs. The caller cannot know whether the request or only
    its answer got lost, and has no way to cancel but the inverse call."""
    volume = csi.steps.volume()
    request_lost = FaultRule(do=Status(Code.UNAVAILABLE), id="request-lost", times=1)
    answer_lost = FaultRule(do=DropReply(), id="answer-lost", times=1)
    with interposed(csi, request_lost, answer_lost) as driver:
        for lost in ("request", "answer"):
            publish = f"a ControllerPublishVolume whose {lost} got lost"
            expect_status(
                partial(driver.controller.ControllerPublishVolume, csi.requests.publish(volume)),
                {Code.UNAVAILABLE},
                f"{publish} comes to no other end",
            )
            _unpublish(csi, volume, f"ControllerUnpublishVolume after {publish} is done")
            _expect_free(csi, volume, f"when {publish} was cancelled,")


@case(
    "CSI-PUB-027",
    _SOURCE,
    needs=[
        PUBLISH_UNPUBLISH_VOLUME,
        NODE_ID,
        STAGE_UNSTAGE_VOLUME,
        CREATE_DELETE_VOLUME,
        SAME_HOST,
    ],
)
def test_an_unpublish_of_a_staged_volume_does_no_harm(csi: CsiTarget) -> None:
    """Callers must unstage first, but a force-detach does not. Refused or done, the node can be
    cleaned up afterwards, and the volume serves again."""
    volume = csi.steps.volume(csi.requests.volume())
    path = csi.steps.stage(volume, publish_context=csi.steps.attach(volume))
    expect_status(
        lambda: csi.controller.ControllerUnpublishVolume(csi.requests.unpublish(volume.volume_id)),
        {Code.OK, Code.FAILED_PRECONDITION},
        "ControllerUnpublishVolume of a volume that is staged is done or refused as in use",
    )
    unstage = pb.NodeUnstageVolumeRequest(volume_id=volume.volume_id, staging_target_path=path)
    rule = "a volume that was unpublished while staged"
    expect_status(lambda: csi.node.NodeUnstageVolume(unstage), {Code.OK}, f"{rule} is unstaged")
    _unpublish(csi, volume, f"{rule} is unpublished afterwards")
    expect_status(
        lambda: csi.steps.stage(volume, publish_context=csi.steps.attach(volume)),
        {Code.OK},
        f"{rule} is published and staged again",
    )


def _unpublish(csi: CsiTarget, volume: pb.Volume, rule: str, node_id: str | None = None) -> None:
    request = csi.requests.unpublish(volume.volume_id, node_id)
    expect_status(lambda: csi.controller.ControllerUnpublishVolume(request), {Code.OK}, rule)


def _expect_free(csi: CsiTarget, volume: pb.Volume, when: str) -> None:
    """No node has the volume: another may have it, or the same one in another way."""
    if csi.preconditions.near_node_id:
        expect_status(
            lambda: csi.steps.attach(volume, node_id=csi.preconditions.near_node_id),
            {Code.OK},
            f"{when} the volume can be published to another node",
        )
        _unpublish(csi, volume, "and unpublished from there", csi.preconditions.near_node_id)
    if csi.has(PUBLISH_READONLY):
        expect_status(
            lambda: csi.steps.attach(volume, readonly=True),
            {Code.OK},
            f"{when} the volume can be published to the same node in another way",
        )
        _unpublish(csi, volume, "and unpublished from there")
