"""ListVolumes, ControllerGetVolume, GetCapacity, ValidateVolumeCapabilities."""

from __future__ import annotations

from typing import Any

import pytest

from refimpl.csi.state.models import AccessMode, Topology
from refimpl.wire.status import Code

MIB = 1 << 20
M = AccessMode


def capacity(
    desk: Any, *capabilities: Any, place: Topology | None = None, **parameters: str
) -> Any:
    return desk.state.queries.capacity(capabilities, parameters, place)


def validate(desk: Any, volume_id: str, *capabilities: Any, **arguments: Any) -> Any:
    return desk.state.queries.validate(
        volume_id,
        capabilities,
        arguments.get("context", {}),
        arguments.get("parameters", {}),
        arguments.get("mutable", {}),
        {},
    )


def test_a_list_shows_what_exists_and_where_it_is(desk: Any) -> None:
    """Records are those that CreateVolume answered."""
    a, b = desk.volume("a"), desk.volume("b")
    desk.attach(b)
    desk.state.health.break_volume(a.id, "DEGRADED", "Slow")
    first, second = desk.state.queries.list("", 0).entries
    assert (first.volume, first.published) == (a, ())
    assert (second.volume, second.published) == (b, ("node-0",))
    assert [fault.reason for fault in first.faults] == ["Slow"]
    assert desk.state.queries.get(b.id) == second


def test_a_list_has_pages(desk: Any) -> None:
    """The walk itself is tested with the pages."""
    for name in "abc":
        desk.volume(name)
    page = desk.state.queries.list("", 2)
    assert len(page.entries) == 2
    assert len(desk.state.queries.list(page.next_token, 2).entries) == 1


def test_a_large_list_comes_in_pages_by_itself(open_desk: Any) -> None:
    """A message has to fit into what clients receive, 4 MiB, whatever they ask for."""
    desk = open_desk(page_bytes=1000)
    for number in range(20):
        desk.volume(str(number))
    page = desk.state.queries.list("", 0)
    assert 0 < len(page.entries) < 20
    assert page.next_token


@pytest.mark.parametrize("volume_id", ["", "none"])
def test_an_unknown_volume_cannot_be_got(desk: Any, volume_id: str, refused: Any) -> None:
    """No id is another mistake than a wrong id."""
    with refused(Code.NOT_FOUND if volume_id else Code.INVALID_ARGUMENT):
        desk.state.queries.get(volume_id)


def test_capacity_goes_down_and_up(open_desk: Any) -> None:
    """With volumes, growth and snapshots; back to what it was."""
    desk = open_desk(pools={"default": 10 * MIB}, maximum=4 * MIB)
    assert capacity(desk).available == 10 * MIB
    volume = desk.volume()
    snapshot = desk.snapshot(volume)
    assert capacity(desk).available == 8 * MIB
    desk.state.snapshots.delete(snapshot.id, {})
    desk.state.volumes.delete(volume.id, {})
    assert capacity(desk).available == 10 * MIB


def test_thin_snapshots_cost_nothing(open_desk: Any) -> None:
    """Where the settings say so."""
    desk = open_desk(pools={"default": 10 * MIB}, charge_snapshots=False)
    desk.snapshot(desk.volume())
    assert capacity(desk).available == 9 * MIB


def test_a_maximum_is_told_only_while_it_can_be_made(open_desk: Any, refused: Any) -> None:
    """What GetCapacity promises CreateVolume has to keep."""
    desk = open_desk(pools={"default": 6 * MIB}, maximum=4 * MIB)
    reported = capacity(desk)
    assert (reported.maximum, reported.minimum) == (4 * MIB, 4096)
    with refused(Code.OUT_OF_RANGE):
        desk.volume("a", 4 * MIB + 1)
    desk.volume("a", 4 * MIB)
    assert capacity(desk).maximum is None
    bare = open_desk(maximum=0, minimum=0)
    assert (capacity(bare).maximum, capacity(bare).minimum) == (None, None)


def test_capacity_follows_the_criteria(desk: Any, refused: Any) -> None:
    """What no volume can satisfy has no capacity."""
    assert capacity(desk, kind="fast").available < capacity(desk).available
    assert capacity(desk, kind="gold").available == 0
    assert capacity(desk, desk.mount(fs_type="fat")).available == 0
    assert capacity(desk, desk.mount(), desk.block()).available > 0
    with refused(Code.INVALID_ARGUMENT, "access_mode"):
        capacity(desk, desk.mount(M.UNKNOWN))


def test_capacity_is_that_of_a_place(open_desk: Any, refused: Any) -> None:
    """Zones with pools of their own, a zone that does not exist, a malformed one."""
    desk = open_desk(pool_per_zone=True, pools={"default": 10 * MIB}, maximum=10 * MIB)
    desk.volume()
    assert capacity(desk, place=desk.zone("zone-a")).available == 9 * MIB
    assert capacity(desk, place=desk.zone("zone-b")).available == 10 * MIB
    assert capacity(desk, place=desk.zone("zone-z")).available == 0
    assert capacity(desk).available == 19 * MIB
    assert capacity(desk, place=Topology()).available == 19 * MIB
    # The largest volume is bounded by one zone, not by their sum.
    assert capacity(desk, place=desk.zone("zone-a")).maximum is None
    assert capacity(desk).maximum == 10 * MIB
    with refused(Code.INVALID_ARGUMENT, "accessible_topology"):
        capacity(desk, place=desk.zone("-"))


def test_without_topology_no_place_may_be_sent(open_desk: Any, refused: Any) -> None:
    """As in CreateVolume."""
    desk = open_desk(without=("VOLUME_ACCESSIBILITY_CONSTRAINTS",))
    with refused(Code.INVALID_ARGUMENT, "VOLUME_ACCESSIBILITY_CONSTRAINTS"):
        capacity(desk, place=desk.zone("zone-a"))


@pytest.mark.parametrize("mode", [mode for mode in M if mode != M.UNKNOWN])
@pytest.mark.parametrize("access", ["mount", "block"])
def test_what_is_confirmed_can_be_published(desk: Any, mode: M, access: str, refused: Any) -> None:
    """And what is not confirmed cannot."""
    volume = desk.volume()
    capability = desk.mount(mode) if access == "mount" else desk.block(mode)
    answer = validate(desk, volume.id, capability)
    if answer.confirmed:
        assert answer.message == ""
        desk.attach(volume, capability=capability)
        return
    assert 0 < len(answer.message) <= 128
    with refused(Code.INVALID_ARGUMENT):
        desk.attach(volume, capability=capability)


def test_all_that_is_sent_has_to_hold(desk: Any) -> None:
    """One item that is not supported leaves everything unconfirmed."""
    volume = desk.volume(parameters={"kind": "fast"}, mutable_parameters={"iops": "1"})
    good = desk.mount()
    everything = {
        "context": volume.context,
        "parameters": {"kind": "fast"},
        "mutable": {"iops": "1"},
    }
    assert validate(desk, volume.id, good, **everything).confirmed
    assert not validate(desk, volume.id, good, desk.block()).confirmed
    assert not validate(desk, volume.id, good, desk.mount(fs_type="fat")).confirmed
    for field in everything:
        answer = validate(desk, volume.id, good, **{field: {"other": "x"}})
        assert not answer.confirmed
        assert "entries" in answer.message


@pytest.mark.parametrize(
    ("volume_id", "capabilities", "code"),
    [
        ("", 1, Code.INVALID_ARGUMENT),
        ("a", 0, Code.INVALID_ARGUMENT),
        ("none", 1, Code.NOT_FOUND),
    ],
)
def test_validation_needs_a_volume_and_capabilities(
    desk: Any, volume_id: str, capabilities: int, code: Code, refused: Any
) -> None:
    """A malformed capability is an error, an unsupported one an answer."""
    volume = desk.volume()
    wanted = [desk.mount()] * capabilities
    with refused(code):
        validate(desk, volume.id if volume_id == "a" else volume_id, *wanted)
    with refused(Code.INVALID_ARGUMENT):
        validate(desk, volume.id, desk.mount(M.UNKNOWN))
