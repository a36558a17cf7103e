"""GetCapacity: how much room there is, for what and where. Others may use it up meanwhile."""

from __future__ import annotations

from functools import partial

import pytest

from conformance.csi.common.places import nowhere
from conformance.csi.common.uses import described, other_type
from conformance.csi.needs import (
    CREATE_DELETE_VOLUME,
    EXPAND_VOLUME,
    GET_CAPACITY,
    MAXIMUM_SIZE,
    OTHER_PARAMETERS,
    PLACE,
    TOPOLOGY,
    without,
)
from conformance.csi.requests import Mode
from conformance.csi.target import CsiTarget
from conformance.engine.case import case
from conformance.engine.verdict import Broken, expect, expect_status, should, together
from refimpl.csi.api import csi_pb2 as pb
from refimpl.wire.status import Code, Refused

_SOURCE = "CSI 1.13 GetCapacity"
_TRIES = 5
_LARGEST = 2**63 - 1


@case("CSI-CAP-001", _SOURCE, needs=[GET_CAPACITY])
def test_capacity_is_told_in_numbers_that_make_sense(csi: CsiTarget) -> None:
    """The scheduler sorts nodes by these numbers; a negative one is a node that never gets a pod,
    or always."""
    with together() as check:
        for request in (pb.GetCapacityRequest(), csi.requests.capacity()):
            reply = csi.controller.GetCapacity(request)
            largest, smallest = reply.maximum_volume_size, reply.minimum_volume_size
            for name, size in (
                ("available_capacity", reply.available_capacity),
                ("maximum_volume_size", largest.value),
                ("minimum_volume_size", smallest.value),
            ):
                with check:
                    expect(size >= 0, f"{name} is not negative", wanted="0 or more", got=size)
            both = reply.HasField("maximum_volume_size") and reply.HasField("minimum_volume_size")
            with check:
                expect(
                    not both or smallest.value <= largest.value,
                    "the smallest volume is no larger than the largest",
                    wanted=f"at most {largest.value}",
                    got=smallest.value,
                )


@case("CSI-CAP-002", _SOURCE, needs=[GET_CAPACITY, CREATE_DELETE_VOLUME], alone=True)
def test_a_volume_takes_room_and_gives_it_back(csi: CsiTarget) -> None:
    """Room that is never given back ends in nodes that look full for ever. A thin driver may tell
    the same number all the time; no driver has more room after a creation, or less after a
    deletion. What others do meanwhile looks like that, too: so it has to be seen five times."""
    for _ in range(_TRIES):
        before = _available(csi)
        volume = csi.steps.volume()
        filled = _available(csi)
        csi.controller.DeleteVolume(csi.requests.delete(volume.volume_id))
        freed = _available(csi)
        if filled <= before <= freed:
            return
    raise Broken(
        "available_capacity does not grow when a volume is created, and is back when it is deleted",
        f"at most {before} with the volume, at least that without it",
        f"{filled} with the volume, {freed} without it",
    )


@case("CSI-CAP-003", _SOURCE, needs=[GET_CAPACITY, OTHER_PARAMETERS])
def test_capacity_is_that_for_the_given_parameters(csi: CsiTarget) -> None:
    """Each StorageClass has a pool of its own, and the scheduler asks for each. Equal numbers are
    possible where two classes share a pool, hence only a warning."""
    own = _available(csi)
    other = csi.controller.GetCapacity(csi.requests.capacity(csi.settings.other_parameters))
    with together() as check:
        with check:
            expect(
                other.available_capacity >= 0, "it is not negative", wanted="0 or more", got=other
            )
        with check:
            should(
                own != other.available_capacity,
                "available_capacity for other parameters is that of another pool",
                wanted=f"another number than {own}",
                got=f"{other.available_capacity} for {csi.settings.other_parameters}",
            )


@case("CSI-CAP-004", _SOURCE, needs=[GET_CAPACITY, TOPOLOGY, PLACE])
def test_capacity_is_that_of_the_given_place(csi: CsiTarget) -> None:
    """The scheduler sends a pod to the place that has room: none where the driver is not."""
    with together() as check:
        for segments, there in (
            (csi.preconditions.place, True),
            (nowhere(csi.preconditions.place), False),
        ):
            with check:
                request = csi.requests.capacity()
                request.accessible_topology.CopyFrom(pb.Topology(segments=segments))
                available = csi.controller.GetCapacity(request).available_capacity
                expect(
                    (available > 0) == there,
                    f"there is {'room' if there else 'no room'} at {segments}",
                    wanted="more than 0" if there else "0",
                    got=available,
                )


@case("CSI-CAP-005", _SOURCE, needs=[GET_CAPACITY])
def test_there_is_no_room_for_volumes_the_driver_does_not_make(csi: CsiTarget) -> None:
    """What CreateVolume refuses must not be offered: the pod would be sent to this node again and
    again. What it makes may be offered, whether it should be made or not."""
    refused = _refused(csi)
    if not refused:
        pytest.skip("the driver makes volumes of every kind that was tried")
    with together() as check:
        for use in refused:
            with check:
                request = csi.requests.capacity()
                request.ClearField("volume_capabilities")
                request.volume_capabilities.append(use)
                reply = expect_status(
                    partial(csi.controller.GetCapacity, request),
                    {Code.OK, Code.INVALID_ARGUMENT},
                    f"GetCapacity for volumes as ({described(use)}) answers or is refused",
                )
                expect(
                    reply is None or reply.available_capacity == 0,
                    f"there is no room for volumes as ({described(use)}), which the driver does not"
                    " make",
                    wanted="available_capacity of 0",
                    got=reply,
                )


@case(
    "CSI-CAP-006",
    _SOURCE,
    needs=[GET_CAPACITY, CREATE_DELETE_VOLUME, MAXIMUM_SIZE],
    heavy=True,
)
def test_the_largest_volume_can_be_made_and_no_larger_one(csi: CsiTarget) -> None:
    """maximum_volume_size decides where a claim goes; too low wastes room, too high never fits.
    Where less is available than one volume may have, there need be no room for it."""
    reply = csi.controller.GetCapacity(csi.requests.capacity())
    largest = reply.maximum_volume_size.value
    short = reply.available_capacity < largest
    full = {Code.RESOURCE_EXHAUSTED, Code.OUT_OF_RANGE} if short else set()
    with together() as check:
        with check:
            expect_status(
                lambda: csi.steps.volume(csi.requests.volume(required=largest)),
                {Code.OK, *full},
                f"a volume of maximum_volume_size, {largest} bytes, is created",
            )
        with check:
            expect_status(
                lambda: csi.steps.volume(csi.requests.volume(required=min(largest + 1, _LARGEST))),
                {Code.OUT_OF_RANGE},
                f"a volume of {largest + 1} bytes, one more than maximum_volume_size, is refused",
            )


@case("CSI-CAP-007", _SOURCE, needs=[GET_CAPACITY, CREATE_DELETE_VOLUME, EXPAND_VOLUME], heavy=True)
def test_capacity_is_not_negative_after_an_expansion_beyond_the_pool(csi: CsiTarget) -> None:
    """Whether a driver lets a volume outgrow its pool or not: less than nothing cannot be left."""
    volume = csi.steps.volume()
    size = volume.capacity_bytes + _available(csi) + (1 << 30)
    request = pb.ControllerExpandVolumeRequest(
        volume_id=volume.volume_id,
        capacity_range=pb.CapacityRange(required_bytes=min(size, _LARGEST)),
        secrets=csi.settings.secrets_for("ControllerExpandVolume"),
        volume_capability=csi.requests.capability(),
    )
    try:
        csi.controller.ControllerExpandVolume(request)
        done = "done"
    except Refused as refusal:
        done = f"refused ({refusal.code.name})"
    left = _available(csi)
    rule = f"after an expansion beyond the pool, {done}, available_capacity is not negative"
    expect(left >= 0, rule, wanted="0 or more", got=left)


@case("CSI-CAP-008", _SOURCE, needs=[GET_CAPACITY, without(TOPOLOGY)])
def test_a_place_nobody_offered_is_refused_or_ignored(csi: CsiTarget) -> None:
    """Callers must not send one to a driver without topology; it need not understand it."""
    request = pb.GetCapacityRequest()
    request.accessible_topology.segments["topology.refimpl.example/zone"] = "nowhere"
    expect_status(
        lambda: csi.controller.GetCapacity(request),
        {Code.OK, Code.INVALID_ARGUMENT},
        "GetCapacity with accessible_topology, without VOLUME_ACCESSIBILITY_CONSTRAINTS, answers or"
        " is refused",
    )


def _available(csi: CsiTarget) -> int:
    return csi.controller.GetCapacity(csi.requests.capacity()).available_capacity


def _refused(csi: CsiTarget) -> list[pb.VolumeCapability]:
    """Uses that CreateVolume refuses, of some that no or few drivers know; where nobody can try,
    those that no volume can have."""
    without_type = pb.VolumeCapability(access_mode=Mode(mode=csi.requests.usual_mode))
    impossible = [csi.requests.capability(Mode.UNKNOWN), without_type]
    if not csi.has(CREATE_DELETE_VOLUME):
        return impossible
    rare = [
        *impossible,
        csi.requests.capability(block=False, fs_type="refimpl-nofs"),
        csi.requests.capability(Mode.MULTI_NODE_MULTI_WRITER),
        other_type(csi),
        other_type(csi, Mode.MULTI_NODE_MULTI_WRITER),
    ]
    refused = []
    for use in rare:
        try:
            csi.steps.volume(csi.requests.volume(capabilities=[use]))
        except Refused as refusal:
            if refusal.code == Code.INVALID_ARGUMENT:
                refused.append(use)
    return refused
