"""Places: grammar, and the choice among them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refimpl.csi.state.models import Topology, TopologyRequirement
from refimpl.csi.state.settings import DriverSettings
from refimpl.csi.state.volumes import topology
from refimpl.wire.status import Code, Refused

KEY = "topology.csi.refimpl.example/zone"
A, B, C = (Topology(((KEY, name),)) for name in ("a", "b", "c"))
FOREIGN = Topology((("other.example/rack", "r1"),))
ALL = (A, B, C)


@pytest.mark.parametrize(
    "segments",
    [
        {KEY: "a"},
        {"zone": "a"},
        {"z" * 63: "v" * 63},
        {"p" * 63 + "/z": "a"},
        {"a.b/Z_z-z.z": "A_a-a.a"},
        {"a/x": "1", "a/y": "2"},
        {},
    ],
)
def test_well_formed_places_pass(segments: dict[str, str]) -> None:
    """Key: [prefix/]name; value: like a name."""
    topology.check_place("field", Topology.of(segments))


@pytest.mark.parametrize(
    "segments",
    [
        {"": "a"},
        {"/zone": "a"},
        {"Up.example/zone": "a"},
        {"a/b/c": "a"},
        {"-zone": "a"},
        {"zone-": "a"},
        {"z" * 64: "a"},
        {"p" * 64 + "/z": "a"},
        {"zone": ""},
        {"zone": "v" * 64},
        {"zone": "a b"},
        {"Zone": "a", "zone": "b"},
    ],
)
def test_malformed_places_are_refused(segments: dict[str, str], refused: Any) -> None:
    """Keys must differ in more than case."""
    with refused(Code.INVALID_ARGUMENT, "field"):
        topology.check_place("field", Topology.of(segments))


def test_a_requirement_names_at_least_one_place(refused: Any) -> None:
    """And prefers nothing that it does not require."""
    topology.check("field", TopologyRequirement((A,), (A,)))
    topology.check("field", TopologyRequirement((), (A,)))
    with refused(Code.INVALID_ARGUMENT, "neither"):
        topology.check("field", TopologyRequirement())
    with refused(Code.INVALID_ARGUMENT, "preferred"):
        topology.check("field", TopologyRequirement((A,), (B,)))


@pytest.mark.parametrize(
    ("requisite", "preferred", "count", "places"),
    [
        ((), (), 1, (A,)),
        ((B,), (), 1, (B,)),
        ((C, B), (), 1, (C,)),
        ((A, B, C), (C,), 1, (C,)),
        ((A, B, C), (C, A), 2, (C, A)),
        ((A, B), (), 2, (A, B)),  # as many as required: all of them
        ((B,), (), 2, (B, A)),  # more than required: all of them and others
        ((B,), (), 9, (B, A, C)),
        ((FOREIGN, B), (FOREIGN,), 1, (B,)),  # the preferred place cannot be had
        ((), (FOREIGN, C), 1, (C,)),
        ((Topology(),), (), 1, (A,)),  # a term without segments fits everywhere
    ],
)
def test_places_are_chosen_in_order(
    requisite: topology.Places, preferred: topology.Places, count: int, places: topology.Places
) -> None:
    """Preferred first, then requisite, then others (n required, x usable)."""
    requirement = TopologyRequirement(requisite, preferred)
    sent_requirement = requirement if requisite or preferred else None
    assert topology.choose("it", sent_requirement, ALL, count) == places


@pytest.mark.parametrize(
    ("requirement", "possible"),
    [
        (TopologyRequirement((FOREIGN,)), ALL),
        (TopologyRequirement((), (FOREIGN,)), ALL),
        (TopologyRequirement((C,)), (A, B)),
        (None, ()),
    ],
)
def test_what_cannot_be_had_is_exhausted(
    requirement: TopologyRequirement | None, possible: topology.Places, refused: Any
) -> None:
    """RESOURCE_EXHAUSTED lets a scheduler try another node."""
    with refused(Code.RESOURCE_EXHAUSTED, "it can be had"):
        topology.choose("it", requirement, possible, 1)


TERMS = st.lists(st.sampled_from([A, B, C, FOREIGN]), max_size=4).map(tuple)


@given(TERMS, TERMS, st.lists(st.sampled_from(ALL), unique=True).map(tuple), st.integers(1, 4))
def test_the_rule_of_n_and_x_holds(
    requisite: topology.Places, preferred: topology.Places, possible: topology.Places, count: int
) -> None:
    """x < n: a part of the requisite; x == n: all; x > n: all and others; met afterwards."""
    requirement = TopologyRequirement(requisite, tuple(t for t in preferred if t in requisite))
    if not requisite:
        return
    try:
        places = topology.choose("it", requirement, possible, count)
    except Refused:
        assert not set(requisite) & set(possible)
        return
    feasible = set(requisite) & set(possible)
    assert topology.met(requirement, places)
    assert len(places) == len(set(places)) == min(count, len(possible))
    assert set(places) <= feasible if count <= len(feasible) else set(places) >= feasible
    allowed = [place for place in requirement.preferred if place in possible]
    assert not allowed or places[0] == allowed[0]


def test_a_requirement_is_met_by_any_place_it_names() -> None:
    """Where there is no requisite the preferred ones are what is asked for."""
    assert topology.met(None, ())
    assert topology.met(TopologyRequirement((A, B)), (B, C))
    assert not topology.met(TopologyRequirement((A, B)), (C,))
    assert topology.met(TopologyRequirement((), (C,)), (C,))
    assert not topology.met(TopologyRequirement((FOREIGN,)), ALL)


def test_nodes_fill_the_zones_in_order() -> None:
    """Two in the first, two in the second, then from the start."""
    settings = DriverSettings(zones=("x", "y"), nodes_per_zone=2)
    zones = [topology.place_of_node(settings, index).segments[0][1] for index in range(5)]
    assert zones == ["x", "x", "y", "y", "x"]


def test_a_driver_without_zones_has_no_places() -> None:
    """Then nodes lie nowhere in particular."""
    settings = DriverSettings().without(
        "VOLUME_ACCESSIBILITY_CONSTRAINTS", "SNAPSHOT_ACCESSIBILITY_CONSTRAINTS"
    )
    bare = settings.with_(zones=())
    assert topology.places(bare) == ()
    assert topology.place_of_node(bare, 0) == Topology()
