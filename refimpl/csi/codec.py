"""Between the messages of `api` and the records of `state`, without judging either.

Decoding keeps what was sent, also where it is wrong: an unknown access mode becomes UNKNOWN, a
missing access type "" (and so on), for the rules of the state to refuse.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import cast

from google.protobuf.timestamp_pb2 import Timestamp

from refimpl.csi.api import csi_pb2 as pb
from refimpl.csi.state.models import (
    Access,
    AccessMode,
    CapacityRange,
    ContentSource,
    GroupSnapshot,
    Snapshot,
    SourceKind,
    Topology,
    TopologyRequirement,
    Volume,
    VolumeCapability,
    VolumeFault,
    VolumeHealth,
)

_MODES: Mapping[int, AccessMode] = {int(mode): mode for mode in AccessMode}
_NANOSECONDS = 1_000_000_000


def capability_in(message: pb.VolumeCapability) -> VolumeCapability:
    """One capability as sent."""
    access = cast(Access, message.WhichOneof("access_type") or "")
    mode = _MODES.get(message.access_mode.mode, AccessMode.UNKNOWN)
    if access != "mount":
        return VolumeCapability(access, mode)
    mount = message.mount
    return VolumeCapability(
        access, mode, mount.fs_type, tuple(mount.mount_flags), mount.volume_mount_group
    )


def capabilities_in(messages: Iterable[pb.VolumeCapability]) -> tuple[VolumeCapability, ...]:
    """Capabilities in their order."""
    return tuple([capability_in(item) for item in messages])


def range_in(message: pb.CapacityRange) -> CapacityRange:
    """Bounds in bytes."""
    return CapacityRange(message.required_bytes, message.limit_bytes)


def map_in(entries: Mapping[str, str]) -> dict[str, str]:
    """A copy that outlives the message."""
    return dict(entries) if entries else {}


def source_in(message: pb.VolumeContentSource) -> ContentSource:
    """The source; kind "" if none is set."""
    kind = message.WhichOneof("type")
    if kind == "snapshot":
        return ContentSource("snapshot", message.snapshot.snapshot_id)
    return ContentSource(cast(SourceKind, kind or ""), message.volume.volume_id)


def topology_in(message: pb.Topology) -> Topology:
    """A place."""
    return Topology.of(message.segments)


def requirement_in(message: pb.TopologyRequirement) -> TopologyRequirement:
    """Both lists in their order."""
    return TopologyRequirement(
        tuple(map(topology_in, message.requisite)), tuple(map(topology_in, message.preferred))
    )


def capability_out(capability: VolumeCapability) -> pb.VolumeCapability:
    """The message of a capability."""
    mode = pb.VolumeCapability.AccessMode(
        mode=cast(pb.VolumeCapability.AccessMode.Mode.ValueType, int(capability.mode))
    )
    if capability.access == "block":
        return pb.VolumeCapability(block=pb.VolumeCapability.BlockVolume(), access_mode=mode)
    mount = pb.VolumeCapability.MountVolume(
        fs_type=capability.fs_type,
        mount_flags=capability.mount_flags,
        volume_mount_group=capability.mount_group,
    )
    return pb.VolumeCapability(mount=mount, access_mode=mode)


def source_out(source: ContentSource) -> pb.VolumeContentSource:
    """The message of a source."""
    message = pb.VolumeContentSource()
    if source.kind == "snapshot":
        message.snapshot.snapshot_id = source.id
    else:
        message.volume.volume_id = source.id
    return message


def topology_out(place: Topology) -> pb.Topology:
    """The message of a place."""
    return pb.Topology(segments=dict(place.segments))


def volume_out(volume: Volume, *, sized: bool = True) -> pb.Volume:
    """The message of a volume; not `sized`: its capacity is unknown, which is 0."""
    message = pb.Volume(
        capacity_bytes=volume.capacity if sized else 0,
        volume_id=volume.id,
        volume_context=volume.context,
    )
    if volume.source:
        message.content_source.CopyFrom(source_out(volume.source))
    for place in volume.topology:
        message.accessible_topology.add().segments.update(place.segments)
    return message


def moment_out(seconds: float) -> Timestamp:
    """The message of a time; the same time always gives the same message."""
    whole_seconds, part = divmod(round(seconds * _NANOSECONDS), _NANOSECONDS)
    return Timestamp(seconds=whole_seconds, nanos=part)


def snapshot_out(snapshot: Snapshot, ready: bool) -> pb.Snapshot:
    """The message of a snapshot."""
    return pb.Snapshot(
        size_bytes=snapshot.size,
        snapshot_id=snapshot.id,
        source_volume_id=snapshot.source_id,
        creation_time=moment_out(snapshot.created),
        ready_to_use=ready,
        group_snapshot_id=snapshot.group_id,
        accessible_topology=map(topology_out, snapshot.topology),
    )


def group_out(group: GroupSnapshot, now: float) -> pb.VolumeGroupSnapshot:
    """The message of a group; ready once every member is."""
    return pb.VolumeGroupSnapshot(
        group_snapshot_id=group.id,
        snapshots=[snapshot_out(snapshot, snapshot.ready_at <= now) for snapshot in group.members],
        creation_time=moment_out(group.created),
        ready_to_use=all(snapshot.ready_at <= now for snapshot in group.members),
    )


def health_out(health: VolumeHealth) -> pb.VolumeHealth:
    """The message of a volume's health."""
    return pb.VolumeHealth(
        volume_id=health.volume_id, health_statuses=map(_fault_out, health.faults)
    )


def _fault_out(fault: VolumeFault) -> pb.VolumeHealth.VolumeHealthEntry:
    return pb.VolumeHealth.VolumeHealthEntry(
        status=cast(pb.VolumeHealthErrorType.ValueType, int(fault.status)),
        reason=fault.reason,
        message=fault.message,
    )


def condition_out(condition: tuple[bool, str]) -> pb.VolumeCondition:
    """The message of a condition (1.12)."""
    abnormal, text = condition
    return pb.VolumeCondition(abnormal=abnormal, message=text)
