"""Blocks of snapshots."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refimpl.csi.state.ports import NoStorage
from refimpl.csi.state.settings import DriverSettings
from refimpl.csi.state.snapshots.metadata import shape
from refimpl.wire.status import Code

BLOCK = 4096
SIZE = 10 * BLOCK + 512
FIXED = DriverSettings(metadata_type="FIXED_LENGTH", metadata_block=BLOCK)
VARIABLE = DriverSettings()


class Written(NoStorage):
    """A storage whose snapshots hold these extents."""

    def __init__(self, *extents: tuple[int, int]) -> None:
        self.extents = extents

    def allocated(self, key: str) -> tuple[tuple[int, int], ...]:
        return self.extents

    def changed(self, base: str, target: str) -> tuple[tuple[int, int], ...]:
        return () if base == target else self.extents


def block_snapshots(desk: Any, count: int = 1) -> list[str]:
    volume = desk.volume("a", SIZE, capabilities=(desk.block(),))
    ids = []
    for number in range(count):
        desk.clock.now += 1
        ids.append(desk.snapshot(volume, f"s{number}").id)
    return ids


def extents_of(messages: Any) -> list[tuple[int, int]]:
    return [extent for message in messages for extent in message.extents]


@pytest.mark.parametrize(
    ("settings", "extents", "reported"),
    [
        (VARIABLE, [(0, 10), (10, 5), (20, 1)], [(0, 15), (20, 1)]),
        (VARIABLE, [(5, 0), (SIZE - 1, 50)], [(SIZE - 1, 1)]),
        (VARIABLE, [(0, 5), (SIZE, 50)], [(0, 5)]),
        (VARIABLE, [], []),
        (FIXED, [(10, 1), (20, 1)], [(0, BLOCK)]),
        (FIXED, [(0, 1), (BLOCK - 1, 2)], [(0, BLOCK), (BLOCK, BLOCK)]),
        (FIXED, [(SIZE - 1, 1)], [(10 * BLOCK, BLOCK)]),
        (FIXED, [(SIZE + BLOCK, 1)], []),
    ],
)
def test_extents_take_the_shape_of_the_driver(
    settings: DriverSettings, extents: list[tuple[int, int]], reported: list[tuple[int, int]]
) -> None:
    """Neighbours are joined, blocks are whole, nothing lies behind the volume."""
    assert list(shape(settings, extents, SIZE)) == reported


WRITES = st.lists(st.tuples(st.integers(0, SIZE), st.integers(1, 3 * BLOCK)), max_size=8)


@given(WRITES, st.sampled_from([FIXED, VARIABLE]))
def test_whatever_was_written_is_covered(
    writes: list[tuple[int, int]], settings: DriverSettings
) -> None:
    """In rising order, apart, of one size where fixed (CSI-PROP-009)."""
    extents = sorted(writes)
    reported = list(shape(settings, extents, SIZE))
    ends = [offset + size for offset, size in reported]
    assert all(end <= begin for end, (begin, _) in zip(ends, reported[1:], strict=False))
    assert all(size > 0 for _, size in reported)
    if settings is FIXED:
        assert {size for _, size in reported} <= {BLOCK}
    else:
        assert not ends or ends[-1] <= SIZE
    for offset, size in writes:
        for byte in (offset, min(offset + size, SIZE) - 1):
            covered = any(begin <= byte < begin + length for begin, length in reported)
            assert covered or offset >= SIZE


def test_a_stream_comes_in_messages_of_the_size_asked(open_desk: Any) -> None:
    """Type and capacity are the same in all of them."""
    desk = open_desk(storage=Written((0, 1), (BLOCK, 1), (3 * BLOCK, 1)))
    (snapshot,) = block_snapshots(desk)
    messages = list(desk.state.metadata.allocated(snapshot, 0, 2, {}))
    assert [len(message.extents) for message in messages] == [2, 1]
    assert {(message.type, message.capacity) for message in messages} == {("VARIABLE_LENGTH", SIZE)}
    assert len(list(desk.state.metadata.allocated(snapshot, 0, 0, {}))) == 1


@pytest.mark.parametrize("kind", ["VARIABLE_LENGTH", "FIXED_LENGTH"])
def test_a_stream_can_be_resumed_behind_any_entry(open_desk: Any, kind: str) -> None:
    """Also behind the last one, which may reach beyond the volume."""
    storage = Written((0, 1), (BLOCK, 2 * BLOCK), (SIZE - 1, 1))
    desk = open_desk(storage=storage, metadata_type=kind)
    (snapshot,) = block_snapshots(desk)
    everything = extents_of(desk.state.metadata.allocated(snapshot, 0, 0, {}))
    assert everything
    for index, (offset, size) in enumerate(everything):
        remaining = extents_of(desk.state.metadata.allocated(snapshot, offset + size, 1, {}))
        assert remaining == everything[index + 1 :]
        # From within an entry: the first one told ends behind the start.
        within = min(offset + size, SIZE) - 1
        inside = extents_of(desk.state.metadata.allocated(snapshot, within, 1, {}))
        assert inside == everything[index:]


def test_an_untouched_volume_has_one_empty_message(desk: Any) -> None:
    """It still tells type and capacity."""
    (snapshot,) = block_snapshots(desk)
    (message,) = desk.state.metadata.allocated(snapshot, 0, 0, {})
    assert (message.capacity, message.extents) == (SIZE, ())


@pytest.mark.parametrize(
    ("start", "most", "code"),
    [
        (-1, 0, Code.OUT_OF_RANGE),
        (SIZE + 1, 0, Code.OUT_OF_RANGE),
        (0, -1, Code.INVALID_ARGUMENT),
    ],
)
@pytest.mark.parametrize("kind", ["VARIABLE_LENGTH", "FIXED_LENGTH"])
def test_positions_outside_of_the_volume_are_refused(
    open_desk: Any, start: int, most: int, code: Code, kind: str, refused: Any
) -> None:
    """At once, before the first message."""
    desk = open_desk(metadata_type=kind)
    base, target = block_snapshots(desk, 2)
    with refused(code):
        desk.state.metadata.allocated(target, start, most, {})
    with refused(code):
        desk.state.metadata.delta(base, target, start, most, {})


def test_snapshots_have_to_exist_and_to_be_of_devices(desk: Any, refused: Any) -> None:
    """A file system has no blocks to tell of."""
    files = desk.snapshot(desk.volume("files"), "files").id
    with refused(Code.INVALID_ARGUMENT, "snapshot_id"):
        desk.state.metadata.allocated("", 0, 0, {})
    with refused(Code.NOT_FOUND):
        desk.state.metadata.allocated("none", 0, 0, {})
    with refused(Code.INVALID_ARGUMENT, "file system"):
        desk.state.metadata.allocated(files, 0, 0, {})


def test_a_delta_is_one_of_two_snapshots_of_one_volume(open_desk: Any, refused: Any) -> None:
    """The older one first; the volume itself may be gone."""
    desk = open_desk(storage=Written((0, 1)))
    base, target = block_snapshots(desk, 2)
    delta = desk.state.metadata.delta
    assert extents_of(delta(base, target, 0, 0, {})) == [(0, 1)]
    assert extents_of(delta(base, base, 0, 0, {})) == []
    with refused(Code.INVALID_ARGUMENT, "younger"):
        delta(target, base, 0, 0, {})
    other_volume = desk.volume("other", SIZE, capabilities=(desk.block(),))
    with refused(Code.INVALID_ARGUMENT, "different volumes"):
        delta(base, desk.snapshot(other_volume, "other").id, 0, 0, {})
    for ids in (("", target), (base, "")):
        with refused(Code.INVALID_ARGUMENT, "snapshot_id"):
            delta(*ids, 0, 0, {})
    with refused(Code.NOT_FOUND):
        delta(base, "none", 0, 0, {})
    desk.state.volumes.delete(desk.volume("a", SIZE, capabilities=(desk.block(),)).id, {})
    assert extents_of(delta(base, target, 0, 0, {})) == [(0, 1)]


def test_changes_may_be_untracked(open_desk: Any, refused: Any) -> None:
    """FAILED_PRECONDITION, and the caller falls back to what is allocated."""
    desk = open_desk(changed_blocks=False)
    base, target = block_snapshots(desk, 2)
    with refused(Code.FAILED_PRECONDITION, "GetMetadataAllocated"):
        desk.state.metadata.delta(base, target, 0, 0, {})
    assert list(desk.state.metadata.allocated(target, 0, 0, {}))
