"""ControllerExpandVolume and ControllerModifyVolume: what changes on a volume that exists."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from refimpl.csi.state import rules
from refimpl.csi.state.models import CapacityRange, Volume, VolumeCapability
from refimpl.csi.state.tables import DriverTables
from refimpl.csi.state.volumes import sizes
from refimpl.csi.state.volumes.parameters import check_mutable
from refimpl.wire.status import Code, Refused


def grow(tables: DriverTables, volume_id: str, requested: CapacityRange) -> Volume:
    """Make a volume at least as large as wanted; a volume that is stays as it is.

    For a caller that holds the guard of the volume. OUT_OF_RANGE beyond limit, maximum or pool."""
    with tables.lock:
        volume = tables.volume(volume_id)
        size = sizes.fitting(tables.settings, requested, volume.capacity, volume.access)
        more = size - volume.capacity
        if not more:
            return volume
        sizes.demand_room(tables, volume.pool, more, Code.OUT_OF_RANGE)
        room = sizes.Reservation(tables, volume.pool, more)
    try:
        tables.storage.resize(volume_id, size)
        with tables.lock:
            room.release()
            grown = attrs.evolve(tables.volume(volume_id), capacity=size)
            tables.put_volume(grown)
    finally:
        room.release()
    return grown


def published(tables: DriverTables, volume_id: str) -> bool:
    """True while a volume is attached, staged or published anywhere."""
    return volume_id in tables.attachments or volume_id in tables.uses


class Changes:
    """Changes volumes."""

    def __init__(self, tables: DriverTables) -> None:
        self._tables = tables

    def expand(
        self,
        volume_id: str,
        requested: CapacityRange | None,
        capability: VolumeCapability | None,
        secrets: Mapping[str, str],
    ) -> tuple[int, bool]:
        """(bytes now, whether NodeExpandVolume has to follow). FAILED_PRECONDITION for a published
        volume of a driver that expands offline only."""
        tables, settings = self._tables, self._tables.settings
        settings.demand("ControllerExpandVolume")
        rules.required("volume_id", volume_id)
        if requested is None:
            raise rules.invalid("capacity_range is missing, but required: say how large")
        rules.capacity_range(requested)
        rules.secrets(settings, "ControllerExpandVolume", secrets)
        if capability is not None:
            rules.capability("volume_capability", capability)
        with tables.guards.hold(volume_id):
            with tables.lock:
                volume = tables.volume(volume_id)
                self._check_use(volume, requested, capability)
            volume = grow(tables, volume_id, requested)
            on_node = settings.has("node", "EXPAND_VOLUME") and volume.access == "mount"
            if not on_node:
                tables.storage.fill(volume_id)
        return volume.capacity, on_node

    def modify(
        self, volume_id: str, mutable_parameters: dict[str, str], secrets: Mapping[str, str]
    ) -> None:
        """Set the parameters given and leave the others; all of them or none."""
        tables, settings = self._tables, self._tables.settings
        settings.demand("ControllerModifyVolume")
        rules.required("volume_id", volume_id)
        if not mutable_parameters:
            raise rules.invalid("mutable_parameters is empty, but required: set what to change")
        rules.secrets(settings, "ControllerModifyVolume", secrets)
        with tables.guards.hold(volume_id), tables.lock:
            volume = tables.volume(volume_id)
            check_mutable(settings, mutable_parameters)
            mutable = {**volume.mutable, **mutable_parameters}
            if mutable != volume.mutable:
                tables.put_volume(attrs.evolve(volume, mutable=mutable))

    def _check_use(
        self, volume: Volume, requested: CapacityRange, capability: VolumeCapability | None
    ) -> None:
        settings = self._tables.settings
        if capability is not None:
            why = rules.unsupported(settings, settings.controller_modes, capability)
            if not why and capability.access != volume.access:
                why = f"volume {volume.id} is a {volume.access} volume"
            if why:
                raise rules.invalid(f"volume_capability: {why}")
        if requested.required <= volume.capacity or settings.expansion != {"OFFLINE"}:
            return
        if published(self._tables, volume.id):
            raise Refused(
                Code.FAILED_PRECONDITION,
                f"volume {volume.id} is published, and this driver expands OFFLINE only;"
                " unpublish it first",
            )
