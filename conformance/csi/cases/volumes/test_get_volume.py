"""ControllerGetVolume: what the controller knows about one volume."""

from __future__ import annotations

from functools import partial

from conformance.csi.common.fault_injection import break_volume, repair_volume
from conformance.csi.common.pagination import volumes
from conformance.csi.needs import (
    BREAKABLE,
    CONTROLLER_CONDITION,
    CREATE_DELETE_VOLUME,
    GET_VOLUME,
    LIST_PUBLISHED_NODES,
    LIST_VOLUMES,
    NODE_ID,
    PUBLISH_UNPUBLISH_VOLUME,
    REVISION_1_12,
    VOLUMES,
)
from conformance.csi.target import CsiTarget
from conformance.engine.case import case
from conformance.engine.verdict import eventually, expect, expect_status, should, together
from refimpl.csi.api import csi_pb2 as pb
from refimpl.wire.status import Code

_SOURCE = "CSI 1.13 ControllerGetVolume"
_OLD_SOURCE = "CSI 1.12 ControllerGetVolume"


@case("CSI-GV-001", _SOURCE, needs=[GET_VOLUME, VOLUMES])
def test_a_volume_is_told_with_its_status_as_the_list_tells_it(csi: CsiTarget) -> None:
    """Some callers ask for one volume, some read the list: both have to see the same."""
    volume = csi.shared.volume()
    reply = _get(csi, volume.volume_id)
    with together() as check:
        with check:
            expect(
                reply.volume.volume_id == volume.volume_id and reply.HasField("status"),
                "ControllerGetVolume answers with the volume that was asked for, and a status",
                wanted=f"volume {volume.volume_id}, status",
                got=reply,
            )
        if not csi.has(LIST_VOLUMES):
            return
        listed = volumes(csi).find(volume.volume_id)
        entry = listed.volume if listed else None
        with check:
            expect(
                reply.volume == entry,
                "it is the volume of the list",
                wanted=entry,
                got=reply.volume,
            )
        if csi.has(LIST_PUBLISHED_NODES) and listed:
            nodes = sorted(listed.status.published_node_ids)
            same = sorted(reply.status.published_node_ids)
            with check:
                expect(same == nodes, "on the nodes that the list tells", wanted=nodes, got=same)


@case("CSI-GV-002", _SOURCE, needs=[GET_VOLUME])
def test_a_volume_that_is_not_there_is_not_told(csi: CsiTarget) -> None:
    """A caller that is told of a volume that is gone keeps its claim for ever."""
    gone = []
    if csi.has(CREATE_DELETE_VOLUME):
        deleted = csi.steps.volume().volume_id
        csi.controller.DeleteVolume(csi.requests.delete(deleted))
        gone.append(("of a deleted volume", deleted, Code.NOT_FOUND))
    with together() as check:
        for what, id, code in (
            ("without volume_id", "", Code.INVALID_ARGUMENT),
            ("of an unknown volume", csi.requests.unknown_volume_id(), Code.NOT_FOUND),
            *gone,
        ):
            with check:
                expect_status(
                    partial(_get, csi, id),
                    {code},
                    f"ControllerGetVolume {what} is refused",
                )


@case(
    "CSI-GV-003",
    _SOURCE,
    needs=[GET_VOLUME, LIST_PUBLISHED_NODES, PUBLISH_UNPUBLISH_VOLUME, NODE_ID, VOLUMES],
)
def test_the_node_that_has_a_volume_is_told(csi: CsiTarget) -> None:
    """Whoever has to detach by hand reads here from where. Nodes that do not have it are better
    not told, though CSI lets them be."""
    volume, node = csi.steps.volume(), csi.capabilities.node_id
    csi.steps.attach(volume)
    nodes = list(_get(csi, volume.volume_id).status.published_node_ids)
    with together() as check:
        with check:
            expect(
                node in nodes, "a published volume is told with its node", wanted=node, got=nodes
            )
        csi.controller.ControllerUnpublishVolume(csi.requests.unpublish(volume.volume_id))
        nodes = list(_get(csi, volume.volume_id).status.published_node_ids)
        rule = "a volume that was unpublished is told without the node"
        with check:
            should(node not in nodes, rule, wanted=f"without {node}", got=nodes)


@case(
    "CSI-GV-004",
    _OLD_SOURCE,
    needs=[REVISION_1_12, GET_VOLUME, CONTROLLER_CONDITION, VOLUMES],
)
def test_a_volume_is_told_with_its_condition(csi: CsiTarget) -> None:
    """An administrator reads the message; a condition without one says only that there is one."""
    status = _get(csi, csi.steps.volume().volume_id).status
    expect(
        status.HasField("volume_condition") and status.volume_condition.message,
        "with VOLUME_CONDITION ControllerGetVolume tells a condition that has a message",
        wanted="status.volume_condition with a message",
        got=status,
    )


@case(
    "CSI-GV-005",
    _OLD_SOURCE,
    needs=[REVISION_1_12, GET_VOLUME, CONTROLLER_CONDITION, CREATE_DELETE_VOLUME, BREAKABLE],
)
def test_a_broken_volume_is_told_as_abnormal_until_it_is_repaired(csi: CsiTarget) -> None:
    """A condition that never changes is worse than none: people rely on it."""
    id = csi.steps.volume().volume_id
    break_volume(csi, id)
    eventually(lambda: _abnormal(csi, id), 3.0, "a broken volume is told as abnormal")
    repair_volume(csi, id)
    eventually(lambda: not _abnormal(csi, id), 3.0, "a repaired volume is not told as abnormal")


def _get(csi: CsiTarget, volume_id: str) -> pb.ControllerGetVolumeResponse:
    return csi.controller.ControllerGetVolume(pb.ControllerGetVolumeRequest(volume_id=volume_id))


def _abnormal(csi: CsiTarget, volume_id: str) -> bool:
    return _get(csi, volume_id).status.volume_condition.abnormal
