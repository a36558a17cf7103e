"""Between messages and records."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refimpl.csi import codec
from refimpl.csi.api import csi_pb2 as pb
from refimpl.csi.state.models import (
    AccessMode,
    ContentSource,
    GroupSnapshot,
    Snapshot,
    Topology,
    Volume,
    VolumeCapability,
    VolumeFault,
    VolumeHealth,
    VolumeStatus,
)

PLACE = Topology((("example/zone", "a"),))
CAPABILITIES = st.builds(
    VolumeCapability,
    st.just("mount"),
    st.sampled_from(AccessMode),
    st.text(),
    st.lists(st.text()).map(tuple),
    st.text(),
) | st.builds(VolumeCapability, st.just("block"), st.sampled_from(AccessMode))


@given(CAPABILITIES)
def test_a_capability_survives_the_way_there_and_back(capability: VolumeCapability) -> None:
    """Each field of it decides something."""
    assert codec.capability_in(codec.capability_out(capability)) == capability


def test_what_is_missing_or_unknown_stays_visible() -> None:
    """The rules, not the codec, refuse it."""
    bare = codec.capability_in(pb.VolumeCapability())
    assert (bare.access, bare.mode) == ("", AccessMode.UNKNOWN)
    strange = pb.VolumeCapability()
    strange.access_mode.ParseFromString(b"\x08\x63")  # mode 99
    assert codec.capability_in(strange).mode == AccessMode.UNKNOWN
    assert codec.source_in(pb.VolumeContentSource()) == ContentSource("", "")  # type: ignore[arg-type]


@pytest.mark.parametrize("source", [ContentSource("snapshot", "s"), ContentSource("volume", "v")])
def test_a_source_survives_the_way_there_and_back(source: ContentSource) -> None:
    """Its kind is the field it is in."""
    assert codec.source_in(codec.source_out(source)) == source


def test_requirements_keep_their_order() -> None:
    """The first preferred place is tried first."""
    message = pb.TopologyRequirement(
        requisite=[pb.Topology(segments={"z": name}) for name in "abc"],
        preferred=[pb.Topology(segments={"z": "c"})],
    )
    decoded = codec.requirement_in(message)
    assert [place.segments[0][1] for place in decoded.requisite] == ["a", "b", "c"]
    assert decoded.preferred == (decoded.requisite[2],)
    assert codec.topology_out(decoded.preferred[0]) == message.preferred[0]


def test_ranges_are_taken_as_sent() -> None:
    """Also a nonsensical one."""
    decoded = codec.range_in(pb.CapacityRange(required_bytes=-1, limit_bytes=7))
    assert (decoded.required, decoded.limit) == (-1, 7)


def test_a_volume_shows_what_it_has() -> None:
    """An unset source and place stay unset; an unknown size is 0."""
    volume = Volume("id", "name", 7, "mount", (), context={"k": "v"})
    assert codec.volume_out(volume) == pb.Volume(
        volume_id="id", capacity_bytes=7, volume_context={"k": "v"}
    )
    copy = Volume(
        "id", "name", 7, "mount", (), source=ContentSource("volume", "v"), topology=(PLACE,)
    )
    decoded = codec.volume_out(copy, sized=False)
    assert decoded.capacity_bytes == 0
    assert decoded.content_source.volume.volume_id == "v"
    assert decoded.accessible_topology[0].segments == {"example/zone": "a"}


@given(st.floats(0, 1e11))
def test_a_moment_is_exact_and_always_the_same(seconds: float) -> None:
    """Two answers about one snapshot must have equal times."""
    moment = codec.moment_out(seconds)
    assert moment == codec.moment_out(seconds)
    assert 0 <= moment.nanos < 10**9
    assert abs(moment.seconds + moment.nanos / 1e9 - seconds) < 1e-3


def test_a_group_is_ready_once_all_members_are() -> None:
    """And each member carries its id."""
    early, late = (
        Snapshot(f"s{now}", "", "v", 1, "mount", 1.5, now, "g", (PLACE,)) for now in (2.0, 9.0)
    )
    group = GroupSnapshot("g", "name", ("v", "w"), (early, late), 1.5)
    waiting, ready = codec.group_out(group, 5.0), codec.group_out(group, 9.0)
    assert [snapshot.ready_to_use for snapshot in waiting.snapshots] == [True, False]
    assert (waiting.ready_to_use, ready.ready_to_use) == (False, True)
    assert {snapshot.group_snapshot_id for snapshot in ready.snapshots} == {"g"}
    assert ready.creation_time.nanos == 500_000_000
    assert ready.snapshots[0].accessible_topology[0].segments == {"example/zone": "a"}


def test_health_and_condition_are_two_views_of_faults() -> None:
    """1.13 and 1.12."""
    health = VolumeHealth("v", (VolumeFault(VolumeStatus.DATA_LOSS, "Rot", "gone"),))
    (entry,) = codec.health_out(health).health_statuses
    assert (entry.status, entry.reason, entry.message) == (pb.DATA_LOSS, "Rot", "gone")
    assert codec.condition_out((True, "gone")) == pb.VolumeCondition(abnormal=True, message="gone")
