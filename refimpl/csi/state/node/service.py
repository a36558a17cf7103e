"""The Node service on one node: decides under the lock, lets the storage work, then records.

CSI 1.13, Node RPCs. A record that cannot be written down takes the work back, so that an error
means that nothing happened; a repeated call makes whole what somebody took away meanwhile.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Mapping

import attrs

from refimpl.csi.state import rules
from refimpl.csi.state.guard import Guard
from refimpl.csi.state.models import (
    Publication,
    Staging,
    StorageFault,
    Topology,
    Volume,
    VolumeCapability,
    VolumeFault,
    VolumeHealth,
)
from refimpl.csi.state.node import preconditions
from refimpl.csi.state.node import requests as fields
from refimpl.csi.state.node.paths import effective_readonly
from refimpl.csi.state.node.requests import ExpandRequest, PublishRequest, StageRequest, plain
from refimpl.csi.state.node.second_publish import first_or_repeat
from refimpl.csi.state.ports import SpaceUsage
from refimpl.csi.state.tables import DriverTables
from refimpl.csi.state.volumes.changes import grow
from refimpl.csi.state.volumes.health import condition, storage_faults, volume_faults
from refimpl.wire.status import Code, Refused


@attrs.frozen
class NodeInfo:
    """NodeGetInfo; `most_volumes` 0 leaves the number to the caller, `place` is None without
    VOLUME_ACCESSIBILITY_CONSTRAINTS."""

    node_id: str
    most_volumes: int
    place: Topology | None


@attrs.frozen
class VolumeStats:
    """NodeGetVolumeStats; `condition` is (abnormal, message), reported in 1.12 only."""

    usage: SpaceUsage
    condition: tuple[bool, str] | None = None


class NodeState:
    """One node over the volumes of `tables`. Calls raise Refused."""

    def __init__(self, tables: DriverTables, node_id: str) -> None:
        self.node_id = node_id
        self._tables = tables
        self._settings = tables.settings

    def info(self) -> NodeInfo:
        """NodeGetInfo."""
        settings = self._settings
        settings.demand("NodeGetInfo")
        placed = settings.has("plugin", "VOLUME_ACCESSIBILITY_CONSTRAINTS")
        place = self._tables.nodes.get(self.node_id) if placed else None
        return NodeInfo(self.node_id, settings.attach_limit, place)

    def capabilities(self) -> list[str]:
        """NodeGetCapabilities, by name."""
        self._settings.demand("NodeGetCapabilities")
        return sorted(self._settings.node)

    # -- staging ------------------------------------------------------------------------------

    def stage(self, request: StageRequest) -> None:
        """NodeStageVolume."""
        tables = self._tables
        self._settings.demand("NodeStageVolume")
        path, capability = fields.checked_stage(self._settings, request)
        new = Staging(request.volume_id, self.node_id, path, capability)
        with self._alone(request.volume_id, path):
            with tables.lock:
                volume = tables.volume(request.volume_id)
                repeat = preconditions.staged_before(tables, new)
                preconditions.usable(tables, volume, self.node_id, capability)
            if not tables.storage.is_directory(path):
                raise preconditions.no_directory(path)
            self._provision(volume)
            tables.storage.stage(volume.id, path, self._complete(volume, capability))
            if not repeat:
                undo = functools.partial(tables.storage.unstage, volume.id, path)
                with _undone_on_error(undo), tables.lock:
                    tables.put_staging(new)

    def unstage(self, volume_id: str, path: str) -> None:
        """NodeUnstageVolume; a success also where nothing is staged, or nothing is known."""
        tables = self._tables
        self._settings.demand("NodeUnstageVolume")
        rules.required("volume_id", volume_id)
        rules.absolute("staging_target_path", path)
        path = plain(path)
        with self._alone(volume_id, path):
            with tables.lock:
                record = tables.stagings.get((self.node_id, path))
                ours = record is not None and record.volume_id == volume_id
                if ours:
                    preconditions.unpublished(self._publications(volume_id), volume_id)
            if ours or (record is None and self._left_behind(volume_id, path)):
                tables.storage.unstage(volume_id, path)
            if ours:
                with tables.lock:
                    tables.drop_staging(self.node_id, path)

    # -- publishing ---------------------------------------------------------------------------

    def publish(self, request: PublishRequest) -> None:
        """NodePublishVolume."""
        tables = self._tables
        self._settings.demand("NodePublishVolume")
        target, staging, capability = fields.checked_publish(self._settings, request)
        new = Publication(
            request.volume_id, self.node_id, target, capability, request.readonly, staging
        )
        with self._alone(request.volume_id, target):
            with tables.lock:
                volume = tables.volumes.get(request.volume_id)
                inline = volume is None and preconditions.wants_inline(self._settings, request)
                if volume is None:
                    volume = self._inline(request) if inline else tables.volume(request.volume_id)
                repeat = first_or_repeat(self._publications(volume.id), new)
                preconditions.publishable(tables, volume, new)
                readonly = effective_readonly(tables, new)
            self._show(volume, new, readonly, repeat=repeat, inline=inline)

    def unpublish(self, volume_id: str, target: str) -> None:
        """NodeUnpublishVolume; a success also where nothing is published, or nothing is known."""
        tables = self._tables
        self._settings.demand("NodeUnpublishVolume")
        rules.required("volume_id", volume_id)
        rules.absolute("target_path", target)
        target = plain(target)
        with self._alone(volume_id, target):
            with tables.lock:
                record = tables.publications.get((self.node_id, target))
            ours = record is not None and record.volume_id == volume_id
            if ours or (record is None and self._left_behind(volume_id, target)):
                tables.storage.unpublish(volume_id, target)
            if ours:
                with tables.lock:
                    tables.drop_publication(self.node_id, target)
            self._drop_inline(volume_id)

    # -- facts and sizes ----------------------------------------------------------------------

    def stats(self, volume_id: str, path: str) -> VolumeStats:
        """NodeGetVolumeStats at a staging path or a target; anywhere else NOT_FOUND."""
        tables, settings = self._tables, self._settings
        settings.demand("NodeGetVolumeStats")
        rules.required("volume_id", volume_id)
        path = fields.path_to_look_up("volume_path", path)
        with tables.lock:
            tables.volume(volume_id)
            self._demand_place(volume_id, path)
            faults = self._faults(volume_id)
        usage = tables.storage.usage(volume_id, path)
        reports_condition = settings.has("node", "VOLUME_CONDITION")
        return VolumeStats(usage, condition(faults) if reports_condition else None)

    def expand(self, request: ExpandRequest) -> int:
        """NodeExpandVolume; returns the size of the volume in bytes, 0 = not reported."""
        tables, settings = self._tables, self._settings
        settings.demand("NodeExpandVolume")
        path = fields.checked_expand(settings, request)
        with tables.guards.hold(request.volume_id):
            with tables.lock:
                volume = tables.volume(request.volume_id)
                self._demand_place(volume.id, path)
                preconditions.expandable(settings, volume, request)
            if request.wanted is not None and request.wanted.required > volume.capacity:
                volume = grow(tables, volume.id, request.wanted)
            tables.storage.fill(volume.id)
        return volume.capacity if settings.report_capacity else 0

    def health(self, volume_id: str, publish_path: str = "", staging: str = "") -> VolumeHealth:
        """NodeGetVolumeHealth. The volume is known by its id: callers name paths they never used
        in another call, and ask for volumes whose staging failed."""
        tables = self._tables
        self._settings.demand("NodeGetVolumeHealth")
        rules.required("volume_id", volume_id)
        rules.absolute_or_empty("volume_publish_path", publish_path)
        rules.absolute_or_empty("staging_target_path", staging)
        with tables.lock:
            tables.volume(volume_id)
            return VolumeHealth(volume_id, self._faults(volume_id))

    def storage_health(self, secrets: Mapping[str, str]) -> list[StorageFault]:
        """NodeGetStorageHealth: what is wrong with the storage as this node sees it."""
        tables = self._tables
        self._settings.demand("NodeGetStorageHealth")
        rules.secrets(self._settings, "NodeGetStorageHealth", secrets)
        with tables.lock:
            faults = storage_faults(tables, self.node_id)
        return list({(f.status, f.reason, f.capability): f for f in faults}.values())

    # -- inner --------------------------------------------------------------------------------

    def _alone(self, volume_id: str, path: str) -> Guard:
        # The path as well: two volumes must not be put into one place at the same time.
        return self._tables.guards.hold(volume_id, f"path {self.node_id} {path}")

    def _publications(self, volume_id: str) -> list[Publication]:
        tables = self._tables
        return [
            tables.publications[node_id, path]
            for kind, node_id, path in tables.uses.get(volume_id, ())
            if kind == "publication" and node_id == self.node_id
        ]

    def _left_behind(self, volume_id: str, path: str) -> bool:
        # Work whose record was lost in a crash is known by what it left; the rest is not ours.
        tables = self._tables
        return volume_id in tables.volumes and tables.storage.holds(volume_id, path)

    def _provision(self, volume: Volume) -> None:
        self._tables.storage.provision(volume.id, volume.access, volume.capacity, None)

    def _complete(self, volume: Volume, capability: VolumeCapability) -> VolumeCapability:
        if capability.access == "block" or capability.fs_type:
            return capability
        return attrs.evolve(capability, fs_type=volume.fs_type or self._settings.default_fs)

    def _inline(self, request: PublishRequest) -> Volume:
        assert request.capability is not None
        return Volume(
            id=request.volume_id,
            name="",
            capacity=self._settings.default_size,
            access=request.capability.access,
            modes=(request.capability.mode,),
            fs_type=request.capability.fs_type,
            ephemeral=True,
        )

    def _show(
        self, volume: Volume, new: Publication, readonly: bool, *, repeat: bool, inline: bool
    ) -> None:
        tables, storage = self._tables, self._tables.storage
        if inline:
            with tables.lock:
                tables.put_volume(volume)
        with _undone_on_error(functools.partial(self._drop_inline, volume.id)):
            self._provision(volume)
            capability = self._complete(volume, new.capability)
            storage.publish(volume.id, new.target, capability, readonly, new.staging)
            if not repeat:
                undo = functools.partial(storage.unpublish, volume.id, new.target)
                with _undone_on_error(undo), tables.lock:
                    tables.put_publication(new)

    def _drop_inline(self, volume_id: str) -> None:
        # An inline volume lives as long as it is published somewhere.
        tables = self._tables
        with tables.lock:
            volume = tables.volumes.get(volume_id)
            if volume is None or not volume.ephemeral or volume_id in tables.uses:
                return
        tables.storage.destroy(volume_id)
        with tables.lock:
            tables.drop_volume(volume_id)

    def _demand_place(self, volume_id: str, path: str) -> None:
        tables, place = self._tables, (self.node_id, path)
        record = tables.publications.get(place) or tables.stagings.get(place)
        if record is None or record.volume_id != volume_id:
            raise Refused(
                Code.NOT_FOUND,
                f"volume {rules.quoted(volume_id)} is neither staged nor published at "
                f"{rules.quoted(path)} on node {self.node_id!r}; send a path of an earlier call",
            )

    def _faults(self, volume_id: str) -> tuple[VolumeFault, ...]:
        # One entry for (status, reason): a fault of this node and one of all nodes may agree.
        faults = volume_faults(self._tables, volume_id, self.node_id)
        return tuple({(fault.status, fault.reason): fault for fault in faults}.values())


@contextlib.contextmanager
def _undone_on_error(undo: Callable[[], None]) -> Iterator[None]:
    try:
        yield
    except BaseException:
        with contextlib.suppress(Refused):  # the first error is the one to tell
            undo()
        raise
