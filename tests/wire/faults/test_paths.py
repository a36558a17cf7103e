"""Fields are named by dotted paths, and a path that is not there says what is."""

import pytest
from google.protobuf import api_pb2, struct_pb2, wrappers_pb2

from refimpl.csi.api import csi_pb2 as csi
from refimpl.wire.faults.paths import PathError, resolve

REPLY = csi.ListVolumesResponse.DESCRIPTOR
VOLUME = csi.Volume.DESCRIPTOR


def listing() -> csi.ListVolumesResponse:
    """Two volumes, the second with a context whose keys have dots."""
    return csi.ListVolumesResponse(
        entries=[
            {"volume": {"volume_id": "a", "capacity_bytes": 1}},
            {"volume": {"volume_id": "b", "volume_context": {"x.y/z": "1", "tier": "gold"}}},
        ],
        next_token="t",
    )


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("next_token", ["t"]),
        ("entries.0.volume.volume_id", ["a"]),
        ("entries[1].volume.volume_id", ["b"]),
        ("entries.*.volume.volume_id", ["a", "b"]),
        ("entries.7.volume.volume_id", []),
        ("entries.1.volume.volume_context.tier", ["gold"]),
        ("entries.1.volume.volume_context.x.y/z", ["1"]),
        ('entries.1.volume.volume_context["x.y/z"]', ["1"]),
        ("entries.*.volume.volume_context.*", ["1", "gold"]),
        ("entries.0.volume.volume_context.tier", []),
        ("entries.0.status", []),
    ],
)
def test_a_path_finds_scalars_elements_and_entries(path: str, found: list[object]) -> None:
    """The forms a rule may use; what is unset is not found, rather than found empty."""
    assert sorted(map(str, resolve(REPLY, path).values(listing()))) == sorted(map(str, found))


def test_a_map_of_messages_continues_after_its_key() -> None:
    """Only where the values are scalars does the key take all that follows."""
    message = struct_pb2.Struct()
    message["a.b"] = "deep"
    path = resolve(struct_pb2.Struct.DESCRIPTOR, 'fields["a.b"].string_value')
    assert path.values(message) == ["deep"]


def test_an_optional_scalar_is_found_only_when_set() -> None:
    """Presence is what tells zero from absent in the wrappers that CSI uses."""
    path = resolve(csi.ProbeResponse.DESCRIPTOR, "ready.value")
    assert path.values(csi.ProbeResponse()) == []
    assert path.values(csi.ProbeResponse(ready=wrappers_pb2.BoolValue())) == [False]


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("volume_idd", "Volume has no field 'volume_idd', did you mean volume_id?"),
        ("volume_id.x", "nothing can follow volume_id, a scalar"),
        ("accessible_topology.first.segments", "is a list, 'first' is no index"),
        ("accessible_topology..segments", "is no path"),
        ("accessible_topology.0]b", "is no path"),
        ("", "the path is empty"),
    ],
)
def test_a_path_that_is_not_there_says_what_is(path: str, says: str) -> None:
    """A typing mistake in a rule is found when it is loaded, not never."""
    with pytest.raises(PathError) as caught:
        resolve(VOLUME, path)
    assert says in str(caught.value)


def test_a_list_as_a_whole_has_no_fields() -> None:
    """The element is easily forgotten."""
    with pytest.raises(PathError, match="is no index"):
        resolve(api_pb2.Api.DESCRIPTOR, "methods.name")
