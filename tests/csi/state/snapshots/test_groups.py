"""Group snapshots."""

from __future__ import annotations

from typing import Any

import pytest

from refimpl.csi.state.models import ContentSource
from refimpl.csi.state.ports import NoStorage
from refimpl.wire.status import Code, Refused

MIB = 1 << 20


def group(desk: Any, *names: str, name: str = "g", parameters: Any = None) -> Any:
    """A group of volumes, which are made where they do not exist yet."""
    ids = [desk.volume(volume_name).id for volume_name in names]
    return desk.state.groups.create(name, ids, parameters or {}, {})


def members(created: Any) -> list[str]:
    return [member.id for member in created.members]


def test_all_members_are_cut_at_one_moment(desk: Any) -> None:
    """And are snapshots like others, but for the id of their group."""
    created = group(desk, "a", "b", "c")
    assert {member.group_id for member in created.members} == {created.id}
    assert {member.created for member in created.members} == {created.created}
    assert [member.source_id for member in created.members] == list(created.source_ids)
    page = desk.state.snapshots.list("", 0, "", "", {})
    assert page.entries == list(created.members)
    restored = desk.volume("r", source=ContentSource("snapshot", created.members[1].id))
    assert restored.source.id == created.members[1].id


def test_a_repeated_create_returns_the_same_group(desk: Any) -> None:
    """The order of the volumes does not matter."""
    created = group(desk, "a", "b")
    assert group(desk, "a", "b") == created
    assert group(desk, "b", "a") == created
    assert len(desk.state.tables.snapshots) == 2


@pytest.mark.parametrize(
    ("names", "parameters"), [(("a", "c"), {}), (("a",), {}), (("a", "b"), {"k": "v"})]
)
def test_a_name_taken_by_another_group_is_refused(
    desk: Any, names: tuple[str, ...], parameters: dict[str, str], refused: Any
) -> None:
    """Other volumes, fewer, or other parameters."""
    created = group(desk, "a", "b")
    with refused(Code.ALREADY_EXISTS, created.id):
        group(desk, *names, parameters=parameters)
    assert members(created) == list(desk.state.tables.snapshots)


@pytest.mark.parametrize(
    ("name", "ids", "code"),
    [
        ("", ["v"], Code.INVALID_ARGUMENT),
        ("g", [], Code.INVALID_ARGUMENT),
        ("g", [""], Code.INVALID_ARGUMENT),
        ("g", ["v", "v"], Code.INVALID_ARGUMENT),
        ("g", ["v", "none"], Code.NOT_FOUND),
    ],
)
def test_bad_requests_leak_no_member(
    desk: Any, name: str, ids: list[str], code: Code, refused: Any
) -> None:
    """All or none."""
    volume = desk.volume("a")
    with refused(code):
        desk.state.groups.create(
            name, [volume.id if volume_name == "v" else volume_name for volume_name in ids], {}, {}
        )
    assert desk.state.tables.snapshots == {}


def test_volumes_of_two_pools_are_not_cut_together(open_desk: Any, refused: Any) -> None:
    """Unless the driver can."""
    for scope in ("pool", "any"):
        desk = open_desk(group_scope=scope)
        ids = [desk.volume("a").id, desk.volume("b", parameters={"kind": "fast"}).id]
        if scope == "pool":
            with refused(Code.FAILED_PRECONDITION, "fast"):
                desk.state.groups.create("g", ids, {}, {})
        else:
            assert len(desk.state.groups.create("g", ids, {}, {}).members) == 2


def test_room_for_some_members_is_not_enough(open_desk: Any, refused: Any) -> None:
    """And none of it stays taken."""
    desk = open_desk(pools={"default": 3 * MIB})
    with refused(Code.RESOURCE_EXHAUSTED):
        group(desk, "a", "b")
    assert desk.state.tables.snapshots == {}
    assert desk.state.tables.charged["default", ""] == 2 * MIB


def test_a_cut_that_fails_halfway_leaves_nothing(open_desk: Any, refused: Any) -> None:
    """The members that were kept already are taken away."""

    class Failing(NoStorage):
        def __init__(self) -> None:
            self.kept: list[str] = []

        def snapshot(self, key: str, source: str) -> None:
            if self.kept:
                raise Refused(Code.INTERNAL, "the disk is broken")
            self.kept.append(key)

        def destroy(self, key: str) -> None:
            if key in self.kept:
                self.kept.remove(key)

    storage = Failing()
    desk = open_desk(storage=storage)
    with refused(Code.INTERNAL):
        group(desk, "a", "b")
    assert storage.kept == []
    assert desk.state.tables.snapshots == {}
    assert desk.state.tables.charged["default", ""] == 2 * MIB


def test_a_group_is_got_with_its_members_named(desk: Any, refused: Any) -> None:
    """An unknown group is told before the list of members is looked at."""
    created = group(desk, "a", "b")
    get = desk.state.groups.get
    assert get(created.id, members(created)[::-1], {}) == created
    with refused(Code.NOT_FOUND, "'none'"):
        get("none", [], {})
    for ids in ([], members(created)[:1], ["x", "y"]):
        with refused(Code.INVALID_ARGUMENT, "snapshot_ids"):
            get(created.id, ids, {})
    with refused(Code.INVALID_ARGUMENT, "group_snapshot_id"):
        get("", members(created), {})


def test_deleting_takes_all_members(desk: Any, refused: Any) -> None:
    """It may be repeated, and frees the name."""
    created = group(desk, "a", "b")
    for ids in ([], members(created)[:1]):
        with refused(Code.INVALID_ARGUMENT):
            desk.state.groups.delete(created.id, ids, {})
    for group_id in (created.id, created.id, "never"):
        desk.state.groups.delete(group_id, members(created), {})
    desk.state.groups.delete("never", [], {})
    assert desk.state.tables.snapshots == {}
    assert group(desk, "a", "b").id != created.id
    with refused(Code.INVALID_ARGUMENT):
        desk.state.groups.delete("", [], {})


def test_a_group_in_use_may_be_kept(open_desk: Any, refused: Any) -> None:
    """One restored member is enough; then all members stay."""
    desk = open_desk(delete_with_copies="refuse")
    created = group(desk, "a", "b")
    desk.volume("r", source=ContentSource("snapshot", created.members[1].id))
    with refused(Code.FAILED_PRECONDITION, created.members[1].id):
        desk.state.groups.delete(created.id, members(created), {})
    assert desk.state.groups.get(created.id, members(created), {}) == created


def test_a_member_is_deleted_with_its_group_only(open_desk: Any, refused: Any) -> None:
    """Unless the driver takes single ones; the group ends with its last."""
    desk = open_desk()
    created = group(desk, "a", "b")
    with refused(Code.INVALID_ARGUMENT, created.id):
        desk.state.snapshots.delete(created.members[0].id, {})
    desk = open_desk(delete_member="allow")
    created = group(desk, "a", "b")
    desk.state.snapshots.delete(created.members[0].id, {})
    assert (
        desk.state.groups.get(created.id, members(created)[1:], {}).members == created.members[1:]
    )
    desk.state.snapshots.delete(created.members[1].id, {})
    with refused(Code.NOT_FOUND):
        desk.state.groups.get(created.id, [], {})
    assert desk.state.tables.snapshots == {}


def test_members_do_not_take_names_of_snapshots(desk: Any) -> None:
    """A user's snapshot may be called as the group is."""
    created = group(desk, "a")
    snapshot = desk.snapshot(desk.volume("a"), "g")
    assert snapshot.id not in members(created)


def test_a_group_is_written_down_at_one_stroke(desk: Any) -> None:
    """A crash between two members would leave a part of the group."""
    created = group(desk, "a", "b")
    desk.state.groups.delete(created.id, members(created), {})
    kinds = [(kind, record is None) for kind, _, record in desk.changes if kind != "volume"]
    assert kinds == [("group", False), ("group", True)]
