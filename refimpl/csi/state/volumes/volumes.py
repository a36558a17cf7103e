"""CreateVolume, with clone and restore, and DeleteVolume (CSI 1.13)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from refimpl.csi.state import rules
from refimpl.csi.state.models import (
    Access,
    ContentSource,
    Topology,
    TopologyRequirement,
    Volume,
    VolumeCapability,
)
from refimpl.csi.state.tables import DriverTables
from refimpl.csi.state.volumes import sizes, topology
from refimpl.csi.state.volumes.parameters import check_mutable
from refimpl.csi.state.volumes.requests import NewVolume, difference
from refimpl.wire.status import Code, Refused


class Volumes:
    """Makes and removes volumes."""

    def __init__(self, tables: DriverTables) -> None:
        self._tables = tables

    def create(self, request: NewVolume) -> Volume:
        """A new volume, or the one this name already has if it fits the request.

        ALREADY_EXISTS if it does not; NOT_FOUND for the source; OUT_OF_RANGE, RESOURCE_EXHAUSTED
        for size and place; INVALID_ARGUMENT for fields."""
        self._check(request)
        keys = [f"volume {request.name}"]
        if request.source:
            keys.append(request.source.id)
        tables = self._tables
        with tables.guards.hold(*keys):
            with tables.lock:
                if existing := tables.volume_names.get(request.name):
                    return self._repeated(tables.volumes[existing], request)
                volume = self._plan(request)
                if not request.source:
                    tables.put_volume(volume)
                    return volume
                room = sizes.Reservation(tables, volume.pool, volume.capacity)
            return self._copy(volume, request.source, room)

    def delete(self, volume_id: str, secrets: Mapping[str, str]) -> None:
        """Remove a volume; an unknown one is a success. FAILED_PRECONDITION while it is in use."""
        tables = self._tables
        tables.settings.demand("DeleteVolume")
        rules.required("volume_id", volume_id)
        rules.secrets(tables.settings, "DeleteVolume", secrets)
        with tables.guards.hold(volume_id):
            with tables.lock:
                if volume_id not in tables.volumes:
                    return
                self._demand_unused(volume_id)
            tables.storage.destroy(volume_id)
            with tables.lock:
                tables.drop_volume(volume_id)

    # -- the request --------------------------------------------------------------------------

    def _check(self, request: NewVolume) -> None:
        settings = self._tables.settings
        settings.demand("CreateVolume")
        rules.name("name", request.name)
        if not request.capabilities:
            raise rules.invalid("volume_capabilities is empty; send at least one capability")
        for capability in request.capabilities:
            rules.capability("volume_capabilities", capability)
            if why := rules.unsupported(settings, settings.controller_modes, capability):
                raise rules.invalid(f"volume_capabilities: {why}")
        _check_alike(request.capabilities)
        if request.capacity:
            rules.capacity_range(request.capacity)
        rules.secrets(settings, "CreateVolume", request.secrets)
        self._check_parameters(request)
        self._check_source(request.source)
        if request.requirement:
            if not settings.has("plugin", "VOLUME_ACCESSIBILITY_CONSTRAINTS"):
                raise rules.invalid(
                    "accessibility_requirements may be sent only to a driver with plugin"
                    " capability VOLUME_ACCESSIBILITY_CONSTRAINTS; leave them out"
                )
            topology.check("accessibility_requirements", request.requirement)

    def _check_parameters(self, request: NewVolume) -> None:
        settings = self._tables.settings
        rules.string_map("parameters", request.parameters)
        accepted = settings.accepted_parameters
        if accepted is not None and (strange := set(request.parameters) - accepted):
            names = ", ".join(rules.quoted(key) for key in sorted(strange))
            raise rules.invalid(f"parameters has keys this driver does not know: {names}")
        if request.mutable_parameters:
            check_mutable(settings, request.mutable_parameters)

    def _check_source(self, source: ContentSource | None) -> None:
        if source is None:
            return
        if not source.kind:
            raise rules.invalid("volume_content_source is empty; set snapshot or volume")
        rules.required(f"volume_content_source.{source.kind}.{source.kind}_id", source.id)
        needed = "CREATE_DELETE_SNAPSHOT" if source.kind == "snapshot" else "CLONE_VOLUME"
        if not self._tables.settings.has("controller", needed):
            raise rules.invalid(
                f"volume_content_source is a {source.kind}, which takes controller capability"
                f" {needed}; this driver does not advertise it"
            )

    # -- decisions, under the lock ------------------------------------------------------------

    def _repeated(self, volume: Volume, request: NewVolume) -> Volume:
        if why := difference(volume, request, self._tables.places):
            raise Refused(
                Code.ALREADY_EXISTS,
                f"volume {rules.quoted(volume.name)} exists as {volume.id}, but {why};"
                " ask for what it is, or choose another name",
            )
        return volume

    def _plan(self, request: NewVolume) -> Volume:
        tables, settings = self._tables, self._tables.settings
        floor, possible = self._source_bounds(request)
        parameters = {**request.parameters, **request.mutable_parameters}
        kind = sizes.known_kind(settings, parameters)
        size = sizes.fitting(settings, request.capacity, floor, request.capabilities[0].access)
        place, pool = self._placed(request.requirement, possible, kind, size)
        sizes.demand_room(tables, pool, size)
        first = request.capabilities[0]
        return Volume(
            id=tables.ids("volume", request.name),
            name=request.name,
            capacity=size,
            access=first.access,
            modes=tuple(dict.fromkeys(item.mode for item in request.capabilities)),
            fs_type=_fs_type(request.capabilities, settings.default_fs),
            parameters=parameters,
            mutable=request.mutable_parameters,
            context={settings.pool_parameter: kind, **settings.context},
            source=request.source,
            topology=place,
            pool=pool,
        )

    def _placed(
        self,
        requirement: TopologyRequirement | None,
        possible: Sequence[Topology],
        kind: str,
        size: int,
    ) -> tuple[topology.Places, sizes.Pool]:
        tables, settings = self._tables, self._tables.settings
        if not settings.has("plugin", "VOLUME_ACCESSIBILITY_CONSTRAINTS"):
            return (), (kind, "")
        if settings.pool_per_zone:
            possible = [
                place for place in possible if size <= sizes.room(tables, _pool(kind, place))
            ]
        places = topology.choose("the volume", requirement, possible, settings.volume_zones)
        return places, _pool(kind, places[0]) if settings.pool_per_zone else (kind, "")

    def _source_bounds(self, request: NewVolume) -> tuple[int, topology.Places]:
        """(bytes, places) a copy of the source needs and can have; fails if it cannot be one."""
        tables = self._tables
        if request.source is None:
            return 0, tables.places
        access: Access
        if request.source.kind == "volume":
            volume = tables.volume(request.source.id)
            size, access, places = volume.capacity, volume.access, volume.topology
        else:
            snapshot = tables.snapshot(request.source.id)
            size, access, places = snapshot.size, snapshot.access, snapshot.topology
            if snapshot.ready_at > tables.clock():
                raise Refused(
                    Code.FAILED_PRECONDITION,
                    f"snapshot {snapshot.id} is not ready to use yet; repeat CreateSnapshot until"
                    " it is",
                )
        if access != request.capabilities[0].access:
            raise rules.invalid(
                f"the source {request.source.id} is a {access} volume; a copy has to be one, too"
            )
        return size, places or tables.places

    def _demand_unused(self, volume_id: str) -> None:
        tables, settings = self._tables, self._tables.settings
        if nodes := tables.attachments.get(volume_id):
            where = ", ".join(sorted(nodes))
            raise _in_use(volume_id, f"published to {where}; call ControllerUnpublishVolume first")
        if uses := tables.uses.get(volume_id):
            kind, node_id, path = min(uses)
            raise _in_use(volume_id, f"in use on {node_id} ({kind} at {path}); undo that first")
        if settings.delete_with_snapshots == "refuse" and volume_id in tables.snapshots_of:
            raise _in_use(volume_id, "the source of snapshots; delete them first")
        copies = tables.copies[ContentSource("volume", volume_id)]
        if settings.delete_with_copies == "refuse" and copies:
            raise _in_use(volume_id, f"the source of {copies} volumes; delete them first")

    def _copy(self, volume: Volume, source: ContentSource, room: sizes.Reservation) -> Volume:
        """Let the storage copy, then record; after an error nothing is left."""
        tables = self._tables
        try:
            tables.storage.provision(volume.id, volume.access, volume.capacity, source.id)
            with tables.lock:
                room.release()
                tables.put_volume(volume)
        except BaseException:
            tables.storage.destroy(volume.id)
            raise
        finally:
            room.release()
        return volume


def _pool(kind: str, place: Topology) -> sizes.Pool:
    return kind, place.segments[0][1] if place.segments else ""


def _check_alike(capabilities: Sequence[VolumeCapability]) -> None:
    """One volume has one access type and one file system."""
    if len({item.access for item in capabilities}) > 1:
        raise rules.invalid("volume_capabilities mix block and mount; ask for one of them")
    if len({item.fs_type for item in capabilities if item.fs_type}) > 1:
        raise rules.invalid("volume_capabilities name several file systems; ask for one of them")


def _fs_type(capabilities: Sequence[VolumeCapability], default: str) -> str:
    if capabilities[0].access == "block":
        return ""
    return next((item.fs_type for item in capabilities if item.fs_type), default)


def _in_use(volume_id: str, why: str) -> Refused:
    return Refused(Code.FAILED_PRECONDITION, f"volume {volume_id} is {why}")
