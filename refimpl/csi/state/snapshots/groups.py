"""Group snapshots: of several volumes at one moment, all or none (CSI 1.13 GroupController)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from refimpl.csi.state import rules
from refimpl.csi.state.models import GroupSnapshot, Volume
from refimpl.csi.state.snapshots.snapshots import demand_unused, plan, reserve
from refimpl.csi.state.tables import DriverTables
from refimpl.csi.state.volumes import sizes
from refimpl.wire.status import Code, Refused


class Groups:
    """Makes, shows and removes group snapshots."""

    def __init__(self, tables: DriverTables) -> None:
        self._tables = tables

    def create(
        self,
        name: str,
        source_ids: Sequence[str],
        parameters: dict[str, str],
        secrets: Mapping[str, str],
    ) -> GroupSnapshot:
        """The group, new or of this name with the same volumes and parameters (else
        ALREADY_EXISTS). NOT_FOUND volume; FAILED_PRECONDITION for volumes that cannot be
        snapshotted together; RESOURCE_EXHAUSTED. After an error no member is left."""
        tables = self._tables
        self._check(name, source_ids, parameters, secrets)
        with tables.guards.hold(f"group {name}", *source_ids):
            with tables.lock:
                if existing := tables.group_names.get(name):
                    return self._repeated(tables.groups[existing], source_ids, parameters)
                volumes = [tables.volume(source_id) for source_id in source_ids]
                self._demand_groupable(volumes)
                group = self._plan(name, volumes, parameters)
                rooms = self._reserve(group)
            with self._cut(group, rooms), tables.lock:
                for room in rooms:
                    room.release()
                tables.put_group(group)
            return group

    def get(
        self, group_id: str, snapshot_ids: Sequence[str], secrets: Mapping[str, str]
    ) -> GroupSnapshot:
        """GetVolumeGroupSnapshot; NOT_FOUND, INVALID_ARGUMENT if the members are others."""
        tables = self._tables
        self._check_id("GetVolumeGroupSnapshot", group_id, secrets)
        with tables.lock:
            group = tables.groups.get(group_id)
            if group is None:
                raise Refused(
                    Code.NOT_FOUND, f"there is no group snapshot {rules.quoted(group_id)}"
                )
            _demand_members(group, snapshot_ids)
            return group

    def delete(
        self, group_id: str, snapshot_ids: Sequence[str], secrets: Mapping[str, str]
    ) -> None:
        """Remove a group with all its members; an unknown one is a success."""
        tables = self._tables
        self._check_id("DeleteVolumeGroupSnapshot", group_id, secrets)
        with tables.lock:
            existing = tables.groups.get(group_id)
        members = [member.id for member in existing.members] if existing else []
        with tables.guards.hold(group_id, *members):
            with tables.lock:
                group = tables.groups.get(group_id)
                if group is None:
                    return
                _demand_members(group, snapshot_ids)
                for member in group.members:
                    demand_unused(tables, member)
            for member in group.members:
                tables.storage.destroy(member.id)
            with tables.lock:
                tables.drop_group(group_id)

    def _check(
        self,
        name: str,
        source_ids: Sequence[str],
        parameters: Mapping[str, str],
        secrets: Mapping[str, str],
    ) -> None:
        settings = self._tables.settings
        settings.demand("CreateVolumeGroupSnapshot")
        rules.name("name", name)
        if not source_ids:
            raise rules.invalid("source_volume_ids is empty, but required: name the volumes")
        for source_id in source_ids:
            rules.required("source_volume_ids", source_id)
        if len(set(source_ids)) < len(source_ids):
            raise rules.invalid("source_volume_ids names a volume twice; name each one once")
        rules.string_map("parameters", parameters)
        rules.secrets(settings, "CreateVolumeGroupSnapshot", secrets)

    def _check_id(self, rpc: str, group_id: str, secrets: Mapping[str, str]) -> None:
        settings = self._tables.settings
        settings.demand(rpc)
        rules.required("group_snapshot_id", group_id)
        rules.secrets(settings, rpc, secrets)

    def _demand_groupable(self, volumes: Sequence[Volume]) -> None:
        if self._tables.settings.group_scope == "any":
            return
        if len({volume.pool for volume in volumes}) > 1:
            pools = ", ".join(f"{volume.id} in {volume.pool[0]}" for volume in volumes)
            raise Refused(
                Code.FAILED_PRECONDITION,
                f"volumes of several pools cannot be cut at one moment ({pools}); group volumes"
                " of one pool",
            )

    def _plan(
        self, name: str, volumes: Sequence[Volume], parameters: dict[str, str]
    ) -> GroupSnapshot:
        tables = self._tables
        group_id, moment = tables.ids("group", name), tables.clock()
        members = tuple(plan(tables, "", volume, moment, group_id=group_id) for volume in volumes)
        sources = tuple(volume.id for volume in volumes)
        return GroupSnapshot(group_id, name, sources, members, moment, parameters)

    def _reserve(self, group: GroupSnapshot) -> list[sizes.Reservation]:
        """Room for the members in each of their pools, or in none."""
        rooms: list[sizes.Reservation] = []
        try:
            for member in group.members:
                rooms.append(reserve(self._tables, member))
        except Refused:
            for room in rooms:
                room.release()
            raise
        return rooms

    @contextmanager
    def _cut(self, group: GroupSnapshot, rooms: Sequence[sizes.Reservation]) -> Iterator[None]:
        """Lets the storage take all snapshots; if one or the block inside fails, none is left."""
        storage = self._tables.storage
        try:
            for member in group.members:
                storage.snapshot(member.id, member.source_id)
            yield
        except BaseException:
            for member in group.members:
                storage.destroy(member.id)
            raise
        finally:
            for room in rooms:
                room.release()

    def _repeated(
        self, group: GroupSnapshot, source_ids: Sequence[str], parameters: Mapping[str, str]
    ) -> GroupSnapshot:
        if set(group.source_ids) != set(source_ids):
            why = "of other volumes"
        elif group.parameters != parameters:
            why = "with other parameters"
        else:
            return group
        raise Refused(
            Code.ALREADY_EXISTS,
            f"group snapshot {rules.quoted(group.name)} exists as {group.id}, but {why};"
            " choose another name",
        )


def _demand_members(group: GroupSnapshot, snapshot_ids: Sequence[str]) -> None:
    if not snapshot_ids:
        raise rules.invalid("snapshot_ids is empty, but required: name the members of the group")
    members = [member.id for member in group.members]
    if set(snapshot_ids) != set(members):
        raise rules.invalid(
            f"snapshot_ids are not the members of group {group.id}; it has {', '.join(members)}"
        )
