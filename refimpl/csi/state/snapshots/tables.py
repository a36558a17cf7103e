"""The half of the tables about snapshots and their groups."""

from __future__ import annotations

from collections import Counter

import attrs

from refimpl.csi.state.models import GroupSnapshot, Snapshot
from refimpl.csi.state.order import Order
from refimpl.csi.state.ports import OnChange
from refimpl.csi.state.settings import DriverSettings
from refimpl.wire.status import Code, Refused


class SnapshotTables:
    """Part of `tables.DriverTables`, under its lock and with its `on_change`."""

    def __init__(self, settings: DriverSettings, on_change: OnChange) -> None:
        self.settings = settings
        self.on_change = on_change
        self.snapshots: dict[str, Snapshot] = {}
        self.snapshot_names: dict[str, str] = {}
        self.snapshot_order = Order()
        self.snapshots_of: dict[str, Order] = {}
        self.groups: dict[str, GroupSnapshot] = {}
        self.group_names: dict[str, str] = {}
        self.charged: Counter[tuple[str, str]] = Counter()
        """(kind, zone) -> bytes given out"""

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
        """Forget a snapshot; its group goes on without it, or with its last member."""
        snapshot = self.snapshots[snapshot_id]
        group = self.groups.get(snapshot.group_id)
        if group and len(group.members) == 1:
            self.drop_group(group.id)
            return
        if group:
            members = tuple(member for member in group.members if member.id != snapshot_id)
            self.put_group(attrs.evolve(group, members=members))
        else:
            self.on_change("snapshot", snapshot_id, None)
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

    def put_group(self, group: GroupSnapshot) -> None:
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

    def _enter_group(self, group: GroupSnapshot) -> None:
        self.groups[group.id] = group
        self.group_names[group.name] = group.id
        for member in group.members:
            if member.id not in self.snapshots:
                self._enter_snapshot(member)
