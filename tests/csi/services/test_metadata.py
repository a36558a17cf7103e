"""The SnapshotMetadata service."""

from __future__ import annotations

from typing import Any

import attrs

from refimpl.csi.api import csi_pb2 as pb
from refimpl.csi.state.ports import NoStorage
from refimpl.wire.status import Code


class Written(NoStorage):
    """Three blocks in every snapshot."""

    def allocated(self, key: str) -> Any:
        return ((0, 10), (100, 10), (200, 10))

    def changed(self, base: str, target: str) -> Any:
        return ((100, 10), (200, 10))


def test_blocks_come_in_messages_of_the_size_asked(serve: Any, call: Any) -> None:
    """Each with type and capacity."""
    served = serve(storage=Written())
    snapshot = served.snapshot(served.volume(block=True))
    request = pb.GetMetadataAllocatedRequest(
        snapshot_id=snapshot.snapshot_id, starting_offset=5, max_results=2
    )
    first, second = served.metadata.GetMetadataAllocated(request, call)
    assert [block.byte_offset for block in first.block_metadata] == [0, 100]
    assert second.block_metadata[0].size_bytes == 10
    assert first.block_metadata_type == pb.VARIABLE_LENGTH
    assert first.volume_capacity_bytes == second.volume_capacity_bytes == 1 << 20


def test_a_delta_names_two_snapshots(serve: Any, call: Any) -> None:
    """In their order."""
    served = serve(storage=Written())
    volume = served.volume(block=True)
    base, target = (served.snapshot(volume, name).snapshot_id for name in "st")
    request = pb.GetMetadataDeltaRequest(
        base_snapshot_id=base, target_snapshot_id=target, starting_offset=150
    )
    (message,) = served.metadata.GetMetadataDelta(request, call)
    assert [block.byte_offset for block in message.block_metadata] == [200]


def test_a_stream_ends_when_its_caller_is_gone(serve: Any, call: Any) -> None:
    """A thread that goes on for nobody is lost to the others."""
    served = serve(storage=Written())
    volume = served.volume(block=True)
    base, target = (served.snapshot(volume, name).snapshot_id for name in "st")
    caller = attrs.evolve(call, gone_after=1)
    request = pb.GetMetadataAllocatedRequest(snapshot_id=base, max_results=1)
    assert len(list(served.metadata.GetMetadataAllocated(request, caller))) == 1
    caller = attrs.evolve(call, gone_after=1)
    delta = pb.GetMetadataDeltaRequest(
        base_snapshot_id=base, target_snapshot_id=target, max_results=1
    )
    assert len(list(served.metadata.GetMetadataDelta(delta, caller))) == 1


def test_a_refusal_comes_before_the_first_message(served: Any, call: Any, refused: Any) -> None:
    """The status of the stream, not an exception in its middle."""
    request = pb.GetMetadataAllocatedRequest(snapshot_id="none")
    with refused(Code.NOT_FOUND):
        next(served.metadata.GetMetadataAllocated(request, call))
