"""SnapshotMetadata: which blocks of a snapshot hold data, or differ from an older one (alpha).

The storage gives extents of any shape; here they become what the driver reports: blocks of one
size (FIXED_LENGTH), or extents as they are (VARIABLE_LENGTH). Offsets and sizes are bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

import attrs

from refimpl.csi.state import rules
from refimpl.csi.state.models import Snapshot
from refimpl.csi.state.settings import DriverSettings
from refimpl.csi.state.tables import DriverTables
from refimpl.wire.status import Code, Refused

Extent = tuple[int, int]
"""(offset, size)"""


@attrs.frozen
class Blocks:
    """One message of the stream. `type` and `capacity` are the same in all of them."""

    type: str
    capacity: int
    extents: tuple[Extent, ...]


class Metadata:
    """Streams the blocks of snapshots."""

    def __init__(self, tables: DriverTables) -> None:
        self._tables = tables

    def allocated(
        self, snapshot_id: str, start: int, most: int, secrets: Mapping[str, str]
    ) -> Iterator[Blocks]:
        """GetMetadataAllocated. NOT_FOUND; OUT_OF_RANGE start; INVALID_ARGUMENT for a snapshot of
        a file system. Refuses at once, not at the first message."""
        tables = self._tables
        self._check("GetMetadataAllocated", start, most, secrets, snapshot_id=snapshot_id)
        with tables.lock:
            snapshot = self._block_snapshot(snapshot_id)
        self._check_start(snapshot, start)
        return self._messages(snapshot, tables.storage.allocated(snapshot_id), start, most)

    def delta(
        self, base_id: str, target_id: str, start: int, most: int, secrets: Mapping[str, str]
    ) -> Iterator[Blocks]:
        """GetMetadataDelta between two snapshots of one volume, base not the younger one.
        FAILED_PRECONDITION if changes are not tracked."""
        tables = self._tables
        ids = {"base_snapshot_id": base_id, "target_snapshot_id": target_id}
        self._check("GetMetadataDelta", start, most, secrets, **ids)
        with tables.lock:
            base, target = self._block_snapshot(base_id), self._block_snapshot(target_id)
        self._check_pair(base, target)
        self._check_start(target, start)
        return self._messages(target, tables.storage.changed(base_id, target_id), start, most)

    def _check(
        self, rpc: str, start: int, most: int, secrets: Mapping[str, str], **ids: str
    ) -> None:
        settings = self._tables.settings
        settings.demand(rpc)
        for field, value in ids.items():
            rules.required(field, value)
        rules.not_negative("max_results", most)
        if start < 0:
            raise Refused(Code.OUT_OF_RANGE, f"starting_offset is {start}; it must be 0 or more")
        rules.secrets(settings, rpc, secrets)

    def _block_snapshot(self, snapshot_id: str) -> Snapshot:
        snapshot = self._tables.snapshot(snapshot_id)
        if snapshot.access != "block":
            raise rules.invalid(
                f"snapshot {snapshot_id} is one of a file system; metadata is told of block"
                " volumes only"
            )
        return snapshot

    def _check_pair(self, base: Snapshot, target: Snapshot) -> None:
        if base.source_id != target.source_id:
            raise rules.invalid(
                f"snapshots {base.id} and {target.id} are of different volumes,"
                f" {base.source_id} and {target.source_id}; compare two of one volume"
            )
        tables = self._tables
        order = tables.snapshots_of[base.source_id]
        if order.position(base.id) > order.position(target.id):
            raise rules.invalid(
                f"base_snapshot_id {base.id} is younger than target_snapshot_id {target.id};"
                " exchange them"
            )
        if not tables.settings.changed_blocks:
            raise Refused(
                Code.FAILED_PRECONDITION,
                "changed block tracking is off on this driver; ask GetMetadataAllocated instead",
            )

    def _check_start(self, snapshot: Snapshot, start: int) -> None:
        settings = self._tables.settings
        end = snapshot.size
        # The last fixed block may reach beyond the volume; a caller goes on where it ends.
        fixed = settings.metadata_type == "FIXED_LENGTH"
        if fixed and start == _upper(end, settings.metadata_block):
            return
        if start > end:
            raise Refused(
                Code.OUT_OF_RANGE,
                f"starting_offset is {start}, but the volume has {end} bytes; start within it",
            )

    def _messages(
        self, snapshot: Snapshot, extents: Iterable[Extent], start: int, most: int
    ) -> Iterator[Blocks]:
        settings = self._tables.settings
        shaped = shape(settings, extents, snapshot.size)
        from_start = (extent for extent in shaped if extent[0] + extent[1] > start)
        count = most or settings.metadata_batch
        kind, size = settings.metadata_type, snapshot.size
        # A snapshot without data still tells its type and capacity, once.
        yield Blocks(kind, size, tuple(islice(from_start, count)))
        while batch := tuple(islice(from_start, count)):
            yield Blocks(kind, size, batch)


def shape(settings: DriverSettings, extents: Iterable[Extent], capacity: int) -> Iterator[Extent]:
    """Extents as the driver reports them: rising, apart, within the volume, but for the end of a
    last fixed block."""
    if settings.metadata_type == "VARIABLE_LENGTH":
        return _joined(extents, capacity)
    return _blocks(extents, settings.metadata_block, capacity)


def _joined(extents: Iterable[Extent], capacity: int) -> Iterator[Extent]:
    begin = end = 0
    for offset, size in extents:
        if offset >= capacity:
            break
        if offset > end:
            if end > begin:
                yield begin, end - begin
            begin = offset
        end = max(end, min(offset + size, capacity))
    if end > begin:
        yield begin, end - begin


def _blocks(extents: Iterable[Extent], block: int, capacity: int) -> Iterator[Extent]:
    reached = 0
    for offset, size in extents:
        if offset >= capacity:
            break
        first = max(reached, offset // block * block)
        reached = max(reached, _upper(min(offset + size, capacity), block))
        for begin in range(first, reached, block):
            yield begin, block


def _upper(size: int, block: int) -> int:
    return -(-size // block) * block
