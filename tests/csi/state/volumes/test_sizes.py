"""Sizes of volumes, and pools."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refimpl.csi.state.models import CapacityRange
from refimpl.csi.state.settings import DriverSettings
from refimpl.csi.state.volumes import sizes
from refimpl.wire.status import Code, Refused

EXACT = DriverSettings(minimum=1)
COARSE = DriverSettings(granule=4096, minimum=8192, maximum=1 << 30)


@pytest.mark.parametrize(
    ("settings", "required", "limit", "size"),
    [
        (EXACT, 1136234735, 1136234735, 1136234735),
        (EXACT, 0, 5, 1),
        (COARSE, 1, 0, 8192),
        (COARSE, 8193, 0, 12288),
        (COARSE, 8193, 12288, 12288),
        (COARSE, 1 << 30, 0, 1 << 30),
    ],
)
def test_the_smallest_size_that_can_be_made_is_chosen(
    settings: DriverSettings, required: int, limit: int, size: int
) -> None:
    """A prime number of bytes stays what it is where the granule is one byte."""
    assert sizes.fitting(settings, CapacityRange(required, limit)) == size


@pytest.mark.parametrize(
    ("settings", "required", "limit", "floor"),
    [
        (COARSE, 8193, 12287, 0),  # rounding up would pass the limit
        (COARSE, 0, 8191, 0),  # below the minimum
        (COARSE, (1 << 30) + 1, 0, 0),  # above the maximum
        (EXACT, 2**63 - 1, 0, 0),
        (EXACT, 0, 999, 1000),  # smaller than the source
    ],
)
def test_a_range_without_a_possible_size_is_out_of_range(
    settings: DriverSettings, required: int, limit: int, floor: int, refused: Any
) -> None:
    """Never a size outside of the range, and never one smaller than the source."""
    with refused(Code.OUT_OF_RANGE):
        sizes.fitting(settings, CapacityRange(required, limit), floor)


@given(
    st.integers(0, 1 << 40), st.integers(0, 1 << 40), st.integers(0, 1 << 30), st.integers(1, 9999)
)
def test_whatever_is_chosen_fits(required: int, limit: int, floor: int, granule: int) -> None:
    """Range, source, minimum, maximum and granule hold together, or the call is refused."""
    settings = DriverSettings(granule=granule, maximum=1 << 35)
    requested = CapacityRange(required, limit)
    code, size = Code.OK, 0
    try:
        size = sizes.fitting(settings, requested, floor)
    except Refused as error:
        code = error.code
    if code:
        assert code == Code.OUT_OF_RANGE
        return
    assert sizes.contains(requested, size)
    assert size >= max(floor, settings.minimum)
    assert size <= settings.maximum
    assert size % granule == 0


def test_a_device_ends_with_a_sector(refused: Any) -> None:
    """What is told has to be the size of the device, which the kernel counts in sectors."""
    requested = CapacityRange(1136234735)
    assert sizes.fitting(EXACT, requested, access="mount") == 1136234735
    assert sizes.fitting(EXACT, requested, access="block") == 1136235008
    assert sizes.fitting(EXACT.with_(sector=1), requested, access="block") == 1136234735
    assert sizes.fitting(COARSE, CapacityRange(8193), access="block") == 12288
    with refused(Code.OUT_OF_RANGE, "steps of 512"):
        sizes.fitting(EXACT, CapacityRange(1136234735, 1136234735), access="block")


def test_without_a_range_the_source_decides_then_the_default() -> None:
    """A clone of a large volume without a size is as large as it is."""
    assert sizes.fitting(EXACT, None) == EXACT.default_size
    assert sizes.fitting(EXACT, None, 5 << 30) == 5 << 30
    assert sizes.fitting(DriverSettings(default_size=1, minimum=4096), None) == 4096


def test_pools_are_chosen_by_their_parameter(refused: Any) -> None:
    """The first one serves whoever names none."""
    assert sizes.known_kind(EXACT, {}) == "default"
    assert sizes.known_kind(EXACT, {"kind": "fast"}) == "fast"
    assert sizes.kind_of(EXACT, {"kind": "gold"}) is None
    with refused(Code.INVALID_ARGUMENT, "'gold'", "default, fast"):
        sizes.known_kind(EXACT, {"kind": "gold"})


def test_a_reservation_is_released_once(desk: Any) -> None:
    """Giving room back twice would let the pool grow with every failed call."""
    tables = desk.state.tables
    room = sizes.room(tables, ("fast", ""))
    reservation = sizes.Reservation(tables, ("fast", ""), 1000)
    assert sizes.room(tables, ("fast", "")) == room - 1000
    reservation.release()
    reservation.release()
    assert sizes.room(tables, ("fast", "")) == room


def test_a_pool_never_shows_less_than_nothing(open_desk: Any, refused: Any) -> None:
    """A negative capacity is none the interface can carry."""
    tables = open_desk(pools={"default": 100}).state.tables
    tables.charged["default", ""] = 150
    assert sizes.room(tables, ("default", "")) == 0
    with refused(Code.RESOURCE_EXHAUSTED, "'default'"):
        sizes.demand_room(tables, ("default", ""), 1)
    with refused(Code.OUT_OF_RANGE):
        sizes.demand_room(tables, ("default", ""), 1, Code.OUT_OF_RANGE)
