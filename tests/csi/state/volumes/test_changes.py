"""ControllerExpandVolume and ControllerModifyVolume."""

from __future__ import annotations

from typing import Any

import pytest

from refimpl.csi.state.models import AccessMode, CapacityRange, Staging
from refimpl.csi.state.volumes.changes import grow
from refimpl.wire.status import Code

MIB = 1 << 20


def expand(desk: Any, volume: Any, required: int, limit: int = 0, **more: Any) -> Any:
    requested = CapacityRange(required, limit)
    return desk.state.changes.expand(volume.id, requested, more.get("capability"), {})


def size(desk: Any, volume: Any) -> int:
    return int(desk.state.tables.volumes[volume.id].capacity)


def test_a_volume_grows_and_stays_grown(desk: Any) -> None:
    """A repetition and a smaller wish change nothing: volumes never shrink."""
    volume = desk.volume()
    assert expand(desk, volume, 2 * MIB) == (2 * MIB, True)
    assert expand(desk, volume, 2 * MIB) == (2 * MIB, True)
    assert expand(desk, volume, MIB) == (2 * MIB, True)
    assert size(desk, volume) == 2 * MIB
    assert desk.state.queries.get(volume.id).volume.capacity == 2 * MIB


@pytest.mark.parametrize(
    ("requested", "code"),
    [
        (None, Code.INVALID_ARGUMENT),
        (CapacityRange(0, 0), Code.INVALID_ARGUMENT),
        (CapacityRange(-1, 0), Code.INVALID_ARGUMENT),
        (CapacityRange(3 * MIB, 2 * MIB), Code.INVALID_ARGUMENT),
        (CapacityRange(0, MIB - 1), Code.OUT_OF_RANGE),
        (CapacityRange(1 << 60, 0), Code.OUT_OF_RANGE),
    ],
)
def test_impossible_ranges_leave_the_volume_as_it_is(
    desk: Any, requested: CapacityRange | None, code: Code, refused: Any
) -> None:
    """Below its size, above the maximum, or no range at all."""
    volume = desk.volume()
    with refused(code):
        desk.state.changes.expand(volume.id, requested, None, {})
    assert size(desk, volume) == MIB


def test_a_pool_that_is_full_stops_growth(open_desk: Any, refused: Any) -> None:
    """The room taken is given back when growth fails."""
    desk = open_desk(pools={"default": 2 * MIB})
    volume = desk.volume()
    with refused(Code.OUT_OF_RANGE, "pool"):
        expand(desk, volume, 3 * MIB)
    assert expand(desk, volume, 2 * MIB)[0] == 2 * MIB
    desk.state.volumes.delete(volume.id, {})
    assert not any(desk.state.tables.charged.values())


def test_a_limit_below_the_next_step_is_out_of_range(open_desk: Any, refused: Any) -> None:
    """Rounding up must not pass the limit."""
    desk = open_desk(granule=MIB)
    volume = desk.volume()
    with refused(Code.OUT_OF_RANGE, "limit_bytes"):
        expand(desk, volume, MIB + 1, MIB + 2)
    assert expand(desk, volume, MIB + 1)[0] == 2 * MIB


def test_offline_expansion_waits_for_the_volume_to_be_free(open_desk: Any, refused: Any) -> None:
    """Attached, or staged on a node; what is large enough already needs no expansion."""
    desk = open_desk(without=("expansion:ONLINE",))
    volume = desk.volume()
    desk.attach(volume)
    with refused(Code.FAILED_PRECONDITION, "OFFLINE"):
        expand(desk, volume, 2 * MIB)
    assert expand(desk, volume, MIB)[0] == MIB
    desk.state.attachments.unpublish(volume.id, "node-0", {})
    desk.state.tables.put_staging(Staging(volume.id, "node-0", "/s", desk.mount()))
    with refused(Code.FAILED_PRECONDITION, "OFFLINE"):
        expand(desk, volume, 2 * MIB)
    desk.state.tables.drop_staging("node-0", "/s")
    assert expand(desk, volume, 2 * MIB)[0] == 2 * MIB


def test_online_expansion_does_not_wait(desk: Any) -> None:
    """ONLINE with the controller's EXPAND_VOLUME promises it."""
    volume = desk.volume()
    desk.attach(volume)
    assert expand(desk, volume, 2 * MIB)[0] == 2 * MIB


def test_the_node_follows_for_file_systems_only(open_desk: Any) -> None:
    """And only where the node can expand at all."""
    desk = open_desk()
    block = desk.volume("b", capabilities=(desk.block(),))
    assert expand(desk, block, 2 * MIB) == (2 * MIB, False)
    offline = open_desk(without=("node:EXPAND_VOLUME",))
    assert expand(offline, offline.volume(), 2 * MIB) == (2 * MIB, False)


def test_a_capability_the_volume_does_not_have_is_refused(desk: Any, refused: Any) -> None:
    """Another access type, or a mode the driver does not know."""
    volume = desk.volume()
    assert expand(desk, volume, 2 * MIB, capability=desk.mount())[0] == 2 * MIB
    with refused(Code.INVALID_ARGUMENT, "mount volume"):
        expand(desk, volume, 3 * MIB, capability=desk.block())
    with refused(Code.INVALID_ARGUMENT, "access_mode"):
        expand(desk, volume, 3 * MIB, capability=desk.mount(AccessMode.UNKNOWN))


def test_unknown_volumes_cannot_change(desk: Any, refused: Any) -> None:
    """NOT_FOUND comes after the fields are checked."""
    with refused(Code.NOT_FOUND):
        desk.state.changes.expand("none", CapacityRange(MIB), None, {})
    with refused(Code.NOT_FOUND):
        desk.state.changes.modify("none", {"iops": "1"}, {})
    with refused(Code.NOT_FOUND):
        grow(desk.state.tables, "none", CapacityRange(MIB))
    with refused(Code.INVALID_ARGUMENT):
        desk.state.changes.expand("", CapacityRange(MIB), None, {})
    with refused(Code.INVALID_ARGUMENT):
        desk.state.changes.modify("", {"iops": "1"}, {})


def test_modifying_is_a_patch(desk: Any) -> None:
    """Keys left out keep their value; a repetition writes nothing."""
    volume = desk.volume(mutable_parameters={"iops": "1", "tier": "gold"})
    desk.state.changes.modify(volume.id, {"iops": "2"}, {})
    changed = desk.state.tables.volumes[volume.id]
    assert changed.mutable == {"iops": "2", "tier": "gold"}
    changes = len(desk.changes)
    desk.state.changes.modify(volume.id, {"iops": "2"}, {})
    assert len(desk.changes) == changes
    assert (changed.id, changed.context) == (volume.id, volume.context)


def test_a_modified_volume_is_still_the_one_that_was_created(desk: Any) -> None:
    """The lost answer of CreateVolume may be asked for at any time."""
    volume = desk.volume(mutable_parameters={"iops": "1"})
    desk.state.changes.modify(volume.id, {"iops": "2"}, {})
    assert desk.volume(mutable_parameters={"iops": "1"}).id == volume.id


@pytest.mark.parametrize("bad", [{"colour": "red"}, {"iops": "none"}, {}])
def test_one_bad_parameter_and_nothing_is_applied(
    desk: Any, bad: dict[str, str], refused: Any
) -> None:
    """Also not the good ones beside it."""
    volume = desk.volume(mutable_parameters={"iops": "1"})
    parameters = {"tier": "gold", **bad} if bad else {}
    with refused(Code.INVALID_ARGUMENT, "mutable"):
        desk.state.changes.modify(volume.id, parameters, {})
    assert desk.state.tables.volumes[volume.id].mutable == {"iops": "1"}
