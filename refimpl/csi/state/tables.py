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
    ContentSource,
    GroupSnapshot,
    Publication,
    Snapshot,
    Staging,
    StorageFault,
    Topology,
    Volume,
    VolumeAttachment,
    VolumeHealth,
)
from refimpl.csi.state.order import Order
from refimpl.csi.state.ports import Clock, Ids, NoStorage, OnChange, Storage, unobserved
from refimpl.csi.state.settings import ALL_MODES, DriverSettings
from refimpl.csi.state.snapshots.tables import SnapshotTables
from refimpl.csi.state.uses import UseTables
from refimpl.csi.state.volumes.topology import places
from refimpl.wire.status import Code, Refused


class DriverTables(UseTables, SnapshotTables):
    """Records by id, and the indexes that keep every call from scanning them."""

    def __init__(
        self,
        settings: DriverSettings,
        *,
        clock: Clock,
        ids: Ids,
        storage: Storage | None = None,
        on_change: OnChange = unobserved,
    ) -> None:
        UseTables.__init__(self, on_change)
        SnapshotTables.__init__(self, settings, on_change)
        self.clock = clock
        self.ids = ids
        self.storage: Storage = storage or NoStorage()
        self.lock = threading.RLock()
        self.guards = Guards(settings.pending)
        self.started = clock()
        self.nodes: dict[str, Topology] = {}
        self.places = places(settings)

        self.volumes: dict[str, Volume] = {}
        self.volume_names: dict[str, str] = {}
        self.volume_order = Order()
        self.copies: Counter[ContentSource] = Counter()
        """source -> number of volumes made from it that still exist"""

        self.health: dict[str, VolumeHealth] = {}
        self.health_order = Order()
        """Volumes with a fault that is not of one node alone."""
        self.storage_faults: tuple[StorageFault, ...] = ()
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
        if volume_id in self.health:
            self.put_health(VolumeHealth(volume_id))
        self.on_change("volume", volume_id, None)
        del self.volumes[volume_id]
        self.volume_order.remove(volume_id)
        if volume.name:
            del self.volume_names[volume.name]
        self.charged[volume.pool] -= volume.capacity
        if volume.source:
            self._count_copy(volume.source, -1)

    def _enter_volume(self, volume: Volume) -> None:
        old = self.volumes.get(volume.id)
        self.charged[volume.pool] += volume.capacity - (old.capacity if old else 0)
        self.volumes[volume.id] = volume
        if old:
            return
        self.volume_order.append(volume.id)
        if volume.name:
            self.volume_names[volume.name] = volume.id
        if volume.source:
            self._count_copy(volume.source, 1)

    def _count_copy(self, source: ContentSource, change: int) -> None:
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

    # -- health -------------------------------------------------------------------------------

    def put_health(self, health: VolumeHealth) -> None:
        """Record what is wrong with a volume; without faults it is healthy again."""
        self.on_change("health", health.volume_id, health if health.faults else None)
        self._enter_health(health)

    def put_storage_faults(self, faults: Iterable[StorageFault]) -> None:
        """Record what is wrong with the storage behind all volumes."""
        recorded = tuple(faults)
        self.on_change("storage_fault", "storage", StorageFaults(recorded) if recorded else None)
        self.storage_faults = recorded

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
    Volume
    | VolumeAttachment
    | Staging
    | Publication
    | Snapshot
    | GroupSnapshot
    | VolumeHealth
    | StorageFaults
)


def load(tables: DriverTables, records: Iterable[Record]) -> None:
    """Fill the tables with what an earlier run wrote down, in its order; reports no change."""
    with tables.lock:
        for record in records:
            _load(tables, record)


def _load(tables: DriverTables, record: Record) -> None:
    match record:
        case Volume():
            tables._enter_volume(record)
        case VolumeAttachment():
            tables._enter_attachment(record)
        case Staging():
            tables._enter_staging(record)
        case Publication():
            tables._enter_publication(record)
        case Snapshot():
            tables._enter_snapshot(record)
        case GroupSnapshot():
            tables._enter_group(record)
        case VolumeHealth():
            tables._enter_health(record)
        case StorageFaults():
            tables.storage_faults = record.faults
