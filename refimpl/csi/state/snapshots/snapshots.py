"""CreateSnapshot, DeleteSnapshot, ListSnapshots, GetSnapshot (CSI 1.13)."""

from __future__ import annotations

from collections.abc import Mapping

from refimpl.csi.state import rules
from refimpl.csi.state.models import ContentSource, Snapshot, TopologyRequirement, Volume
from refimpl.csi.state.order import Order
from refimpl.csi.state.paging import Book, Page
from refimpl.csi.state.tables import DriverTables
from refimpl.csi.state.volumes import sizes, topology
from refimpl.wire.status import Code, Refused


def ready(tables: DriverTables, snapshot: Snapshot) -> bool:
    """True once the snapshot is processed; never turns false again."""
    return snapshot.ready_at <= tables.clock()


def plan(
    tables: DriverTables,
    name: str,
    volume: Volume,
    created: float,
    *,
    requirement: TopologyRequirement | None = None,
    group_id: str = "",
) -> Snapshot:
    """The snapshot to be, of a volume that is there; RESOURCE_EXHAUSTED if it cannot be where it is
    required. `name` is "" for a member of a group. To be called under the lock."""
    settings = tables.settings
    place = _place(tables, volume, requirement)
    return Snapshot(
        id=tables.ids("snapshot", name or volume.name),
        name=name,
        source_id=volume.id,
        size=volume.capacity,
        access=volume.access,
        created=created,
        ready_at=created + settings.snapshot_delay,
        group_id=group_id,
        topology=place,
        pool=volume.pool,
    )


def reserve(tables: DriverTables, snapshot: Snapshot) -> sizes.Reservation:
    """Room for the snapshot, under the lock; RESOURCE_EXHAUSTED if there is not enough."""
    size = snapshot.size if tables.settings.charge_snapshots else 0
    sizes.demand_room(tables, snapshot.pool, size)
    return sizes.Reservation(tables, snapshot.pool, size)


def demand_unused(tables: DriverTables, snapshot: Snapshot) -> None:
    """FAILED_PRECONDITION while volumes restored from it exist, if the settings say so."""
    if tables.settings.delete_with_copies == "allow":
        return
    if copies := tables.copies[ContentSource("snapshot", snapshot.id)]:
        raise Refused(
            Code.FAILED_PRECONDITION,
            f"snapshot {snapshot.id} is the source of {copies} volumes; delete them first",
        )


def _place(
    tables: DriverTables, volume: Volume, requirement: TopologyRequirement | None
) -> topology.Places:
    """accessible_topology of the snapshot; () = it can be restored anywhere."""
    settings = tables.settings
    if not settings.has("plugin", "SNAPSHOT_ACCESSIBILITY_CONSTRAINTS"):
        return ()
    possible = tables.places
    if settings.snapshot_zones == "source":
        possible = volume.topology or tables.places
    places = topology.choose("the snapshot", requirement, possible, len(possible))
    return places if settings.snapshot_zones == "source" else ()


class Snapshots:
    """Makes, lists and removes snapshots."""

    def __init__(self, tables: DriverTables) -> None:
        self._tables = tables
        self._book: Book[Snapshot] = Book(
            "s", tables.settings, repr(tables.started), tables.snapshots.__getitem__, _weight
        )

    def create(
        self,
        source_id: str,
        name: str,
        parameters: Mapping[str, str],
        requirement: TopologyRequirement | None,
        secrets: Mapping[str, str],
    ) -> Snapshot:
        """The snapshot; a repeated call shows whether it has become ready.

        NOT_FOUND volume; ALREADY_EXISTS if the name is one of another volume, or the snapshot
        cannot be used from where it is required now; RESOURCE_EXHAUSTED."""
        tables = self._tables
        requirement = self._check(source_id, name, parameters, requirement, secrets)
        with tables.guards.hold(f"snapshot {name}", source_id):
            with tables.lock:
                if existing := tables.snapshot_names.get(name):
                    return self._repeated(tables.snapshots[existing], source_id, requirement)
                volume = tables.volume(source_id)
                snapshot = plan(tables, name, volume, tables.clock(), requirement=requirement)
                room = reserve(tables, snapshot)
            self._keep(snapshot, room)
            return snapshot

    def delete(self, snapshot_id: str, secrets: Mapping[str, str]) -> None:
        """Remove a snapshot; an unknown one is a success. INVALID_ARGUMENT for a group's member."""
        tables = self._tables
        tables.settings.demand("DeleteSnapshot")
        rules.required("snapshot_id", snapshot_id)
        rules.secrets(tables.settings, "DeleteSnapshot", secrets)
        with tables.guards.hold(snapshot_id):
            with tables.lock:
                snapshot = tables.snapshots.get(snapshot_id)
                if snapshot is None:
                    return
                if snapshot.group_id and tables.settings.delete_member == "refuse":
                    raise rules.invalid(
                        f"snapshot {snapshot_id} belongs to group {snapshot.group_id};"
                        " delete the group with DeleteVolumeGroupSnapshot"
                    )
                demand_unused(tables, snapshot)
            tables.storage.destroy(snapshot_id)
            with tables.lock:
                tables.drop_snapshot(snapshot_id)

    def get(self, snapshot_id: str, secrets: Mapping[str, str]) -> Snapshot:
        """GetSnapshot, ready or not; NOT_FOUND."""
        tables = self._tables
        tables.settings.demand("GetSnapshot")
        rules.required("snapshot_id", snapshot_id)
        rules.secrets(tables.settings, "GetSnapshot", secrets)
        with tables.lock:
            return tables.snapshot(snapshot_id)

    def list(
        self,
        token: str,
        max_entries: int,
        source_id: str,
        snapshot_id: str,
        secrets: Mapping[str, str],
    ) -> Page[Snapshot]:
        """ListSnapshots; a filter that matches nothing gives an empty page."""
        tables = self._tables
        tables.settings.demand("ListSnapshots")
        rules.string("source_volume_id", source_id)
        rules.string("snapshot_id", snapshot_id)
        rules.secrets(tables.settings, "ListSnapshots", secrets)
        with tables.lock:
            order = self._filtered(source_id, snapshot_id)
            return self._book.page(order, token, max_entries)

    def _keep(self, snapshot: Snapshot, room: sizes.Reservation) -> None:
        tables = self._tables
        try:
            tables.storage.snapshot(snapshot.id, snapshot.source_id)
            with tables.lock:
                room.release()
                tables.put_snapshot(snapshot)
        except BaseException:
            tables.storage.destroy(snapshot.id)
            raise
        finally:
            room.release()

    def _filtered(self, source_id: str, snapshot_id: str) -> Order:
        tables = self._tables
        if not snapshot_id:
            if not source_id:
                return tables.snapshot_order
            return tables.snapshots_of.get(source_id, Order())
        single = Order()
        snapshot = tables.snapshots.get(snapshot_id)
        if snapshot and source_id in ("", snapshot.source_id):
            single.append(snapshot_id)
        return single

    def _check(
        self,
        source_id: str,
        name: str,
        parameters: Mapping[str, str],
        requirement: TopologyRequirement | None,
        secrets: Mapping[str, str],
    ) -> TopologyRequirement | None:
        settings = self._tables.settings
        settings.demand("CreateSnapshot")
        rules.required("source_volume_id", source_id)
        rules.name("name", name)
        rules.string_map("parameters", parameters)
        rules.secrets(settings, "CreateSnapshot", secrets)
        # A driver of 1.12 does not know the field.
        if requirement is None or settings.revision == "1.12":
            return None
        if not settings.has("plugin", "SNAPSHOT_ACCESSIBILITY_CONSTRAINTS"):
            raise rules.invalid(
                "accessibility_requirements may be sent only to a driver with plugin capability"
                " SNAPSHOT_ACCESSIBILITY_CONSTRAINTS; leave them out"
            )
        topology.check("accessibility_requirements", requirement)
        return requirement

    def _repeated(
        self, snapshot: Snapshot, source_id: str, requirement: TopologyRequirement | None
    ) -> Snapshot:
        tables = self._tables
        if snapshot.source_id != source_id:
            why = f"of volume {snapshot.source_id}"
        elif not topology.met(requirement, snapshot.topology or tables.places):
            why = "which is not usable from where it is required"
        else:
            return snapshot
        raise Refused(
            Code.ALREADY_EXISTS,
            f"snapshot {rules.quoted(snapshot.name)} exists as {snapshot.id}, {why};"
            " choose another name",
        )


def _weight(snapshot: Snapshot) -> int:
    strings = len(snapshot.id) + len(snapshot.source_id) + len(snapshot.group_id)
    return 64 + strings + 160 * len(snapshot.topology)
