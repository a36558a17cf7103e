"""CreateVolume: how large a volume becomes, and what happens when it cannot be so large."""

from __future__ import annotations

from functools import partial

import pytest

from conformance.csi.common.refusals import expect_room
from conformance.csi.common.repeats import expect_same, expect_taken
from conformance.csi.needs import (
    CREATE_DELETE_SNAPSHOT,
    CREATE_DELETE_VOLUME,
    GET_CAPACITY,
    MAXIMUM_SIZE,
    MINIMUM_SIZE,
)
from conformance.csi.target import CsiTarget
from conformance.engine.case import case
from conformance.engine.verdict import expect, expect_status, together
from refimpl.csi.api import csi_pb2 as pb
from refimpl.wire.status import Code

LARGEST = 2**63 - 1
ODD = 1_136_735  # bytes, so many that no allocation unit divides a size with them
_MOST = 64  # volumes made to fill a pool


@case("CSI-CTRL-009", "CSI 1.13 CreateVolume", needs=[CREATE_DELETE_VOLUME])
def test_a_size_can_be_left_to_the_driver(csi: CsiTarget) -> None:
    """A driver may choose a size, or turn the request down, but it must not stumble over it."""
    request = csi.requests.volume(required=0)
    reply = expect_status(
        lambda: csi.controller.CreateVolume(request),
        {Code.OK, Code.INVALID_ARGUMENT, Code.OUT_OF_RANGE},
        "CreateVolume without capacity_range makes a volume or is refused",
    )
    if reply is not None:
        _expect_size(reply.volume, "a volume of the driver's size", required=0)


@case("CSI-CTRL-010", "CSI 1.13 CapacityRange", needs=[CREATE_DELETE_VOLUME])
def test_a_volume_is_at_least_as_large_as_required(csi: CsiTarget) -> None:
    """A claim that binds to a smaller volume runs full earlier than anybody planned."""
    size = csi.requests.size
    volume = csi.steps.volume(csi.requests.volume(required=size))
    _expect_size(volume, "a volume with required_bytes", required=size)


@case("CSI-CTRL-011", "CSI 1.13 CapacityRange", needs=[CREATE_DELETE_VOLUME])
def test_a_volume_is_not_larger_than_its_limit(csi: CsiTarget) -> None:
    """A limit is a quota: what a driver adds on top is paid for by somebody."""
    limit = csi.requests.size
    _create_sized(csi, "a volume with limit_bytes", required=0, limit=limit)


@case("CSI-CTRL-012", "CSI 1.13 CapacityRange", needs=[CREATE_DELETE_VOLUME])
def test_an_exact_size_is_met_exactly(csi: CsiTarget) -> None:
    """Copies of a disk and pre-made images are planned byte by byte."""
    size = csi.requests.size
    _create_sized(csi, "a volume with required_bytes = limit_bytes", required=size, limit=size)


@case("CSI-CTRL-013", "CSI 1.13 CapacityRange", needs=[CREATE_DELETE_VOLUME])
def test_a_size_between_two_units_is_not_rounded_past_its_limit(csi: CsiTarget) -> None:
    """Back ends have units of MiB or GiB; rounding up must not break the limit unseen."""
    size = csi.sizes.at_least(csi.requests.size + 1)
    _create_sized(csi, "a volume of an odd number of bytes", required=size, limit=size)


@case("CSI-CTRL-014", "CSI 1.13 CapacityRange", needs=[CREATE_DELETE_VOLUME])
def test_an_empty_range_of_sizes_is_refused(csi: CsiTarget) -> None:
    """No volume can be that large and that small; one that is made breaks one of the bounds."""
    size = csi.requests.size
    request = csi.requests.volume(required=size, limit=size // 2)
    expect_status(
        lambda: csi.controller.CreateVolume(request),
        {Code.INVALID_ARGUMENT, Code.OUT_OF_RANGE},
        "required_bytes above limit_bytes is refused",
    )


@case("CSI-CTRL-015", "CSI 1.13 CapacityRange", needs=[CREATE_DELETE_VOLUME])
def test_a_negative_size_is_refused(csi: CsiTarget) -> None:
    """Read as an unsigned number it asks for all there is, read as unset it bounds nothing."""
    with together() as check:
        for what, request in (
            ("required_bytes", csi.requests.volume(required=-1)),
            ("limit_bytes", csi.requests.volume(limit=-1)),
        ):
            with check:
                expect_status(
                    partial(csi.controller.CreateVolume, request),
                    {Code.INVALID_ARGUMENT, Code.OUT_OF_RANGE},
                    f"a negative {what} is refused",
                )


@case("CSI-CTRL-016", "CSI 1.13 CreateVolume", needs=[CREATE_DELETE_VOLUME])
def test_the_largest_number_of_bytes_is_refused(csi: CsiTarget) -> None:
    """Rounding it up to a unit overflows: drivers have died of it, or made a tiny volume."""
    request = csi.requests.volume(required=LARGEST)
    expect_status(
        lambda: csi.controller.CreateVolume(request),
        {Code.OUT_OF_RANGE, Code.RESOURCE_EXHAUSTED, Code.INVALID_ARGUMENT},
        f"a volume of {LARGEST} bytes is refused",
    )


@case(
    "CSI-CTRL-017",
    "CSI 1.13 GetCapacity",
    needs=[CREATE_DELETE_VOLUME, GET_CAPACITY, MAXIMUM_SIZE],
)
def test_a_volume_above_the_maximum_is_refused(csi: CsiTarget) -> None:
    """The scheduler trusts maximum_volume_size when it chooses where a claim can be served."""
    maximum = csi.sizes.maximum
    if maximum == LARGEST:
        pytest.skip("maximum_volume_size is the largest number there is")
    request = csi.requests.volume(required=maximum + 1)
    expect_status(
        lambda: csi.controller.CreateVolume(request),
        {Code.OUT_OF_RANGE},
        f"a volume of maximum_volume_size + 1 = {maximum + 1} bytes is refused",
    )


@case(
    "CSI-CTRL-018",
    "CSI 1.13 GetCapacity",
    needs=[CREATE_DELETE_VOLUME, GET_CAPACITY, MINIMUM_SIZE],
)
def test_a_limit_below_the_minimum_is_refused(csi: CsiTarget) -> None:
    """A volume of the minimum would be larger than the caller allows."""
    minimum = csi.sizes.minimum
    request = csi.requests.volume(limit=minimum - 1)
    expect_status(
        lambda: csi.controller.CreateVolume(request),
        {Code.OUT_OF_RANGE},
        f"a limit of minimum_volume_size - 1 = {minimum - 1} bytes is refused",
    )


@case("CSI-CTRL-020", "CSI 1.13 CreateVolume", needs=[CREATE_DELETE_VOLUME])
def test_a_repeated_create_of_another_size_is_refused(csi: CsiTarget) -> None:
    """Answering with the volume that exists would bind a claim to the wrong size for good."""
    first = csi.requests.volume()
    size = csi.steps.volume(first).capacity_bytes
    if not size:
        pytest.skip("the driver tells no capacity of volumes: any range may fit")
    with together() as check:
        for what, required, limit in (("larger", size * 2, 0), ("smaller", 0, size // 2)):
            with check:
                request = csi.requests.volume(first.name, required=required, limit=limit)
                rule = f"the name of a volume of {size} bytes, asked for {what}, is refused"
                expect_taken(csi, request, rule)


@case("CSI-CTRL-021", "CSI 1.13 CreateVolume", needs=[CREATE_DELETE_VOLUME])
def test_a_repeated_create_takes_any_range_that_fits(csi: CsiTarget) -> None:
    """A claim may have been edited between two tries; what exists already still serves it."""
    first, volume = csi.shared.request(), csi.shared.volume()
    size = csi.requests.size
    request = csi.requests.volume(
        first.name, required=size // 2, limit=max(size, volume.capacity_bytes) * 2
    )
    expect_same(csi, request, volume, "a range that holds the size of a volume gives that volume")


@case(
    "CSI-CTRL-069",
    "CSI 1.13 CreateVolume",
    needs=[CREATE_DELETE_VOLUME, GET_CAPACITY],
    heavy=True,
    alone=True,
)
def test_a_full_pool_says_so_and_recovers(csi: CsiTarget) -> None:
    """RESOURCE_EXHAUSTED lets the scheduler try elsewhere; space given back has to count again."""
    reply = csi.controller.GetCapacity(csi.requests.capacity())
    free = reply.available_capacity
    size = min(free, reply.maximum_volume_size.value or free)
    if not size or free // size >= _MOST:
        pytest.skip(f"{free} bytes free cannot be filled with {_MOST} volumes of {size} bytes")
    volume = csi.steps.volume(csi.requests.volume(required=size))
    if csi.controller.GetCapacity(csi.requests.capacity()).available_capacity == free:
        pytest.skip("volumes take nothing from the pool before they are written to")
    for _ in range(free // size - 1):
        csi.steps.volume(csi.requests.volume(required=size))
    request = csi.requests.volume(required=size)
    expect_status(
        lambda: csi.controller.CreateVolume(request),
        {Code.RESOURCE_EXHAUSTED, Code.OUT_OF_RANGE},
        "a pool that is full makes no further volume",
    )
    csi.controller.DeleteVolume(csi.requests.delete(volume.volume_id))
    expect_room(
        lambda: csi.steps.volume(request), "a volume is made where a deleted one has left its room"
    )


@case(
    "CSI-CTRL-081",
    "CSI 1.13 CreateSnapshot",
    needs=[CREATE_DELETE_VOLUME, CREATE_DELETE_SNAPSHOT],
)
def test_a_volume_of_an_odd_size_can_be_cut(csi: CsiTarget) -> None:
    """A driver that tells the size asked for, not the one it made, finds its own volume too large
    for a snapshot of it."""
    size = csi.sizes.at_least(csi.requests.size + ODD)
    volume = csi.steps.volume(csi.requests.volume(required=size))
    with together() as check:
        with check:
            _expect_size(volume, f"a volume of {size} bytes", required=size)
        request = csi.requests.snapshot(volume.volume_id)
        reply = expect_status(
            lambda: csi.controller.CreateSnapshot(request),
            {Code.OK},
            f"a snapshot of a volume of {size} bytes can be taken",
        )
        cut = reply.snapshot.size_bytes if reply else 0
        expect(
            not volume.capacity_bytes or cut <= volume.capacity_bytes,
            "a snapshot is not larger than the volume it was taken of",
            wanted=f"size_bytes <= {volume.capacity_bytes}",
            got=cut,
        )


def _create_sized(csi: CsiTarget, what: str, *, required: int, limit: int) -> None:
    """Creates, or is told that the driver has no volume of such a size."""
    request = csi.requests.volume(required=required, limit=limit)
    reply = expect_status(
        lambda: csi.controller.CreateVolume(request),
        {Code.OK, Code.OUT_OF_RANGE},
        f"{what} is made or refused as out of range",
    )
    if reply is not None:
        _expect_size(reply.volume, what, required=required, limit=limit)


def _expect_size(volume: pb.Volume, what: str, *, required: int, limit: int = LARGEST) -> None:
    """A capacity of 0 means that it is not known."""
    size = volume.capacity_bytes
    expect(
        size == 0 or max(required, 1) <= size <= limit,
        f"the capacity of {what} lies in the range asked for",
        wanted=f"{required} <= capacity_bytes <= {limit}",
        got=size,
    )
