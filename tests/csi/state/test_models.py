"""The records."""

from __future__ import annotations

import attrs
import pytest

from refimpl.csi.api import csi_pb2 as pb
from refimpl.csi.state import models
from refimpl.csi.state.models import AccessMode, StorageStatus, Topology, VolumeStatus

KINDS = (VolumeStatus, StorageStatus, AccessMode)
WIRE = (
    pb.VolumeHealthErrorType,
    pb.StorageHealthErrorType,
    pb.VolumeCapability.AccessMode.Mode,
)


@pytest.mark.parametrize(("members", "wire"), list(zip(KINDS, WIRE, strict=True)))
def test_numbers_are_those_of_the_wire(members: type[AccessMode], wire: type) -> None:
    """They are sent as they are."""
    assert {item.name: item.value for item in members if item} == {
        name: number for name, number in wire.items() if number
    }


def test_modes_know_what_they_allow() -> None:
    """Derived from their names, which are the interface's."""
    assert [mode.value for mode in AccessMode if mode.multi_node] == [3, 4, 5]
    assert [mode.value for mode in AccessMode if mode.read_only] == [2, 3]


def test_places_compare_whatever_the_order_of_their_segments() -> None:
    """Maps have none."""
    assert Topology.of({"b": "2", "a": "1"}) == Topology.of({"a": "1", "b": "2"})
    assert hash(Topology.of({"b": "2", "a": "1"})) == hash(Topology.of({"a": "1", "b": "2"}))


def test_every_record_is_immutable() -> None:
    """Lists and logs read them outside of the lock."""
    records = [item for item in vars(models).values() if isinstance(item, type) and attrs.has(item)]
    assert len(records) > 10
    for record in records:
        assert record.__setattr__ is not object.__setattr__, record
