"""CreateSnapshot, DeleteSnapshot, ListSnapshots, GetSnapshot."""

from __future__ import annotations

from typing import Any

import pytest

from refimpl.csi.state.models import ContentSource, TopologyRequirement
from refimpl.csi.state.ports import NoStorage
from refimpl.csi.state.snapshots.snapshots import ready
from refimpl.wire.status import Code, Refused

MIB = 1 << 20


def listed(desk: Any, source_id: str = "", snapshot_id: str = "", **more: Any) -> list[str]:
    page = desk.state.snapshots.list(
        more.get("token", ""), more.get("most", 0), source_id, snapshot_id, {}
    )
    return [snapshot.id for snapshot in page.entries]


def test_a_snapshot_tells_of_the_moment_of_its_cut(desk: Any) -> None:
    """Its size and time are those of the cut, whatever happens to the volume later."""
    volume = desk.volume()
    snapshot = desk.snapshot(volume)
    desk.clock.now += 100
    assert (snapshot.source_id, snapshot.size, snapshot.created) == (volume.id, MIB, 1000.0)
    assert desk.snapshot(volume) == snapshot


def test_a_name_belongs_to_one_volume(desk: Any, refused: Any) -> None:
    """The same name for another source would answer with the wrong data."""
    a, b = desk.volume("a"), desk.volume("b")
    snapshot = desk.snapshot(a)
    with refused(Code.ALREADY_EXISTS, snapshot.id, a.id):
        desk.snapshot(b)


@pytest.mark.parametrize(
    ("source", "name", "parameters", "code"),
    [
        ("", "s", {}, Code.INVALID_ARGUMENT),
        ("v", "", {}, Code.INVALID_ARGUMENT),
        ("v", "s\0", {}, Code.INVALID_ARGUMENT),
        ("v", "s", {"k": "v" * 5000}, Code.INVALID_ARGUMENT),
        ("none", "s", {}, Code.NOT_FOUND),
    ],
)
def test_bad_requests_leave_no_snapshot(
    desk: Any, source: str, name: str, parameters: dict[str, str], code: Code, refused: Any
) -> None:
    """An unknown source has no row in the specification; NOT_FOUND is what all do."""
    volume = desk.volume()
    with refused(code):
        desk.state.snapshots.create(
            volume.id if source == "v" else source, name, parameters, None, {}
        )
    assert listed(desk) == []


def test_a_snapshot_becomes_ready_and_stays_so(open_desk: Any) -> None:
    """Cut at once, processed later; the caller polls."""
    desk = open_desk(snapshot_delay=10.0)
    volume = desk.volume()
    snapshot = desk.snapshot(volume)
    assert not ready(desk.state.tables, snapshot)
    assert listed(desk) == [snapshot.id]
    assert desk.state.snapshots.get(snapshot.id, {}) == snapshot
    desk.clock.now += 10
    assert ready(desk.state.tables, desk.snapshot(volume))


def test_a_snapshot_outlives_its_volume(desk: Any) -> None:
    """And can still be restored, at exactly its size."""
    volume = desk.volume()
    snapshot = desk.snapshot(volume)
    desk.state.changes.expand(volume.id, desk.request(size=2 * MIB).capacity, None, {})
    desk.state.volumes.delete(volume.id, {})
    assert listed(desk, volume.id) == [snapshot.id]
    assert desk.volume("b", MIB, source=ContentSource("snapshot", snapshot.id)).capacity == MIB


def test_filters_pick_what_they_name(desk: Any) -> None:
    """A filter that matches nothing is no error."""
    a, b = desk.volume("a"), desk.volume("b")
    of_a = [desk.snapshot(a, name).id for name in ("s1", "s2", "s3")]
    of_b = [desk.snapshot(b, "s4").id]
    assert listed(desk) == of_a + of_b
    assert listed(desk, a.id) == of_a
    assert listed(desk, snapshot_id=of_b[0]) == of_b
    assert listed(desk, a.id, of_a[1]) == [of_a[1]]
    assert listed(desk, a.id, of_b[0]) == []
    assert listed(desk, "none") == listed(desk, snapshot_id="none") == []
    assert listed(desk, a.id, most=2) == of_a[:2]


def test_a_filtered_walk_goes_on_where_it_was(desk: Any) -> None:
    """Tokens work with filters, too."""
    volume = desk.volume()
    ids = [desk.snapshot(volume, name).id for name in "xyz"]
    page = desk.state.snapshots.list("", 1, volume.id, "", {})
    assert listed(desk, volume.id, token=page.next_token) == ids[1:]


def test_deleting_is_repeatable(desk: Any, refused: Any) -> None:
    """And frees the name."""
    volume = desk.volume()
    snapshot = desk.snapshot(volume)
    for snapshot_id in (snapshot.id, snapshot.id, "never", volume.id):
        desk.state.snapshots.delete(snapshot_id, {})
    assert listed(desk) == listed(desk, volume.id) == []
    with refused(Code.NOT_FOUND):
        desk.state.snapshots.get(snapshot.id, {})
    with refused(Code.NOT_FOUND):
        desk.volume("b", source=ContentSource("snapshot", snapshot.id))
    assert desk.snapshot(volume).id != snapshot.id
    for bad in (desk.state.snapshots.delete, desk.state.snapshots.get):
        with refused(Code.INVALID_ARGUMENT, "snapshot_id"):
            bad("", {})


def test_a_restored_snapshot_may_be_kept_or_not(open_desk: Any, refused: Any) -> None:
    """Both policies exist among drivers."""
    for policy in ("allow", "refuse"):
        desk = open_desk(delete_with_copies=policy)
        snapshot = desk.snapshot(desk.volume("a"))
        restored = desk.volume("b", source=ContentSource("snapshot", snapshot.id))
        if policy == "refuse":
            with refused(Code.FAILED_PRECONDITION, "1 volumes"):
                desk.state.snapshots.delete(snapshot.id, {})
            desk.state.volumes.delete(restored.id, {})
        desk.state.snapshots.delete(snapshot.id, {})
        assert listed(desk) == []


def test_no_room_no_snapshot(open_desk: Any, refused: Any) -> None:
    """RESOURCE_EXHAUSTED, number 8, in both revisions."""
    desk = open_desk(pools={"default": MIB}, revision="1.12")
    volume = desk.volume()
    with refused(Code.RESOURCE_EXHAUSTED):
        desk.snapshot(volume)
    assert listed(desk) == []


def test_a_failed_cut_leaves_nothing(open_desk: Any, refused: Any) -> None:
    """Neither content nor record nor room."""

    class Failing(NoStorage):
        def __init__(self) -> None:
            self.destroyed: list[str] = []

        def snapshot(self, key: str, source: str) -> None:
            raise Refused(Code.INTERNAL, "the disk is broken")

        def destroy(self, key: str) -> None:
            self.destroyed.append(key)

    storage = Failing()
    desk = open_desk(storage=storage)
    volume = desk.volume()
    with refused(Code.INTERNAL):
        desk.snapshot(volume)
    assert len(storage.destroyed) == 1
    assert listed(desk) == []
    assert desk.state.tables.charged["default", ""] == MIB


def test_a_snapshot_has_to_be_usable_where_it_is_required(desk: Any, refused: Any) -> None:
    """Everywhere by default: then only unknown places are out of reach."""
    volume = desk.volume()
    with refused(Code.RESOURCE_EXHAUSTED):
        desk.snapshot(volume, requirement=desk.require("zone-z"))
    assert listed(desk) == []
    snapshot = desk.snapshot(volume, requirement=desk.require("zone-b"))
    assert snapshot.topology == ()
    assert desk.snapshot(volume, requirement=desk.require("zone-a")) == snapshot
    with refused(Code.ALREADY_EXISTS, "not usable"):
        desk.snapshot(volume, requirement=desk.require("zone-z"))
    with refused(Code.INVALID_ARGUMENT, "neither"):
        desk.snapshot(volume, requirement=TopologyRequirement())


def test_a_zonal_snapshot_stays_with_its_volume(open_desk: Any, refused: Any) -> None:
    """It tells where it is, and can be restored only there."""
    desk = open_desk(snapshot_zones="source")
    volume = desk.volume(requirement=desk.require("zone-b"))
    with refused(Code.RESOURCE_EXHAUSTED):
        desk.snapshot(volume, requirement=desk.require("zone-a"))
    snapshot = desk.snapshot(volume, requirement=desk.require("zone-a", "zone-b"))
    assert snapshot.topology == (desk.zone("zone-b"),)
    source = ContentSource("snapshot", snapshot.id)
    assert desk.volume("b", source=source).topology == snapshot.topology
    with refused(Code.RESOURCE_EXHAUSTED):
        desk.volume("c", source=source, requirement=desk.require("zone-a"))


def test_the_requirement_is_a_field_of_1_13(open_desk: Any, refused: Any) -> None:
    """A driver of 1.12 cannot see it; one of 1.13 without the capability refuses it."""
    old = open_desk(revision="1.12")
    assert old.snapshot(old.volume(), requirement=old.require("zone-z")).topology == ()
    bare = open_desk(without=("SNAPSHOT_ACCESSIBILITY_CONSTRAINTS",))
    with refused(Code.INVALID_ARGUMENT, "SNAPSHOT_ACCESSIBILITY_CONSTRAINTS"):
        bare.snapshot(bare.volume(), requirement=bare.require("zone-a"))
