"""CreateVolume: where a volume can be used."""

from __future__ import annotations

from collections.abc import Iterable

from conformance.csi.common import places
from conformance.csi.common.places import Place
from conformance.csi.common.repeats import expect_taken
from conformance.csi.needs import CREATE_DELETE_VOLUME, NODE, PLACE, TOPOLOGY, without
from conformance.csi.target import CsiTarget
from conformance.engine.case import case
from conformance.engine.needs import Need
from conformance.engine.verdict import expect, expect_status, together
from refimpl.csi.api import csi_pb2 as pb
from refimpl.wire.status import Code

NEEDS: list[Need] = [CREATE_DELETE_VOLUME, TOPOLOGY, PLACE]


@case("CSI-CTRL-054", "CSI 1.13 TopologyRequirement", needs=NEEDS)
def test_a_volume_can_be_used_where_it_is_required(csi: CsiTarget) -> None:
    """The pod is bound to that node already; a volume elsewhere leaves it pending for ever."""
    here = csi.preconditions.place
    volume = csi.steps.volume(_placed(csi, requisite=[here]))
    _expect_usable(volume, here, "a volume can be used at the only requisite place")


@case("CSI-CTRL-055", "CSI 1.13 CreateVolume", needs=NEEDS)
def test_a_place_that_cannot_be_reached_is_exhausted(csi: CsiTarget) -> None:
    """On RESOURCE_EXHAUSTED the scheduler looks for another node; a volume made elsewhere, or
    another code, leaves the pod waiting. A pool that is full answers the same, hence the volume
    that can be made."""
    assert csi.steps.volume().volume_id
    request = _placed(csi, requisite=[places.nowhere(csi.preconditions.place)])
    expect_status(
        lambda: csi.controller.CreateVolume(request),
        {Code.RESOURCE_EXHAUSTED},
        "a volume required where none can be is refused",
    )


@case("CSI-CTRL-056", "CSI 1.13 TopologyRequirement", needs=NEEDS)
def test_the_first_preferred_place_that_is_possible_is_taken(csi: CsiTarget) -> None:
    """The first one is the node the pod is to run on. Where a second node tells another place,
    both orders are tried; else one place is preferred that does not exist."""
    here, there = csi.preconditions.place, _there(csi)
    volume = csi.steps.volume(_placed(csi, preferred=[places.nowhere(here), here]))
    with together() as check:
        with check:
            _expect_usable(volume, here, "a volume goes to the first preferred place that exists")
        for first, second in ((here, there), (there, here)) if there else ():
            with check:
                request = _placed(csi, requisite=[here, there], preferred=[first, second])
                _expect_usable(
                    csi.steps.volume(request), first, "a volume goes to the place preferred first"
                )


@case("CSI-CTRL-057", "CSI 1.13 TopologyRequirement", needs=NEEDS)
def test_a_preferred_place_outside_of_the_requisite_is_refused(csi: CsiTarget) -> None:
    """The two lists contradict each other; following one of them breaks what the other asks."""
    here = csi.preconditions.place
    request = _placed(csi, requisite=[here], preferred=[places.nowhere(here)])
    expect_status(
        lambda: csi.controller.CreateVolume(request),
        {Code.INVALID_ARGUMENT},
        "a preferred place that is not requisite is refused",
    )


@case("CSI-CTRL-058", "CSI 1.13 CreateVolume", needs=[CREATE_DELETE_VOLUME, TOPOLOGY])
def test_a_volume_without_a_required_place_is_put_somewhere(csi: CsiTarget) -> None:
    """Clusters without topology ask like that; the answer names real places, or all by silence."""
    volume = csi.steps.volume(_placed(csi))
    empty = [place for place in volume.accessible_topology if not place.segments]
    expect(
        not empty,
        "a volume that names places names them by segments",
        wanted="segments in each accessible_topology, or none",
        got=volume,
    )


@case("CSI-CTRL-059", "CSI 1.13 CreateVolume", needs=NEEDS)
def test_a_repeated_create_for_another_place_is_refused(csi: CsiTarget) -> None:
    """Answered with what exists, the claim binds to a volume its pod can never reach."""
    here = csi.preconditions.place
    request = _placed(csi, requisite=[here])
    csi.steps.volume(request)
    other = _placed(csi, requisite=[places.nowhere(here)])
    other.name = request.name
    expect_taken(csi, other, "the name of a volume, required where it is not, is refused")


@case("CSI-CTRL-060", "CSI 1.13 Topology", needs=NEEDS)
def test_places_are_written_by_one_grammar(csi: CsiTarget) -> None:
    """They become labels of nodes and terms of volumes; a misfit refuses a node or a pod."""
    volume = csi.steps.volume(_placed(csi, requisite=[csi.preconditions.place]))
    named = [
        csi.preconditions.place,
        *(dict(place.segments) for place in volume.accessible_topology),
    ]
    problems = [problem for place in named for problem in places.problems(place)]
    with together() as check:
        with check:
            expect(
                not problems,
                "keys and values of places follow the grammar of Topology",
                wanted="[prefix/]name and a value, each of at most 63 characters",
                got="; ".join(problems),
            )
        prefixes = places.prefixes(key for place in named for key in place)
        with check:
            expect(
                len(prefixes) == 1,
                "NodeGetInfo and CreateVolume use one prefix for all keys",
                wanted="one prefix",
                got=sorted(prefixes),
            )


@case(
    "CSI-CTRL-061",
    "CSI 1.13 Volume",
    needs=[CREATE_DELETE_VOLUME, without(TOPOLOGY)],
)
def test_a_driver_without_topology_names_no_place(csi: CsiTarget) -> None:
    """A volume with places binds pods to nodes with labels that nobody ever gives them."""
    volume = csi.steps.volume()
    expect(
        not volume.accessible_topology,
        "a driver without VOLUME_ACCESSIBILITY_CONSTRAINTS returns no accessible_topology",
        wanted="no accessible_topology",
        got=volume,
    )


def _there(csi: CsiTarget) -> Place:
    """Where another node is, if there is one and that is another place; empty otherwise."""
    for node in csi.nodes[1:] if csi.has(NODE) else ():
        segments = node.node.NodeGetInfo(pb.NodeGetInfoRequest()).accessible_topology.segments
        if segments and segments != csi.preconditions.place:
            return dict(segments)
    return {}


def _placed(
    csi: CsiTarget, requisite: Iterable[Place] = (), preferred: Iterable[Place] = ()
) -> pb.CreateVolumeRequest:
    """A CreateVolume with these requirements and no others."""
    request = csi.requests.volume()
    request.ClearField("accessibility_requirements")
    for place in requisite:
        request.accessibility_requirements.requisite.add(segments=place)
    for place in preferred:
        request.accessibility_requirements.preferred.add(segments=place)
    return request


def _expect_usable(volume: pb.Volume, place: Place, rule: str) -> None:
    expect(
        places.usable_from(volume, place),
        rule,
        wanted=f"accessible_topology with {dict(place)}",
        got=[dict(topology.segments) for topology in volume.accessible_topology],
    )
