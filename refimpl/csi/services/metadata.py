"""SnapshotMetadata: streams of the blocks of a snapshot (alpha)."""

from __future__ import annotations

from collections.abc import Iterator

from refimpl.csi.api import csi_pb2 as pb
from refimpl.csi.state import DriverState
from refimpl.csi.state.snapshots.metadata import Blocks
from refimpl.wire.server import Call


class SnapshotMetadataService:
    """CSI 1.13, Snapshot Metadata service RPC. A stream ends early when its caller is gone."""

    def __init__(self, state: DriverState) -> None:
        self._state = state

    def GetMetadataAllocated(
        self, request: pb.GetMetadataAllocatedRequest, call: Call
    ) -> Iterator[pb.GetMetadataAllocatedResponse]:
        """Blocks with data."""
        stream = self._state.metadata.allocated(
            request.snapshot_id, request.starting_offset, request.max_results, request.secrets
        )
        for blocks in stream:
            if call.cancelled():
                return
            yield pb.GetMetadataAllocatedResponse(
                block_metadata_type=pb.BlockMetadataType.Value(blocks.type),
                volume_capacity_bytes=blocks.capacity,
                block_metadata=_entries(blocks),
            )

    def GetMetadataDelta(
        self, request: pb.GetMetadataDeltaRequest, call: Call
    ) -> Iterator[pb.GetMetadataDeltaResponse]:
        """Blocks that differ between two snapshots."""
        stream = self._state.metadata.delta(
            request.base_snapshot_id,
            request.target_snapshot_id,
            request.starting_offset,
            request.max_results,
            request.secrets,
        )
        for blocks in stream:
            if call.cancelled():
                return
            yield pb.GetMetadataDeltaResponse(
                block_metadata_type=pb.BlockMetadataType.Value(blocks.type),
                volume_capacity_bytes=blocks.capacity,
                block_metadata=_entries(blocks),
            )


def _entries(blocks: Blocks) -> list[pb.BlockMetadata]:
    return [
        pb.BlockMetadata(byte_offset=offset, size_bytes=size) for offset, size in blocks.extents
    ]
