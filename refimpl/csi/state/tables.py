"""What one driver knows, shared by its controller and its nodes.

Reading and changing happens under `lock`. A change is written down (`on_change`) before it is made:
where that raises, nothing has changed. The order for a call that lets the storage work:
`with tables.guards.hold(volume_id):` decide under the lock, work without it, record under it.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable

import attrs

from refimpl.csi.state.guard import Guards
from refimpl.csi.state.models import (
    Access,
    Attachment,
    Group,
    Publication,
    Snapshot,
    Source,
    Staging,
    StorageFault,
    Topology,
    Volume,
    VolumeHealth,
)
from refimpl.csi.state.order import Order
from refimpl.csi.state.ports import Clock, Ids, NoStorage, OnChange, Storage, unobserved
from refimpl.csi.state.settings import ALL_MODES, Settings
from refimpl.csi.state.topology import places
from refimpl.wire.status import Code, Refused

Use = tuple[str, str, str]
"""("staging" or "publication", node id, path)"""


class Tables:
    """Records by id, and the indexes that keep every call from scanning them."""

    def __init__(
        self,
        settings: Settings,
        *,
        clock: Clock,
        ids: Ids,
        storage: Storage | None = None,
        on_change: OnChange = unobserved,
    ) -> None:
        self.settings = settings
        self.clock = clock
        self.ids = ids
        self.storage: Storage = storage or NoStorage()
        self.on_change = on_change
        self.lock = threading.RLock()
        self.guards = Guards(settings.pending)
        self.started = clock()
        self.nodes: dict[str, Topology] = {}
        self.places = places(settings)

        self.volumes: dict[str, Volume] = {}
        self.volume_names: dict[str, str] = {}
        self.volume_order = Order()
        self.attachments: dict[str, dict[str, Attachment]] = {}
        """volume id -> node id -> attachment"""
        self.attached: Counter[str] = Counter()
        """node id -> number of attachments"""

        self.snapshots: dict[str, Snapshot] = {}
        self.snapshot_names: dict[str, str] = {}
        self.snapshot_order = Order()
        self.snapshots_of: dict[str, Order] = {}
        self.groups: dict[str, Group] = {}
        self.group_names: dict[str, str] = {}
        self.copies: Counter[Source] = Counter()
        """source -> number of volumes made from it that still exist"""

        self.stagings: dict[tuple[str, str], Staging] = {}
        """(node id, staging path) -> staging"""
        self.publications: dict[tuple[str, str], Publication] = {}
        """(node id, target path) -> publication"""
        self.uses: dict[str, set[Use]] = {}
        """volume id -> its stagings and publications on all nodes"""

        self.health: dict[str, VolumeHealth] = {}
        self.health_order = Order()
        """Volumes with a fault that is not of one node alone."""
        self.storage_faults: tuple[StorageFault, ...] = ()
        self.charged: Counter[tuple[str, str]] = Counter()
        """(kind, zone) -> bytes given out"""
        for volume_id in settings.preprovisioned:
            self._enter_volume(self._preprovisioned(volume_id))

    def register_node(self, node_id: str, place: Topology | None = None) -> None:
        """Make a node known to ControllerPublishVolume."""
        with self.lock:
            self.nodes[node_id] = place or Topology()

    # -- volumes ------------------------------------------------------------------------------

    def volume(self, volume_id: str) -> Volume:
        """The volume; NOT_FOUND if unknown."""
        if volume := self.volumes.get(volume_id):
            return volume
        raise Refused(Code.NOT_FOUND, f"there is no volume {volume_id[:128]!a}; see ListVolumes")

    def put_volume(self, volume: Volume) -> None:
        """Add a volume, or replace the one of its id; pools and indexes follow."""
        self.on_change("volume", volume.id, volume)
        self._enter_volume(volume)

    def drop_volume(self, volume_id: str) -> None:
        """Forget a volume and what is known to be wrong with it."""
        volume = self.volumes[volume_id]
        self.on_change("volume", volume_id, None)
        del self.volumes[volume_id]
        self.volume_order.remove(volume_id)
        if volume.name:
            del self.volume_names[volume.name]
        self.charged[volume.pool] -= volume.capacity
        if volume.source:
            self._count_copy(volume.source, -1)
        if volume_id in self.health:
            self.put_health(VolumeHealth(volume_id))

    def _enter_volume(self, volume: Volume) -> None:
        before = self.volumes.get(volume.id)
        self.charged[volume.pool] += volume.capacity - (before.capacity if before else 0)
        self.volumes[volume.id] = volume
        if before:
            return
        self.volume_order.append(volume.id)
        if volume.name:
            self.volume_names[volume.name] = volume.id
        if volume.source:
            self._count_copy(volume.source, 1)

    def _count_copy(self, source: Source, change: int) -> None:
        self.copies[source] += change
        if not self.copies[source]:
            del self.copies[source]

    def _preprovisioned(self, volume_id: str) -> Volume:
        settings = self.settings
        access: Access = "mount" if "mount" in settings.access_types else "block"
        return Volume(
            id=volume_id,
            name="",
            capacity=settings.default_size,
            access=access,
            modes=tuple(sorted(ALL_MODES & settings.modes)),
            fs_type=settings.default_fs if access == "mount" else "",
        )

    # -- attachments and uses -----------------------------------------------------------------

    def put_attachment(self, attachment: Attachment) -> None:
        """Record that a volume is attached to a node."""
        self.on_change("attachment", f"{attachment.volume_id}@{attachment.node_id}", attachment)
        self._enter_attachment(attachment)

    def drop_attachment(self, volume_id: str, node_id: str) -> None:
        """Forget that a volume is attached to a node."""
        self.on_change("attachment", f"{volume_id}@{node_id}", None)
        nodes = self.attachments[volume_id]
        del nodes[node_id]
        if not nodes:
            del self.attachments[volume_id]
        self.attached[node_id] -= 1

    def _enter_attachment(self, attachment: Attachment) -> None:
        nodes = self.attachments.setdefault(attachment.volume_id, {})
        if attachment.node_id not in nodes:
            self.attached[attachment.node_id] += 1
        nodes[attachment.node_id] = attachment

    def put_staging(self, staging: Staging) -> None:
        """Record that a volume is staged."""
        self.on_change("staging", f"{staging.node_id}:{staging.path}", staging)
        self._enter_staging(staging)

    def drop_staging(self, node_id: str, path: str) -> None:
        """Forget what is staged at `path`."""
        self.on_change("staging", f"{node_id}:{path}", None)
        staging = self.stagings.pop((node_id, path))
        self._drop_use(staging.volume_id, ("staging", node_id, path))

    def put_publication(self, publication: Publication) -> None:
        """Record that a volume is published at a target."""
        key = f"{publication.node_id}:{publication.target}"
        self.on_change("publication", key, publication)
        self._enter_publication(publication)

    def drop_publication(self, node_id: str, target: str) -> None:
        """Forget what is published at `target`."""
        self.on_change("publication", f"{node_id}:{target}", None)
        publication = self.publications.pop((node_id, target))
        self._drop_use(publication.volume_id, ("publication", node_id, target))

    def _enter_staging(self, staging: Staging) -> None:
        self.stagings[staging.node_id, staging.path] = staging
        uses = self.uses.setdefault(staging.volume_id, set())
        uses.add(("staging", staging.node_id, staging.path))

    def _enter_publication(self, publication: Publication) -> None:
        self.publications[publication.node_id, publication.target] = publication
        uses = self.uses.setdefault(publication.volume_id, set())
        uses.add(("publication", publication.node_id, publication.target))

    def _drop_use(self, volume_id: str, use: Use) -> None:
        uses = self.uses[volume_id]
        uses.discard(use)
        if not uses:
            del self.uses[volume_id]

    # -- snapshots and groups -----------------------------------------------------------------

    def snapshot(self, snapshot_id: str) -> Snapshot:
        """The snapshot; NOT_FOUND if unknown."""
        if snapshot := self.snapshots.get(snapshot_id):
            return snapshot
        raise Refused(
            Code.NOT_FOUND, f"there is no snapshot {snapshot_id[:128]!a}; see ListSnapshots"
        )

    def put_snapshot(self, snapshot: Snapshot) -> None:
        """Add a snapshot."""
        self.on_change("snapshot", snapshot.id, snapshot)
        self._enter_snapshot(snapshot)

    def drop_snapshot(self, snapshot_id: str) -> None:
        """Forget a snapshot; the group it belongs to goes on without it."""
        snapshot = self.snapshots[snapshot_id]
        group = self.groups.get(snapshot.group_id)
        if group is None:
            self.on_change("snapshot", snapshot_id, None)
        else:
            left = tuple(one for one in group.members if one.id != snapshot_id)
            self.put_group(attrs.evolve(group, members=left))
        self._remove_snapshot(snapshot)

    def _remove_snapshot(self, snapshot: Snapshot) -> None:
        del self.snapshots[snapshot.id]
        self.snapshot_order.remove(snapshot.id)
        of_source = self.snapshots_of[snapshot.source_id]
        of_source.remove(snapshot.id)
        if not len(of_source):
            del self.snapshots_of[snapshot.source_id]
        if snapshot.name:
            del self.snapshot_names[snapshot.name]
        self.charged[snapshot.pool] -= self._snapshot_charge(snapshot)

    def _enter_snapshot(self, snapshot: Snapshot) -> None:
        self.snapshots[snapshot.id] = snapshot
        self.snapshot_order.append(snapshot.id)
        self.snapshots_of.setdefault(snapshot.source_id, Order()).append(snapshot.id)
        if snapshot.name:
            self.snapshot_names[snapshot.name] = snapshot.id
        self.charged[snapshot.pool] += self._snapshot_charge(snapshot)

    def _snapshot_charge(self, snapshot: Snapshot) -> int:
        return snapshot.size if self.settings.charge_snapshots else 0

    def put_group(self, group: Group) -> None:
        """Add a group with its members at one stroke, or replace the one of its id."""
        self.on_change("group", group.id, group)
        self._enter_group(group)

    def drop_group(self, group_id: str) -> None:
        """Forget a group with its members at one stroke."""
        self.on_change("group", group_id, None)
        group = self.groups.pop(group_id)
        del self.group_names[group.name]
        for member in group.members:
            self._remove_snapshot(member)

    def _enter_group(self, group: Group) -> None:
        self.groups[group.id] = group
        self.group_names[group.name] = group.id
        for member in group.members:
            if member.id not in self.snapshots:
                self._enter_snapshot(member)

    # -- health -------------------------------------------------------------------------------

    def put_health(self, health: VolumeHealth) -> None:
        """Record what is wrong with a volume; without faults it is healthy again."""
        self.on_change("health", health.volume_id, health if health.faults else None)
        self._enter_health(health)

    def put_storage_faults(self, faults: Iterable[StorageFault]) -> None:
        """Record what is wrong with the storage behind all volumes."""
        kept = tuple(faults)
        self.on_change("storage_fault", "storage", StorageFaults(kept) if kept else None)
        self.storage_faults = kept

    def _enter_health(self, health: VolumeHealth) -> None:
        if health.faults:
            self.health[health.volume_id] = health
        else:
            self.health.pop(health.volume_id, None)
        if any(not fault.node_id for fault in health.faults):
            self.health_order.append(health.volume_id)
        else:
            self.health_order.remove(health.volume_id)


@attrs.frozen
class StorageFaults:
    """The one record of kind "storage_fault"."""

    faults: tuple[StorageFault, ...]


Record = (
    Volume | Attachment | Staging | Publication | Snapshot | Group | VolumeHealth | StorageFaults
)


def load(tables: Tables, records: Iterable[Record]) -> None:
    """Fill the tables with what an earlier run wrote down, in its order; reports no change."""
    with tables.lock:
        for record in records:
            _load(tables, record)


def _load(tables: Tables, record: Record) -> None:
    match record:
        case Volume():
            tables._enter_volume(record)
        case Attachment():
            tables._enter_attachment(record)
        case Staging():
            tables._enter_staging(record)
        case Publication():
            tables._enter_publication(record)
        case Snapshot():
            tables._enter_snapshot(record)
        case Group():
            tables._enter_group(record)
        case VolumeHealth():
            tables._enter_health(record)
        case StorageFaults():
            tables.storage_faults = record.faults
