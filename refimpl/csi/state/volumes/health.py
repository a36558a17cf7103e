"""What is wrong with volumes and with the storage behind them: set at run time, reported by RPCs.

1.13: ControllerListVolumeHealth, ControllerGetVolumeHealth and, for a node's view, the functions
`volume_faults` and `storage_faults`. 1.12: the same faults, reported as a condition.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TypeVar

import attrs

from refimpl.csi.state import rules
from refimpl.csi.state.models import (
    StorageFault,
    StorageStatus,
    VolumeCapability,
    VolumeFault,
    VolumeHealth,
    VolumeStatus,
)
from refimpl.csi.state.paging import Book, Page
from refimpl.csi.state.tables import DriverTables

# Kubelet discards an answer with more entries; the reason is one CamelCase word.
MOST_FAULTS = 16
_REASON = re.compile(r"[A-Z][A-Za-z0-9]{0,127}")
HEALTHY = "the volume works"
S = TypeVar("S", VolumeStatus, StorageStatus)


def volume_faults(
    tables: DriverTables, volume_id: str, node_id: str = ""
) -> tuple[VolumeFault, ...]:
    """Faults of a volume as the controller (node_id "") or a node sees them: those of one node
    are reported by that node only, since the controller would seem to speak for all."""
    health = tables.health.get(volume_id)
    if health is None:
        return ()
    faults = {
        (fault.status, fault.reason): fault
        for fault in health.faults
        if fault.node_id in ("", node_id)
    }
    return tuple(faults.values())


def storage_faults(tables: DriverTables, node_id: str) -> tuple[StorageFault, ...]:
    """Faults of the storage as a node sees them."""
    faults = {
        (fault.status, fault.reason, fault.capability): fault
        for fault in tables.storage_faults
        if fault.node_id in ("", node_id)
    }
    return tuple(faults.values())


def condition(faults: tuple[VolumeFault, ...]) -> tuple[bool, str]:
    """The VolumeCondition of 1.12: (abnormal, message); the message is never empty."""
    if not faults:
        return False, HEALTHY
    texts = [fault.message or f"{fault.status.name}: {fault.reason}" for fault in faults]
    return True, "; ".join(texts)[: rules.STRING_LIMIT]


class Health:
    """The controller's health RPCs, and setting and removing of faults."""

    def __init__(self, tables: DriverTables) -> None:
        self._tables = tables
        self._book: Book[VolumeHealth] = Book(
            "h", tables.settings, repr(tables.started), self._seen, _weight
        )

    def get(self, volume_id: str, secrets: Mapping[str, str]) -> VolumeHealth:
        """ControllerGetVolumeHealth; a volume in good order has no faults. NOT_FOUND if unknown."""
        tables = self._tables
        tables.settings.demand("ControllerGetVolumeHealth")
        rules.required("volume_id", volume_id)
        rules.secrets(tables.settings, "ControllerGetVolumeHealth", secrets)
        with tables.lock:
            tables.volume(volume_id)
            return self._seen(volume_id)

    def list(self, token: str, max_entries: int, secrets: Mapping[str, str]) -> Page[VolumeHealth]:
        """ControllerListVolumeHealth: the volumes with faults, and only those."""
        tables = self._tables
        tables.settings.demand("ControllerListVolumeHealth")
        rules.secrets(tables.settings, "ControllerListVolumeHealth", secrets)
        with tables.lock:
            return self._book.page(tables.health_order, token, max_entries)

    def break_volume(
        self, volume_id: str, status: str, reason: str, message: str = "", node_id: str = ""
    ) -> None:
        """Add a fault, or give the fault of the same status, reason and node another message.
        ValueError for a status, reason or size the interface cannot carry; NOT_FOUND."""
        fault = VolumeFault(
            _status(VolumeStatus, status), _word(reason), _message(message), node_id
        )
        tables = self._tables
        with tables.lock:
            tables.volume(volume_id)
            recorded = tables.health.get(volume_id, VolumeHealth(volume_id)).faults
            others = tuple(old for old in recorded if _identity(old) != _identity(fault))
            _within_limit(len(others) + 1)
            tables.put_health(VolumeHealth(volume_id, (*others, fault)))

    def repair_volume(self, volume_id: str, reason: str = "", node_id: str | None = None) -> None:
        """Take away the faults with the reason and node given; by default all of the volume."""
        tables = self._tables
        with tables.lock:
            recorded = tables.health.get(volume_id)
            if recorded is None:
                return
            remaining = tuple(old for old in recorded.faults if not _chosen(old, reason, node_id))
            tables.put_health(attrs.evolve(recorded, faults=remaining))

    def break_storage(
        self,
        status: str,
        reason: str,
        message: str = "",
        node_id: str = "",
        capability: VolumeCapability | None = None,
    ) -> None:
        """Adds a fault of the storage. ValueError for a status, reason or size the interface cannot
        carry."""
        known_status = _status(StorageStatus, status)
        fault = StorageFault(known_status, _word(reason), _message(message), node_id, capability)
        tables = self._tables
        with tables.lock:
            recorded = tables.storage_faults
            others = [old for old in recorded if attrs.evolve(old, message=fault.message) != fault]
            _within_limit(len(others) + 1)
            tables.put_storage_faults((*others, fault))

    def repair_storage(self, reason: str = "", node_id: str | None = None) -> None:
        """Take away the faults with the reason and node given; by default all."""
        tables = self._tables
        with tables.lock:
            recorded = tables.storage_faults
            tables.put_storage_faults(old for old in recorded if not _chosen(old, reason, node_id))

    def _seen(self, volume_id: str) -> VolumeHealth:
        return VolumeHealth(volume_id, volume_faults(self._tables, volume_id))


def _identity(fault: VolumeFault) -> tuple[VolumeStatus, str, str]:
    return fault.status, fault.reason, fault.node_id


def _chosen(fault: VolumeFault | StorageFault, reason: str, node_id: str | None) -> bool:
    return reason in ("", fault.reason) and node_id in (None, fault.node_id)


def _status(kind: type[S], name: str) -> S:
    if name not in kind.__members__:
        raise ValueError(f"status {name!r}: one of {', '.join(kind.__members__)} is needed")
    return kind[name]


def _word(reason: str) -> str:
    if not _REASON.fullmatch(reason):
        raise ValueError(f"reason {reason!r}: one CamelCase word of at most 128 letters is needed")
    return reason


def _message(message: str) -> str:
    if len(message.encode()) > rules.STRING_LIMIT:
        raise ValueError(f"message {message[:40]!r}...: at most {rules.STRING_LIMIT} bytes")
    return message


def _within_limit(count: int) -> None:
    if count > MOST_FAULTS:
        raise ValueError(f"{count} faults at once: callers take at most {MOST_FAULTS}; repair some")


def _weight(health: VolumeHealth) -> int:
    return 48 + len(health.volume_id) + 300 * len(health.faults)
