"""What a driver keeps: volumes, snapshots, groups, where they are used and what is wrong with them.

Every record is immutable: a change puts a new record in the place of the old one, so that a list
or a log may read a record outside the lock. Sizes are bytes, times epoch seconds (CSI 1.13).
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Literal

import attrs

Access = Literal["mount", "block"]
SourceKind = Literal["snapshot", "volume"]


class AccessMode(enum.IntEnum):
    """VolumeCapability.AccessMode.Mode under its numbers on the wire."""

    UNKNOWN = 0
    SINGLE_NODE_WRITER = 1
    SINGLE_NODE_READER_ONLY = 2
    MULTI_NODE_READER_ONLY = 3
    MULTI_NODE_SINGLE_WRITER = 4
    MULTI_NODE_MULTI_WRITER = 5
    SINGLE_NODE_SINGLE_WRITER = 6
    SINGLE_NODE_MULTI_WRITER = 7

    @property
    def multi_node(self) -> bool:
        """True for the modes that allow a volume on several nodes at once."""
        return self in _MULTI_NODE

    @property
    def read_only(self) -> bool:
        """True for the modes in which nobody writes."""
        return self in _READ_ONLY


_MULTI_NODE = frozenset(mode for mode in AccessMode if mode.name.startswith("MULTI_NODE"))
_READ_ONLY = frozenset(mode for mode in AccessMode if mode.name.endswith("READER_ONLY"))


class VolumeStatus(enum.IntEnum):
    """VolumeHealthErrorType (since 1.13)."""

    DEGRADED = 1
    INACCESSIBLE = 2
    DATA_LOSS = 3


class StorageStatus(enum.IntEnum):
    """StorageHealthErrorType (since 1.13)."""

    STORAGE_DEGRADED = 1
    STORAGE_UNREACHABLE = 2


@attrs.frozen
class VolumeCapability:
    """One way of using a volume. In an unchecked request mode may be UNKNOWN, access "" ."""

    access: Access
    mode: AccessMode
    fs_type: str = ""
    mount_flags: tuple[str, ...] = ()
    mount_group: str = ""


@attrs.frozen
class Topology:
    """A place: the object lies in all of its segments. Pairs are sorted, so places compare."""

    segments: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, segments: Mapping[str, str]) -> Topology:
        """Build from the mapping of the wire."""
        return cls(tuple(sorted(segments.items())))


@attrs.frozen
class TopologyRequirement:
    """Where an object has to be usable from (requisite) and where first (preferred)."""

    requisite: tuple[Topology, ...] = ()
    preferred: tuple[Topology, ...] = ()


@attrs.frozen
class ContentSource:
    """Where the first content of a volume came from."""

    kind: SourceKind
    id: str


@attrs.frozen
class CapacityRange:
    """Bytes; 0 is no bound. Equal bounds ask for exactly that size."""

    required: int = 0
    limit: int = 0


@attrs.frozen
class Volume:
    """A volume. `parameters` are those it was created with, mutable ones included; `mutable` has
    the present value of the mutable ones; `topology` empty = usable everywhere."""

    id: str
    name: str
    capacity: int
    access: Access
    modes: tuple[AccessMode, ...]
    fs_type: str = ""
    parameters: dict[str, str] = attrs.field(factory=dict)
    mutable: dict[str, str] = attrs.field(factory=dict)
    context: dict[str, str] = attrs.field(factory=dict)
    source: ContentSource | None = None
    topology: tuple[Topology, ...] = ()
    pool: tuple[str, str] = ("", "")
    ephemeral: bool = False


@attrs.frozen
class VolumeAttachment:
    """A volume published to a node by the controller; `context` is its publish_context."""

    volume_id: str
    node_id: str
    capability: VolumeCapability
    readonly: bool
    context: dict[str, str] = attrs.field(factory=dict)


@attrs.frozen
class Snapshot:
    """The content of one volume at a moment. `group_id` is "" outside a group, `ready_at` the end
    of processing."""

    id: str
    name: str
    source_id: str
    size: int
    access: Access
    created: float
    ready_at: float
    group_id: str = ""
    topology: tuple[Topology, ...] = ()
    pool: tuple[str, str] = ("", "")


@attrs.frozen
class GroupSnapshot:
    """Snapshots of several volumes at one moment; `source_ids` are those of its creation."""

    id: str
    name: str
    source_ids: tuple[str, ...]
    members: tuple[Snapshot, ...]
    created: float
    parameters: dict[str, str] = attrs.field(factory=dict)


@attrs.frozen
class VolumeFault:
    """One adverse condition of a volume; `node_id` "" = seen from everywhere."""

    status: VolumeStatus
    reason: str
    message: str = ""
    node_id: str = ""


@attrs.frozen
class VolumeHealth:
    """All adverse conditions of one volume, oldest first; empty = none known."""

    volume_id: str
    faults: tuple[VolumeFault, ...] = ()


@attrs.frozen
class StorageFault:
    """One adverse condition of the storage behind all volumes; `node_id` "" = on every node,
    `capability` None = all kinds of volumes."""

    status: StorageStatus
    reason: str
    message: str = ""
    node_id: str = ""
    capability: VolumeCapability | None = None


@attrs.frozen
class Staging:
    """A volume prepared on a node at `path`."""

    volume_id: str
    node_id: str
    path: str
    capability: VolumeCapability


@attrs.frozen
class Publication:
    """A volume made visible to one workload at `target`; `staging` is "" without staging."""

    volume_id: str
    node_id: str
    target: str
    capability: VolumeCapability
    readonly: bool = False
    staging: str = ""
    context: dict[str, str] = attrs.field(factory=dict)
