"""The grammar of places, and what can be used from where."""

from __future__ import annotations

import pytest

from conformance.csi.common import places
from refimpl.csi.api import csi_pb2 as pb


@pytest.mark.parametrize(
    "place",
    [
        {"zone": "a"},
        {"topology.example.com/zone": "Z-1_x.y"},
        {"x" * 63: "y" * 63},
        {"a.b/c": "d", "a.b/e": "f"},
    ],
)
def test_a_well_formed_place_has_no_problems(place: dict[str, str]) -> None:
    """An optional prefix as DNS knows it, and a name of up to 63 characters."""
    assert list(places.problems(place)) == []


@pytest.mark.parametrize(
    ("place", "problem"),
    [
        ({"": "a"}, "'' is no [prefix/]name"),
        ({"/zone": "a"}, "'/zone' is no [prefix/]name"),
        ({"Up.Case/zone": "a"}, "'Up.Case/zone' is no [prefix/]name"),
        ({"-zone": "a"}, "'-zone' is no [prefix/]name"),
        ({"x" * 64: "a"}, f"{'x' * 64!r} is no [prefix/]name"),
        ({"zone": ""}, "'' is no value"),
        ({"zone": "a b"}, "'a b' is no value"),
        ({"zone": "a\n"}, "'a\\n' is no value"),
        ({"zone": "a", "Zone": "b"}, "'Zone' differs from another key in case only"),
    ],
)
def test_what_breaks_the_grammar_is_named(place: dict[str, str], problem: str) -> None:
    """As a phrase of the failure."""
    assert list(places.problems(place)) == [problem]


def test_prefixes_are_told_apart() -> None:
    """A key without one counts as its own kind."""
    keys = ["a.example/zone", "a.example/rack", "b.example/x", "zone"]
    assert places.prefixes(keys) == {"a.example", "b.example", ""}


def test_a_volume_is_usable_from_a_place_with_all_of_its_segments() -> None:
    """One of its topologies is enough; a volume without any is usable everywhere."""
    volume = pb.Volume()
    assert places.usable_from(volume, {"zone": "a"})
    volume.accessible_topology.add(segments={"zone": "a", "rack": "1"})
    volume.accessible_topology.add(segments={"zone": "b"})
    assert places.usable_from(volume, {"zone": "a", "rack": "1", "host": "h"})
    assert not places.usable_from(volume, {"zone": "a"})
    assert places.usable_from(volume, {"zone": "b", "rack": "9"})
    assert not places.usable_from(volume, {})


def test_nowhere_has_the_shape_of_a_place() -> None:
    """The same keys, so that a driver looks at the values."""
    assert places.nowhere({"zone": "a", "rack": "1"}).keys() == {"zone", "rack"}
    assert list(places.problems(places.nowhere({"zone": "a"}))) == []
