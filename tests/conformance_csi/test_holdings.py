"""What a run holds at once, and the bound to it."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.csi.holdings import Holdings
from conformance.csi.settings import CsiSettings
from conformance.csi.sizes import Sizes
from conformance.engine.scope import CaseScope
from refimpl.csi.api import csi_pb2 as pb

CREATE = "/csi.v1.Controller/CreateVolume"
Skipped = pytest.skip.Exception


def held(csi: Any) -> tuple[int, int]:
    """Volumes and bytes."""
    return csi.holdings.volumes, csi.holdings.bytes


def test_volumes_count_from_their_creation_to_their_deletion(csi: Any) -> None:
    """With the size that the driver made, or the one that was asked for."""
    volume = csi.steps.volume(csi.requests.volume(required=1 << 20))
    csi.controller.CreateVolume(csi.requests.volume("one name", required=1 << 20))
    csi.controller.CreateVolume(csi.requests.volume("one name", required=1 << 20))
    assert held(csi) == (2, 2 << 20)
    grown = pb.ControllerExpandVolumeRequest(volume_id=volume.volume_id)
    grown.capacity_range.required_bytes = 3 << 20
    csi.controller.ControllerExpandVolume(grown)
    assert held(csi) == (2, 4 << 20)
    csi.scope.close()
    assert held(csi) == (0, 0)


@pytest.mark.parametrize(
    ("chosen", "volumes", "size"), [({"most_bytes": 3 << 20}, 2, 2 << 20), ({}, 16, 1 << 20)]
)
def test_a_case_that_wants_more_is_skipped_before_it_gets_it(
    opened: Any, chosen: dict[str, int], volumes: int, size: int
) -> None:
    """The message names the bound, so that the user can move it."""
    csi = opened(settings=CsiSettings(**chosen))
    for _ in range(volumes):
        csi.steps.volume(csi.requests.volume(required=1 << 20))
    bound = next(iter(chosen), "most_volumes")
    with pytest.raises(Skipped, match=f"than {bound} = "):
        csi.steps.volume(csi.requests.volume(required=size))
    assert csi.holdings.volumes == len(csi.fake.state.tables.volumes) == volumes


@pytest.mark.parametrize(
    ("chosen", "most"),
    [({}, 4 << 30), ({"volume_size": 1 << 30}, 16 << 30), ({"most_bytes": 5}, 5)],
)
def test_large_volumes_may_take_what_they_need(chosen: dict[str, int], most: int) -> None:
    """A user who has chosen their size has room for some of them."""
    assert _holdings(**chosen).most_bytes == most


def test_what_is_asked_for_to_be_refused_is_not_counted() -> None:
    """More than there can be, or than the driver says that it makes. A limit counts as a size."""
    holdings = _holdings(told=7, most_bytes=6)
    for name, size in (("a", 8), ("b", 2**63 - 1)):
        holdings.before(CREATE, _create(name, required_bytes=size))
    with pytest.raises(Skipped):
        holdings.before(CREATE, _create("c", limit_bytes=7))
    holdings.before(CREATE, _create("c", limit_bytes=7))  # a repeat makes nothing further


def test_a_heavy_case_may_hold_more(csi: Any) -> None:
    """The user has asked for such cases; the next one is bound again."""
    csi.holdings.most_volumes = 0
    csi.begin(CaseScope(heavy=True))
    csi.shared.volume()
    csi.begin(CaseScope())
    with pytest.raises(Skipped):
        csi.steps.volume()


def _create(name: str, **sizes: int) -> pb.CreateVolumeRequest:
    return pb.CreateVolumeRequest(name=name, capacity_range=pb.CapacityRange(**sizes))


def _holdings(told: int = 0, **chosen: int) -> Holdings:
    """Of a driver that tells `told` as the size of its largest volume."""
    settings, capacity = CsiSettings(**chosen), pb.GetCapacityResponse()  # type: ignore[arg-type]
    if told:
        capacity.maximum_volume_size.value = told
    return Holdings(settings, Sizes(settings, lambda: capacity, lambda _: True))
