"""How each CSI call that makes something is undone: for the clean-up of cases and the sweep."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from google.protobuf.message import Message

from conformance.engine.ledger.calls import Made, Undo
from conformance.engine.verdict import Broken
from refimpl.csi.api import csi_pb2 as pb
from refimpl.wire.status import Code, Refused

_CONTROLLER, _NODE, _GROUP = "/csi.v1.Controller", "/csi.v1.Node", "/csi.v1.GroupController"

TABLE: dict[str, Undo] = {
    f"{_CONTROLLER}/CreateVolume": Undo(
        f"{_CONTROLLER}/DeleteVolume",
        lambda _, reply: pb.DeleteVolumeRequest(volume_id=reply.volume.volume_id),
        pb.CreateVolumeResponse,
        needs_reply=True,
    ),
    f"{_CONTROLLER}/ControllerPublishVolume": Undo(
        f"{_CONTROLLER}/ControllerUnpublishVolume",
        lambda sent, _: pb.ControllerUnpublishVolumeRequest(
            volume_id=sent.volume_id, node_id=sent.node_id
        ),
        pb.ControllerPublishVolumeResponse,
    ),
    f"{_CONTROLLER}/CreateSnapshot": Undo(
        f"{_CONTROLLER}/DeleteSnapshot",
        lambda _, reply: pb.DeleteSnapshotRequest(snapshot_id=reply.snapshot.snapshot_id),
        pb.CreateSnapshotResponse,
        needs_reply=True,
    ),
    f"{_GROUP}/CreateVolumeGroupSnapshot": Undo(
        f"{_GROUP}/DeleteVolumeGroupSnapshot",
        lambda _, reply: pb.DeleteVolumeGroupSnapshotRequest(
            group_snapshot_id=reply.group_snapshot.group_snapshot_id,
            snapshot_ids=[member.snapshot_id for member in reply.group_snapshot.snapshots],
        ),
        pb.CreateVolumeGroupSnapshotResponse,
        needs_reply=True,
    ),
    f"{_NODE}/NodeStageVolume": Undo(
        f"{_NODE}/NodeUnstageVolume",
        lambda sent, _: pb.NodeUnstageVolumeRequest(
            volume_id=sent.volume_id, staging_target_path=sent.staging_target_path
        ),
        pb.NodeStageVolumeResponse,
    ),
    f"{_NODE}/NodePublishVolume": Undo(
        f"{_NODE}/NodeUnpublishVolume",
        lambda sent, _: pb.NodeUnpublishVolumeRequest(
            volume_id=sent.volume_id, target_path=sent.target_path
        ),
        pb.NodePublishVolumeResponse,
    ),
}

REQUESTS: dict[str, type[Message]] = {
    f"{_CONTROLLER}/CreateVolume": pb.CreateVolumeRequest,
    f"{_CONTROLLER}/ControllerPublishVolume": pb.ControllerPublishVolumeRequest,
    f"{_CONTROLLER}/CreateSnapshot": pb.CreateSnapshotRequest,
    f"{_GROUP}/CreateVolumeGroupSnapshot": pb.CreateVolumeGroupSnapshotRequest,
    f"{_NODE}/NodeStageVolume": pb.NodeStageVolumeRequest,
    f"{_NODE}/NodePublishVolume": pb.NodePublishVolumeRequest,
}

Call = Callable[[str, Message], Any]
# After these a create may have made something, and may yet do so.
_UNANSWERED = frozenset({Code.CANCELLED, Code.DEADLINE_EXCEEDED, Code.UNAVAILABLE, Code.ABORTED})


def methods_of(done: Made) -> list[str]:
    """The methods that are called to undo one call."""
    how = TABLE[done.method]
    return [done.method, how.inverse] if how.needs_reply and done.reply is None else [how.inverse]


def undo(done: Made, call: Call) -> None:
    """Undoes one call; raises Broken when the target refuses to let go of it.

    A create whose reply was lost is repeated first: CSI creates are idempotent by name. It may be
    that nobody answers again, and then what was made is still there.
    """
    how = TABLE[done.method]
    try:
        if how.needs_reply and done.reply is None:
            done.reply = call(done.method, done.request)
        call(how.inverse, how.build(done.request, done.reply))
    except Refused as refusal:
        lost = how.needs_reply and done.reply is None
        if refusal.code == Code.NOT_FOUND or (lost and refusal.code not in _UNANSWERED):
            return  # gone already, or never made
        rpc = (done.method if lost else how.inverse).rpartition("/")[2]
        raise Broken(
            f"what {done.method.rpartition('/')[2]} made can be removed again",
            f"{rpc} answers OK",
            str(refusal),
        ) from None
