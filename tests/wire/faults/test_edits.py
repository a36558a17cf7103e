"""Replies are changed by assigning JSON values to paths."""

from typing import Any

import pytest

from refimpl.csi.api import csi_pb2 as csi
from refimpl.dra.api import dra_v1_pb2 as dra
from refimpl.wire.faults.edits import Edits
from refimpl.wire.faults.paths import PathError


def volume_reply() -> csi.CreateVolumeResponse:
    """What a driver might answer."""
    return csi.CreateVolumeResponse(
        volume={
            "volume_id": "v1",
            "capacity_bytes": 10,
            "volume_context": {"a": "1", "b": "2"},
            "accessible_topology": [{"segments": {"zone": "z1"}}, {"segments": {"zone": "z2"}}],
            "content_source": {"volume": {"volume_id": "parent"}},
        }
    )


@pytest.mark.parametrize(
    ("path", "value", "seen"),
    [
        ("volume.volume_id", "", lambda v: v.volume_id == ""),
        ("volume.capacity_bytes", -1, lambda v: v.capacity_bytes == -1),
        ("volume.capacity_bytes", "9007199254740993", lambda v: v.capacity_bytes == 2**53 + 1),
        ("volume.volume_context.a", "9", lambda v: dict(v.volume_context) == {"a": "9", "b": "2"}),
        ("volume.volume_context.c", "3", lambda v: v.volume_context["c"] == "3"),
        ("volume.volume_context.a", None, lambda v: dict(v.volume_context) == {"b": "2"}),
        ("volume.volume_context.z", None, lambda v: len(v.volume_context) == 2),
        ("volume.volume_context.*", "0", lambda v: dict(v.volume_context) == {"a": "0", "b": "0"}),
        ("volume.volume_context", {"n": "1"}, lambda v: dict(v.volume_context) == {"n": "1"}),
        ("volume.volume_context", {}, lambda v: not v.volume_context),
        ("volume.accessible_topology", None, lambda v: not v.accessible_topology),
        ("volume.accessible_topology", [], lambda v: not v.accessible_topology),
        ("volume.accessible_topology.0", None, lambda v: len(v.accessible_topology) == 1),
        ("volume.accessible_topology.*", None, lambda v: not v.accessible_topology),
        (
            "volume.accessible_topology.*.segments.zone",
            "z9",
            lambda v: [t.segments["zone"] for t in v.accessible_topology] == ["z9", "z9"],
        ),
        (
            "volume.accessible_topology.1",
            {"segments": {"rack": "r"}},
            lambda v: dict(v.accessible_topology[1].segments) == {"rack": "r"},
        ),
        (
            "volume.content_source.snapshot.snapshot_id",
            "s",
            lambda v: v.content_source.WhichOneof("type") == "snapshot",
        ),
        ("volume.content_source", None, lambda v: not v.HasField("content_source")),
        ("volume.content_source", {}, lambda v: v.HasField("content_source")),
    ],
)
def test_a_value_lands_where_the_path_says(path: str, value: Any, seen: Any) -> None:
    """Scalars, entries, elements, whole fields, oneofs, and None to clear."""
    original = volume_reply()
    changed, problems = Edits({path: value}).applied(original)
    assert problems == []
    assert seen(changed.volume)


def test_the_reply_itself_stays_as_it_is() -> None:
    """A fake may answer with an object that it keeps."""
    reply = volume_reply()
    Edits({"volume.volume_id": "other"}).applied(reply)
    assert reply == volume_reply()


def test_a_missing_message_is_made() -> None:
    """A reply without the message still gets the field that the rule sets in it."""
    changed, _ = Edits({"volume.volume_id": "v"}).applied(csi.CreateVolumeResponse())
    assert changed.HasField("volume")
    assert changed.volume.volume_id == "v"


def test_a_wrapper_can_be_set_to_its_zero() -> None:
    """`ready: false` is an answer of its own, different from none."""
    changed, _ = Edits({"ready": False}).applied(csi.ProbeResponse())
    assert changed.HasField("ready")
    assert not changed.ready.value


def test_parts_of_well_known_types_are_fields_like_others() -> None:
    """A timestamp is text in JSON, yet its seconds can be set by themselves."""
    edits = Edits({"snapshot.creation_time.seconds": 5, "snapshot.ready_to_use": True})
    changed, problems = edits.applied(csi.CreateSnapshotResponse())
    assert problems == []
    assert changed.snapshot.creation_time.seconds == 5
    whole = Edits({"snapshot.creation_time": "1970-01-01T00:00:07Z"})
    assert whole.applied(changed)[0].snapshot.creation_time.seconds == 7
    assert Edits({"ready.value": False}).applied(csi.ProbeResponse())[0].HasField("ready")


@pytest.mark.parametrize(("value", "number"), [("GET_VOLUME_STATS", 2), (1, 1), (77, 77)])
def test_an_enum_takes_a_name_or_any_number(value: Any, number: int) -> None:
    """Clients must survive numbers that they do not know (proto3 enums are open)."""
    reply = csi.NodeGetCapabilitiesResponse(capabilities=[{}])
    changed, problems = Edits({"capabilities.0.rpc.type": value}).applied(reply)
    assert problems == []
    assert changed.capabilities[0].rpc.type == number


def test_entries_of_a_map_of_messages_are_messages() -> None:
    """The way into a map that holds more than scalars."""
    edits = Edits(
        {"claims.uid-1.error": "no device", 'claims["a.b"].devices': [{}], "claims.c": {}}
    )
    changed, problems = edits.applied(dra.NodePrepareResourcesResponse())
    assert problems == []
    assert changed.claims["uid-1"].error == "no device"
    assert len(changed.claims["a.b"].devices) == 1
    assert "c" in changed.claims


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("volume.capacity_bytes", "much", "'much' does not fit capacity_bytes (int64)"),
        ("volume.volume_id", 5, "5 does not fit volume_id (string)"),
        ("volume.accessible_topology", {"a": 1}, "accessible_topology (list of Topology)"),
        ("volume.volume_context", {"a": 1}, "volume_context (map of string)"),
        ("volume.content_source", {"disk": {}}, "content_source (VolumeContentSource)"),
        ("volume.name", "x", "Volume has no field 'name'"),
    ],
)
def test_what_does_not_fit_is_found_beforehand(path: str, value: Any, message: str) -> None:
    """The check that a rule gets when it is loaded, and the note it leaves otherwise."""
    edits = Edits({path: value})
    with pytest.raises(PathError) as caught:
        edits.check(csi.CreateVolumeResponse.DESCRIPTOR)
    assert message in str(caught.value)
    unchanged, problems = edits.applied(volume_reply())
    assert unchanged == volume_reply()
    assert problems == [str(caught.value)]


def test_an_index_beyond_the_end_is_a_problem_of_that_reply() -> None:
    """How long a list is can only be seen when it is there; the other edits still apply."""
    edits = Edits({"volume.accessible_topology.5": None, "volume.volume_id": "v2"})
    edits.check(csi.CreateVolumeResponse.DESCRIPTOR)
    changed, problems = edits.applied(volume_reply())
    assert problems == ["'volume.accessible_topology.5': accessible_topology has 2 elements here"]
    assert changed.volume.volume_id == "v2"


def test_an_enum_that_does_not_exist_lists_those_that_do() -> None:
    """The names are what one looks up otherwise."""
    with pytest.raises(PathError, match="one of UNKNOWN, STAGE_UNSTAGE_VOLUME, GET_VOLUME_STATS"):
        Edits({"capabilities.*.rpc.type": "STATS"}).check(
            csi.NodeGetCapabilitiesResponse.DESCRIPTOR
        )


def test_bare_bytes_are_left_alone() -> None:
    """A proxy may not know what it passes on."""
    unchanged, problems = Edits({"a": 1}).applied(b"\x0a")
    assert unchanged == b"\x0a"
    assert problems == ["the reply is of no known type, so its fields cannot be set"]
