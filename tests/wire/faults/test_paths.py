"""Fields are named by dotted paths, and a path that is not there says what is."""

import pytest
from google.protobuf import api_pb2, descriptor_pb2, descriptor_pool, struct_pb2, wrappers_pb2
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from refimpl.csi.api import csi_pb2 as csi
from refimpl.wire.faults.edits import Edits
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
    ("path", "values"),
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
def test_a_path_finds_scalars_elements_and_entries(path: str, values: list[object]) -> None:
    """The forms a rule may use; what is unset is not found, rather than found empty."""
    assert sorted(map(str, resolve(REPLY, path).values(listing()))) == sorted(map(str, values))


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
    ("path", "message"),
    [
        ("volume_idd", "Volume has no field 'volume_idd', did you mean volume_id?"),
        ("volume_id.x", "nothing can follow volume_id, a scalar"),
        ("accessible_topology.first.segments", "is a list, 'first' is no index"),
        ("accessible_topology..segments", "is no path"),
        ("accessible_topology.0]b", "is no path"),
        ("", "the path is empty"),
    ],
)
def test_a_path_that_is_not_there_says_what_is(path: str, message: str) -> None:
    """A typing mistake in a rule is found when it is loaded, not never."""
    with pytest.raises(PathError) as caught:
        resolve(VOLUME, path)
    assert message in str(caught.value)


def keyed() -> Message:
    """A message with maps whose keys are numbers and truth values; our schemas have none."""
    file = descriptor_pb2.FileDescriptorProto(name="keyed.proto", package="keyed", syntax="proto3")
    message = file.message_type.add(name="Keyed")
    for number, (name, kind) in enumerate({"ints": "INT32", "bools": "BOOL"}.items(), start=1):
        entry = message.nested_type.add(name=f"{name.capitalize()}Entry")
        entry.options.map_entry = True
        entry.field.add(name="key", number=1, type=f"TYPE_{kind}", label="LABEL_OPTIONAL")
        entry.field.add(name="value", number=2, type="TYPE_STRING", label="LABEL_OPTIONAL")
        message.field.add(
            name=name,
            number=number,
            label="LABEL_REPEATED",
            type="TYPE_MESSAGE",
            type_name=f".keyed.Keyed.{entry.name}",
        )
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return GetMessageClass(pool.FindMessageTypeByName("keyed.Keyed"))()


def test_keys_that_are_no_text_are_read_as_what_they_are() -> None:
    """Numbers and truth values, and nothing else where those are wanted."""
    edits = Edits({"ints.-7": "a", "bools.true": "b", "bools.false": "c", "ints.1": None})
    message, problems = edits.applied(keyed())
    assert problems == []
    values = {text: resolve(message.DESCRIPTOR, text).values(message) for text in edits.values}
    assert values == {"ints.-7": ["a"], "bools.true": ["b"], "bools.false": ["c"], "ints.1": []}
    for text in ("ints.x", "bools.1"):
        with pytest.raises(PathError, match="is no key that"):
            resolve(message.DESCRIPTOR, text)


def test_a_list_as_a_whole_has_no_fields() -> None:
    """The element is easily forgotten."""
    with pytest.raises(PathError, match="is no index"):
        resolve(api_pb2.Api.DESCRIPTOR, "methods.name")
