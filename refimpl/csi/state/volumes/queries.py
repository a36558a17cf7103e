"""Questions about volumes that change none: lists, capacity, validation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs

from refimpl.csi.state import rules
from refimpl.csi.state.models import Topology, Volume, VolumeCapability, VolumeFault
from refimpl.csi.state.paging import Book, Page
from refimpl.csi.state.tables import DriverTables
from refimpl.csi.state.volumes import sizes, topology
from refimpl.csi.state.volumes.health import volume_faults
from refimpl.csi.state.volumes.requests import unusable


@attrs.frozen
class VolumeEntry:
    """A volume with its status: where it is published, what the controller sees wrong with it."""

    volume: Volume
    published: tuple[str, ...] = ()
    faults: tuple[VolumeFault, ...] = ()


@attrs.frozen
class AvailableCapacity:
    """Bytes left, and the bounds of a single volume; None = not reported."""

    available: int
    maximum: int | None = None
    minimum: int | None = None


@attrs.frozen
class Confirmation:
    """The answer of ValidateVolumeCapabilities: confirmed, or why not."""

    confirmed: bool
    message: str = ""


class Queries:
    """Answers questions about volumes."""

    def __init__(self, tables: DriverTables) -> None:
        self._tables = tables
        self._book: Book[VolumeEntry] = Book(
            "v", tables.settings, repr(tables.started), self._entry, _weight
        )

    def list(self, token: str, max_entries: int) -> Page[VolumeEntry]:
        """ListVolumes."""
        tables = self._tables
        tables.settings.demand("ListVolumes")
        with tables.lock:
            return self._book.page(tables.volume_order, token, max_entries)

    def get(self, volume_id: str) -> VolumeEntry:
        """ControllerGetVolume; NOT_FOUND."""
        tables = self._tables
        tables.settings.demand("ControllerGetVolume")
        rules.required("volume_id", volume_id)
        with tables.lock:
            tables.volume(volume_id)
            return self._entry(volume_id)

    def capacity(
        self,
        capabilities: Sequence[VolumeCapability],
        parameters: Mapping[str, str],
        place: Topology | None,
    ) -> AvailableCapacity:
        """GetCapacity: what is left for volumes that fit all criteria; 0 where none can."""
        tables, settings = self._tables, self._tables.settings
        settings.demand("GetCapacity")
        rules.string_map("parameters", parameters)
        for capability in capabilities:
            rules.capability("volume_capabilities", capability)
        if place is not None:
            if not settings.has("plugin", "VOLUME_ACCESSIBILITY_CONSTRAINTS"):
                raise rules.invalid(
                    "accessible_topology may be sent only to a driver with plugin capability"
                    " VOLUME_ACCESSIBILITY_CONSTRAINTS; leave it out"
                )
            topology.check_place("accessible_topology", place)
        kind = sizes.kind_of(settings, parameters)
        modes = settings.controller_modes
        if kind is None or any(rules.unsupported(settings, modes, item) for item in capabilities):
            return self._bounds(())
        with tables.lock:
            return self._bounds(self._rooms(kind, place))

    def validate(
        self,
        volume_id: str,
        capabilities: Sequence[VolumeCapability],
        context: Mapping[str, str],
        parameters: Mapping[str, str],
        mutable_parameters: Mapping[str, str],
        secrets: Mapping[str, str],
    ) -> Confirmation:
        """ValidateVolumeCapabilities: confirmed only if all that was sent holds for the volume."""
        tables, settings = self._tables, self._tables.settings
        settings.demand("ValidateVolumeCapabilities")
        rules.required("volume_id", volume_id)
        if not capabilities:
            raise rules.invalid("volume_capabilities is empty; send at least one capability")
        for capability in capabilities:
            rules.capability("volume_capabilities", capability)
        rules.secrets(settings, "ValidateVolumeCapabilities", secrets)
        with tables.lock:
            volume = tables.volume(volume_id)
        why = self._unsupported(volume, capabilities)
        for field, requested, recorded in (
            ("volume_context", context, volume.context),
            ("parameters", parameters, volume.parameters),
            ("mutable_parameters", mutable_parameters, volume.mutable),
        ):
            if not why and not requested.items() <= recorded.items():
                why = f"{field} has entries that are not those of the volume"
        return Confirmation(not why, why[: rules.STRING_LIMIT])

    def _unsupported(self, volume: Volume, capabilities: Sequence[VolumeCapability]) -> str:
        settings = self._tables.settings
        for capability in capabilities:
            why = rules.unsupported(settings, settings.controller_modes, capability)
            if why := why or unusable(volume, capability):
                return why
        return ""

    def _rooms(self, kind: str, place: Topology | None) -> tuple[int, ...]:
        """Bytes left in each pool that serves the place."""
        tables = self._tables
        if place is not None and place.segments and place not in tables.places:
            return ()
        if not tables.settings.pool_per_zone:
            return (sizes.room(tables, (kind, "")),)
        chosen = [zone for zone in tables.places if place in (None, zone, Topology())]
        return tuple(sizes.room(tables, (kind, zone.segments[0][1])) for zone in chosen)

    def _bounds(self, rooms: Sequence[int]) -> AvailableCapacity:
        settings = self._tables.settings
        # A maximum that is told has to be one that CreateVolume can still make.
        reports_maximum = 0 < settings.maximum <= max(rooms, default=0)
        return AvailableCapacity(
            sum(rooms), settings.maximum if reports_maximum else None, settings.minimum or None
        )

    def _entry(self, volume_id: str) -> VolumeEntry:
        tables = self._tables
        nodes = tables.attachments.get(volume_id)
        return VolumeEntry(
            tables.volumes[volume_id],
            tuple(nodes) if nodes else (),
            volume_faults(tables, volume_id),
        )


def _weight(entry: VolumeEntry) -> int:
    volume = entry.volume
    size = 80 + len(volume.id) + 200 * (volume.source is not None) + 160 * len(volume.topology)
    size += sum(len(key) + len(value) + 8 for key, value in volume.context.items())
    return size + 260 * len(entry.published)
