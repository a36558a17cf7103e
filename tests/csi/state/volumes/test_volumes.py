"""CreateVolume and DeleteVolume."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from refimpl.csi.state.models import AccessMode, CapacityRange, ContentSource, Staging
from refimpl.csi.state.ports import NoStorage
from refimpl.wire.status import Code, Refused

MIB = 1 << 20
SNAPSHOT = "CREATE_DELETE_SNAPSHOT"


class Recording(NoStorage):
    """A storage that remembers what it was told, and fails on demand."""

    def __init__(self) -> None:
        self.calls: list[tuple[object, ...]] = []
        self.broken = False

    def provision(self, key: str, access: Any, size: int, source: str | None) -> None:
        self.calls.append(("provision", key, access, size, source))
        if self.broken:
            raise Refused(Code.INTERNAL, "the disk is broken")

    def snapshot(self, key: str, source: str) -> None:
        self.calls.append(("snapshot", key, source))
        if self.broken:
            raise Refused(Code.INTERNAL, "the disk is broken")

    def destroy(self, key: str) -> None:
        self.calls.append(("destroy", key))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": ""}, "name"),
        ({"capabilities": ()}, "volume_capabilities is empty"),
        ({"capacity": CapacityRange(2, 1)}, "capacity_range"),
        ({"capacity": CapacityRange(0, 0)}, "capacity_range"),
        ({"parameters": {"k": "v" * 5000}}, "parameters"),
        ({"parameters": {"kind": "gold"}}, "kind"),
        ({"mutable_parameters": {"colour": "red"}}, "'colour'"),
        ({"mutable_parameters": {"iops": "-5"}}, "'iops'"),
        ({"source": ContentSource("", "")}, "volume_content_source"),  # type: ignore[arg-type]
        ({"source": ContentSource("snapshot", "")}, "snapshot_id"),
        ({"secrets": {"bad key": "x"}}, "secrets"),
    ],
)
def test_a_bad_field_is_refused_and_nothing_is_made(
    desk: Any, change: dict[str, Any], message: str, refused: Any
) -> None:
    """Each field has its rule; after an error the driver is as it was."""
    with refused(Code.INVALID_ARGUMENT, message):
        desk.state.volumes.create(attrs.evolve(desk.request(), **change))
    assert desk.ids() == []
    assert desk.changes == []


def test_one_unsupported_capability_spoils_the_list(open_desk: Any, refused: Any) -> None:
    """The volume has to satisfy all of them."""
    desk = open_desk(modes=frozenset({AccessMode.SINGLE_NODE_WRITER}))
    capabilities = (desk.mount(), desk.mount(AccessMode.MULTI_NODE_MULTI_WRITER))
    with refused(Code.INVALID_ARGUMENT, "MULTI_NODE_MULTI_WRITER"):
        desk.volume(capabilities=capabilities)


def test_several_supported_modes_make_one_volume(desk: Any) -> None:
    """Each of them can be used afterwards."""
    modes = (AccessMode.MULTI_NODE_READER_ONLY, AccessMode.SINGLE_NODE_WRITER)
    volume = desk.volume(capabilities=tuple(desk.mount(mode) for mode in modes))
    assert volume.modes == modes


def test_one_volume_is_not_both_file_system_and_device(desk: Any, refused: Any) -> None:
    """Nor has it two file systems."""
    with refused(Code.INVALID_ARGUMENT, "block and mount"):
        desk.volume(capabilities=(desk.mount(), desk.block()))
    with refused(Code.INVALID_ARGUMENT, "several file systems"):
        desk.volume(capabilities=(desk.mount(fs_type="xfs"), desk.mount(fs_type="ext4")))


def test_a_repeated_create_returns_the_same_volume(desk: Any) -> None:
    """An orchestrator that lost the first answer asks again; a second volume would leak."""
    first = desk.volume()
    assert desk.volume() == first
    assert desk.ids() == [first.id]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({}, {"size": 2 * MIB}),
        ({}, {"capabilities": "block"}),
        ({}, {"capabilities": "shared"}),
        ({}, {"capabilities": "xfs"}),
        ({"parameters": {"x": "1"}}, {"parameters": {"x": "2"}}),
        ({"parameters": {"x": "1"}}, {}),
        ({"mutable_parameters": {"iops": "1"}}, {"mutable_parameters": {"iops": "2"}}),
        ({}, {"requirement": "zone-b"}),
    ],
)
def test_a_name_taken_by_another_volume_is_refused(
    desk: Any, first: dict[str, Any], second: dict[str, Any], refused: Any
) -> None:
    """ALREADY_EXISTS for whatever the existing volume does not satisfy."""
    kinds = {
        "block": (desk.block(),),
        "shared": (desk.mount(AccessMode.MULTI_NODE_MULTI_WRITER),),
        "xfs": (desk.mount(fs_type="xfs"),),
    }
    created = desk.volume(**first)
    if "capabilities" in second:
        second = {**second, "capabilities": kinds[second["capabilities"]]}
    if "requirement" in second:
        second = {**second, "requirement": desk.require(second["requirement"])}
    with refused(Code.ALREADY_EXISTS, created.id):
        desk.volume(**second)
    assert desk.state.tables.volumes[created.id] == created


@pytest.mark.parametrize(
    "second",
    [
        {"capacity": CapacityRange(MIB - 1, MIB + 1)},
        {"capacity": CapacityRange(0, MIB)},
        {"capacity": None},
        {"secrets": {"other": "secret"}},
        {"capabilities": "reader"},
        {"parameters": {}, "mutable_parameters": {"iops": "7"}},
    ],
)
def test_a_request_the_volume_satisfies_is_no_conflict(desk: Any, second: dict[str, Any]) -> None:
    """Ranges that contain its size, modes it covers, the same effective parameters."""
    created = desk.volume(parameters={"iops": "7"}, mutable_parameters={})
    if second.get("capabilities"):
        second = {"capabilities": (desk.mount(AccessMode.SINGLE_NODE_READER_ONLY),)}
    second.setdefault("parameters", {"iops": "7"})
    assert desk.volume(**second) == created


def test_mutable_parameters_win_over_parameters(desk: Any) -> None:
    """A VolumeAttributesClass overrides its StorageClass."""
    volume = desk.volume(parameters={"iops": "1", "kind": "fast"}, mutable_parameters={"iops": "2"})
    assert volume.parameters == {"iops": "2", "kind": "fast"}
    assert volume.mutable == {"iops": "2"}
    assert volume.context == {"kind": "fast"}


def test_names_are_compared_byte_by_byte(desk: Any) -> None:
    """Cutting, folding or normalising would make one volume of two."""
    names = ["x" * 127 + "1", "x" * 127 + "2", "a/b", "a%2Fb", "..", "A", "a", "\u00fc", "u\u0308"]
    assert len({desk.volume(name).id for name in names}) == len(names)


def test_accepted_parameters_may_be_limited(open_desk: Any, refused: Any) -> None:
    """Some drivers refuse what they do not know."""
    desk = open_desk(accepted_parameters=frozenset({"kind"}))
    assert desk.volume(parameters={"kind": "fast"}).pool == ("fast", "")
    with refused(Code.INVALID_ARGUMENT, "'colour'"):
        desk.volume("b", parameters={"colour": "red"})


@pytest.mark.parametrize(
    ("dropped", "change", "message"),
    [
        ("MODIFY_VOLUME", {"mutable_parameters": {"iops": "1"}}, "MODIFY_VOLUME"),
        ("CLONE_VOLUME", {"source": ContentSource("volume", "v")}, "CLONE_VOLUME"),
        (SNAPSHOT, {"source": ContentSource("snapshot", "s")}, SNAPSHOT),
    ],
)
def test_fields_of_an_absent_capability_are_refused(
    open_desk: Any, dropped: str, change: dict[str, Any], message: str, refused: Any
) -> None:
    """The caller sent what it may not send."""
    desk = open_desk(without=(dropped,))
    with refused(Code.INVALID_ARGUMENT, message):
        desk.volume(**change)


def test_without_topology_no_requirement_may_be_sent(open_desk: Any, refused: Any) -> None:
    """And volumes tell of no place."""
    desk = open_desk(without=("VOLUME_ACCESSIBILITY_CONSTRAINTS",))
    assert desk.volume().topology == ()
    with refused(Code.INVALID_ARGUMENT, "VOLUME_ACCESSIBILITY_CONSTRAINTS"):
        desk.volume("b", requirement=desk.require("zone-a"))


def test_a_volume_is_where_it_is_required(desk: Any, refused: Any) -> None:
    """Or not at all."""
    assert desk.volume("a").topology == (desk.zone("zone-a"),)
    assert desk.volume("b", requirement=desk.require("zone-b")).topology == (desk.zone("zone-b"),)
    with refused(Code.RESOURCE_EXHAUSTED, "zone-a"):
        desk.volume("c", requirement=desk.require("zone-z"))


def test_a_zone_without_room_is_passed_over(open_desk: Any, refused: Any) -> None:
    """Zonal pools: the next zone that may be used takes the volume."""
    desk = open_desk(pool_per_zone=True, pools={"default": MIB})
    assert desk.volume("a").pool == ("default", "zone-a")
    assert desk.volume("b").pool == ("default", "zone-b")
    with refused(Code.RESOURCE_EXHAUSTED):
        desk.volume("c")


def test_a_full_pool_is_exhausted_until_something_is_deleted(open_desk: Any, refused: Any) -> None:
    """The sum of what exists may not pass the pool."""
    desk = open_desk(pools={"default": 3 * MIB})
    volumes = [desk.volume(name) for name in "abc"]
    with refused(Code.RESOURCE_EXHAUSTED, "0 left"):
        desk.volume("d")
    desk.state.volumes.delete(volumes[0].id, {})
    assert desk.volume("d").capacity == MIB


def test_a_clone_copies_and_a_thin_volume_does_not(open_desk: Any) -> None:
    """Nothing is provisioned before it is used, but a copy has to be made when it is asked for."""
    storage = Recording()
    desk = open_desk(storage=storage)
    source = desk.volume("a")
    assert storage.calls == []
    clone = desk.volume("b", 2 * MIB, source=ContentSource("volume", source.id))
    assert storage.calls == [("provision", clone.id, "mount", 2 * MIB, source.id)]
    assert clone.source == ContentSource("volume", source.id)
    assert desk.volume("b", 2 * MIB, source=ContentSource("volume", source.id)) == clone


def test_a_failed_copy_leaves_nothing(open_desk: Any, refused: Any) -> None:
    """Neither content, nor record, nor room."""
    storage = Recording()
    desk = open_desk(storage=storage)
    source = desk.volume("a")
    before = dict(desk.state.tables.charged)
    storage.broken = True
    with refused(Code.INTERNAL, "broken"):
        desk.volume("b", source=ContentSource("volume", source.id))
    assert storage.calls[-1][0] == "destroy"
    assert desk.ids() == [source.id]
    assert dict(desk.state.tables.charged) == before


def test_sources_that_cannot_be_copied_are_refused(desk: Any, refused: Any) -> None:
    """Unknown, too large for the limit, of another access type, not ready."""
    source = desk.volume("a", 2 * MIB)
    snapshot = desk.snapshot(source)
    for kind, existing in (("volume", source), ("snapshot", snapshot)):
        with refused(Code.NOT_FOUND, f"no {kind} 'none'"):
            desk.volume("b", source=ContentSource(kind, "none"))
        with refused(Code.OUT_OF_RANGE, str(2 * MIB)):
            desk.volume("b", MIB, source=ContentSource(kind, existing.id))
        with refused(Code.INVALID_ARGUMENT, "mount volume"):
            desk.volume(
                "b", 2 * MIB, source=ContentSource(kind, existing.id), capabilities=(desk.block(),)
            )
    assert desk.ids() == [source.id]


def test_a_copy_without_a_size_is_as_large_as_its_source(desk: Any) -> None:
    """A lower bound below it does no harm."""
    source = desk.volume("a", 3 * MIB)
    for name, capacity in (("b", None), ("c", CapacityRange(MIB, 0))):
        request = desk.request(name, source=ContentSource("volume", source.id))
        created = desk.state.volumes.create(attrs.evolve(request, capacity=capacity))
        assert created.capacity == 3 * MIB


def test_a_snapshot_can_be_restored_once_it_is_ready(open_desk: Any, refused: Any) -> None:
    """Before that the caller has to poll CreateSnapshot."""
    desk = open_desk(snapshot_delay=5.0)
    snapshot = desk.snapshot(desk.volume("a"))
    source = ContentSource("snapshot", snapshot.id)
    with refused(Code.FAILED_PRECONDITION, "not ready"):
        desk.volume("b", source=source)
    desk.clock.now += 5
    assert desk.volume("b", source=source).source == source


def test_the_same_name_with_another_source_is_a_conflict(desk: Any, refused: Any) -> None:
    """Source dropped, added or exchanged: the content would be another."""
    a, b = desk.volume("a"), desk.volume("b")
    desk.volume("c", source=ContentSource("volume", a.id))
    for source in (None, ContentSource("volume", b.id)):
        with refused(Code.ALREADY_EXISTS, "content_source"):
            desk.volume("c", source=source)
    with refused(Code.ALREADY_EXISTS, "content_source"):
        desk.volume("b", source=ContentSource("volume", a.id))


def test_a_clone_lies_where_its_source_does(desk: Any, refused: Any) -> None:
    """A zonal back end cannot copy across zones at once."""
    source = desk.volume("a", requirement=desk.require("zone-b"))
    clone = desk.volume("b", source=ContentSource("volume", source.id))
    assert clone.topology == (desk.zone("zone-b"),)
    with refused(Code.RESOURCE_EXHAUSTED):
        desk.volume(
            "c", source=ContentSource("volume", source.id), requirement=desk.require("zone-a")
        )


def test_deleting_is_repeatable(desk: Any, refused: Any) -> None:
    """What is gone is gone, whoever asks again; ids of other kinds are no volumes."""
    volume = desk.volume()
    snapshot = desk.snapshot(volume)
    for volume_id in (volume.id, volume.id, "never", "../x", snapshot.id):
        desk.state.volumes.delete(volume_id, {})
    assert desk.ids() == []
    assert desk.state.snapshots.get(snapshot.id, {}) == snapshot
    with refused(Code.INVALID_ARGUMENT, "volume_id"):
        desk.state.volumes.delete("", {})


def test_a_name_is_free_again_after_deleting(desk: Any) -> None:
    """And gives another volume."""
    first = desk.volume()
    desk.state.volumes.delete(first.id, {})
    assert desk.volume().id != first.id


def test_what_is_in_use_is_not_deleted(desk: Any, refused: Any) -> None:
    """Published by the controller, or staged on a node: the data is needed."""
    volume = desk.volume()
    desk.attach(volume)
    with refused(Code.FAILED_PRECONDITION, "node-0"):
        desk.state.volumes.delete(volume.id, {})
    desk.state.attachments.unpublish(volume.id, "", {})
    desk.state.tables.put_staging(Staging(volume.id, "node-0", "/stage", desk.mount()))
    with refused(Code.FAILED_PRECONDITION, "/stage"):
        desk.state.volumes.delete(volume.id, {})
    assert desk.ids() == [volume.id]


def test_sources_may_outlive_their_copies_or_not(open_desk: Any, refused: Any) -> None:
    """Both policies exist among drivers."""
    desk = open_desk(delete_with_snapshots="refuse", delete_with_copies="refuse")
    volume = desk.volume("a")
    snapshot = desk.snapshot(volume)
    with refused(Code.FAILED_PRECONDITION, "snapshots"):
        desk.state.volumes.delete(volume.id, {})
    desk.state.snapshots.delete(snapshot.id, {})
    clone = desk.volume("b", source=ContentSource("volume", volume.id))
    with refused(Code.FAILED_PRECONDITION, "1 volumes"):
        desk.state.volumes.delete(volume.id, {})
    desk.state.volumes.delete(clone.id, {})
    desk.state.volumes.delete(volume.id, {})
    assert desk.ids() == []


def test_secrets_are_demanded_where_set(open_desk: Any, refused: Any) -> None:
    """For each RPC its own."""
    desk = open_desk(secrets={"CreateVolume": {"k": "v"}, "DeleteVolume": {"k": "w"}})
    volume = desk.volume(secrets={"k": "v"})
    with refused(Code.UNAUTHENTICATED):
        desk.volume("b", secrets={"k": "x"})
    with refused(Code.INVALID_ARGUMENT):
        desk.state.volumes.delete(volume.id, {})
    desk.state.volumes.delete(volume.id, {"k": "w"})


def test_a_change_that_cannot_be_written_down_is_not_made(open_desk: Any, refused: Any) -> None:
    """A full disk below the log must not give volumes that a restart forgets."""
    desk = open_desk()

    def full(*_change: object) -> None:
        raise Refused(Code.RESOURCE_EXHAUSTED, "no space left")

    volume = desk.volume("a")
    desk.state.tables.on_change = full
    for attempt in (
        lambda: desk.volume("b"),
        lambda: desk.volume("c", source=ContentSource("volume", volume.id)),
        lambda: desk.state.volumes.delete(volume.id, {}),
        lambda: desk.snapshot(volume),
        lambda: desk.attach(volume),
    ):
        with refused(Code.RESOURCE_EXHAUSTED, "no space"):
            attempt()
    assert desk.ids() == [volume.id]
    assert desk.state.tables.charged["default", ""] == MIB
    assert desk.state.tables.snapshots == {}
    assert desk.state.tables.attachments == {}
