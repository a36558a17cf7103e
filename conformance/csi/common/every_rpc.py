"""Every RPC that a driver advertises, called with good and with bad requests.

Its calls are the same each time: a case that judges all answers has them when it runs alone, too.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from google.protobuf.message import Message

from conformance.csi import rpcs
from conformance.csi.needs import NODE, SAME_HOST, STAGE_UNSTAGE_VOLUME, VOLUMES
from conformance.csi.target import CsiTarget
from conformance.engine.verdict import Broken
from refimpl.csi.api import csi_pb2 as pb
from refimpl.wire.journal import Entry
from refimpl.wire.status import Refused

# RPCs that are asked about the driver, not about a volume.
_ABOUT = (
    "GetPluginInfo",
    "GetPluginCapabilities",
    "Probe",
    "ControllerGetCapabilities",
    "GroupControllerGetCapabilities",
    "NodeGetCapabilities",
    "NodeGetInfo",
    "NodeGetStorageHealth",
    "GetCapacity",
)
# RPCs that refuse a request with nothing in it.
_NEEDY = tuple(
    rpc.name
    for rpc in rpcs.every()
    if rpc.name not in (*_ABOUT, "ListVolumes", "ListSnapshots", "ControllerListVolumeHealth")
)
# What a well-formed request about things that are not there has in its fields.
_NOWHERE = "/refimpl-nowhere/mount"
_UNKNOWN: dict[str, Callable[[CsiTarget], Any]] = {
    "name": lambda csi: csi.requests.fresh_name(),
    "volume_id": lambda csi: csi.requests.unknown_volume_id(),
    "source_volume_id": lambda csi: csi.requests.unknown_volume_id(),
    "source_volume_ids": lambda csi: [csi.requests.unknown_volume_id()],
    "snapshot_id": lambda csi: csi.requests.unknown_snapshot_id(),
    "snapshot_ids": lambda csi: [csi.requests.unknown_snapshot_id()],
    "base_snapshot_id": lambda csi: csi.requests.unknown_snapshot_id(),
    "target_snapshot_id": lambda csi: csi.requests.unknown_snapshot_id(),
    "group_snapshot_id": lambda csi: csi.requests.unknown_snapshot_id(),
    "node_id": lambda csi: csi.capabilities.node_id or "refimpl-node",
    "volume_capability": lambda csi: csi.requests.capability(),
    "volume_capabilities": lambda csi: [csi.requests.capability()],
    "capacity_range": lambda csi: pb.CapacityRange(required_bytes=csi.requests.size),
    "mutable_parameters": lambda csi: csi.settings.mutable_parameters,
    "volume_path": lambda _: _NOWHERE,
    "volume_publish_path": lambda _: _NOWHERE,
    "staging_target_path": lambda _: _NOWHERE,
    "target_path": lambda _: _NOWHERE,
}


def answers(csi: CsiTarget) -> list[Entry]:
    """Leads a volume through its life at every RPC there is; returns the calls that were made."""
    mark = csi.mark()
    for name in _ABOUT:
        _ask(csi, name)
    volume = _ask(csi, "CreateVolume", csi.requests.volume()).volume
    if not volume.volume_id and csi.settings.volume_id:
        volume = csi.steps.volume()
    if volume.volume_id:
        _ask(csi, "ValidateVolumeCapabilities", csi.requests.validate(volume))
        if csi.paths:
            _on_the_node(csi, volume)
        _at_the_controller(csi, volume.volume_id)
        _snapshots(csi, volume.volume_id)
    return csi.calls(mark)


def refusals(csi: CsiTarget) -> list[Entry]:
    """Asks without what is required, and for what is not there; returns the calls made."""
    mark = csi.mark()
    for name in _NEEDY:
        _ask(csi, name, rpcs.named(name).request())
        if name != "CreateVolume":
            _ask(csi, name, plausible(csi, rpcs.named(name)))
    _ask(csi, "CreateVolume", csi.requests.volume(capabilities=[]))
    for name in ("ListVolumes", "ListSnapshots", "ControllerListVolumeHealth"):
        _ask(csi, name, starting_token=csi.settings.invalid_token)
    _at_no_place(csi)
    return csi.calls(mark)


def _at_no_place(csi: CsiTarget) -> None:
    """Publishes a volume below a directory that is not there: here the operating system refuses,
    and the driver has to find a code for it."""
    if not csi.has(SAME_HOST, VOLUMES, NODE):
        return
    with contextlib.suppress(Refused, Broken):
        request = csi.steps.ready().request
        request.target_path = f"{csi.steps.target_path()}/mount"
        _ask(csi, "NodePublishVolume", request)


def plausible(csi: CsiTarget, rpc: rpcs.Rpc) -> Message:
    """A well-formed request of any RPC, about things that are not there; it carries no secrets."""
    fields = [field.name for field in rpc.request.DESCRIPTOR.fields if field.name in _UNKNOWN]
    return rpc.request(**{name: _UNKNOWN[name](csi) for name in fields})


def _ask(csi: CsiTarget, called: str, request: Message | None = None, **fields: Any) -> Any:
    """Makes the call where the driver offers it; the reply is empty where it does not answer."""
    rpc = rpcs.named(called)
    if rpc.opened(csi.capabilities):
        with contextlib.suppress(Refused):
            reply = csi.call_with_secrets(rpc.method, request or rpc.request(**fields))
            return list(reply) if rpc.streams else reply
    return rpc.reply()


def _on_the_node(csi: CsiTarget, volume: pb.Volume) -> None:
    volume_id, target, staging = volume.volume_id, csi.steps.target_path(), ""
    context = _ask(csi, "ControllerPublishVolume", csi.requests.publish(volume)).publish_context
    if csi.has(STAGE_UNSTAGE_VOLUME):
        staging = csi.steps.staging_path()
        _ask(csi, "NodeStageVolume", csi.requests.stage(volume, staging, publish_context=context))
    publish = csi.requests.node_publish(
        volume, target, staging_path=staging, publish_context=context
    )
    _ask(csi, "NodePublishVolume", publish)
    _ask(csi, "NodeGetVolumeStats", volume_id=volume_id, volume_path=target)
    _ask(csi, "NodeGetVolumeHealth", volume_id=volume_id, volume_publish_path=target)
    _ask(
        csi,
        "NodeExpandVolume",
        volume_id=volume_id,
        volume_path=target,
        staging_target_path=staging,
        volume_capability=csi.requests.capability(),
    )
    _ask(csi, "NodeUnpublishVolume", volume_id=volume_id, target_path=target)
    _ask(csi, "NodeUnstageVolume", volume_id=volume_id, staging_target_path=staging)
    _ask(csi, "ControllerUnpublishVolume", csi.requests.unpublish(volume_id))


def _at_the_controller(csi: CsiTarget, volume_id: str) -> None:
    _ask(csi, "ListVolumes", max_entries=100)
    _ask(csi, "ControllerGetVolume", volume_id=volume_id)
    _ask(csi, "ControllerListVolumeHealth", max_entries=100)
    _ask(csi, "ControllerGetVolumeHealth", volume_id=volume_id)
    size = pb.CapacityRange(required_bytes=csi.requests.size)
    _ask(csi, "ControllerExpandVolume", volume_id=volume_id, capacity_range=size)
    changed = csi.settings.mutable_parameters
    if changed:
        _ask(csi, "ControllerModifyVolume", volume_id=volume_id, mutable_parameters=changed)


def _snapshots(csi: CsiTarget, volume_id: str) -> None:
    first, second = (
        _ask(csi, "CreateSnapshot", csi.requests.snapshot(volume_id)).snapshot.snapshot_id
        for _ in range(2)
    )
    if first and second:
        _ask(csi, "ListSnapshots", snapshot_id=first)
        _ask(csi, "GetSnapshot", snapshot_id=first)
        _ask(csi, "GetMetadataAllocated", snapshot_id=first)
        _ask(csi, "GetMetadataDelta", base_snapshot_id=first, target_snapshot_id=second)
    group = _ask(
        csi,
        "CreateVolumeGroupSnapshot",
        name=csi.requests.fresh_name("g"),
        source_volume_ids=[volume_id],
    ).group_snapshot
    if group.group_snapshot_id:
        members = [member.snapshot_id for member in group.snapshots]
        for name in ("GetVolumeGroupSnapshot", "DeleteVolumeGroupSnapshot"):
            _ask(csi, name, group_snapshot_id=group.group_snapshot_id, snapshot_ids=members)
