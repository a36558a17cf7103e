"""Fields by path."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.engine.mutants.fields import GONE, filled, put, remove, value_of
from refimpl.csi.api import csi_pb2 as pb


def reply() -> pb.ListVolumesResponse:
    """Two volumes."""
    entries = [
        pb.ListVolumesResponse.Entry(volume=pb.Volume(volume_id=id, volume_context={"a": id}))
        for id in "xy"
    ]
    return pb.ListVolumesResponse(entries=entries, next_token="n")


def test_a_value_is_put_wherever_the_path_leads() -> None:
    """Of a list into every item, or into the one with that number."""
    message = reply()
    put(message, "next_token", "")
    put(message, "entries.volume.capacity_bytes", 7)
    put(message, "entries.1.volume.volume_id", "z")
    put(message, "entries.volume.volume_context.b", "c")
    assert message.next_token == ""
    assert [entry.volume.capacity_bytes for entry in message.entries] == [7, 7]
    assert [entry.volume.volume_id for entry in message.entries] == ["x", "z"]
    assert dict(message.entries[0].volume.volume_context) == {"a": "x", "b": "c"}


def test_a_function_is_given_what_is_there() -> None:
    """It may return another value, or change a list or map in its place."""
    message = reply()
    put(message, "entries.volume.volume_id", str.upper)
    put(message, "entries", lambda entries: [*entries, *entries[:1]])
    put(message, "entries.volume.volume_context", lambda context: context.update({"b": "c"}))
    assert [entry.volume.volume_id for entry in message.entries] == ["X", "Y", "X"]
    assert all(entry.volume.volume_context["b"] == "c" for entry in message.entries)


def test_what_a_function_leaves_alone_stays_unset() -> None:
    """No message is made on the way to a field that keeps its default."""
    request = pb.CreateVolumeRequest(name="v")
    put(request, "capacity_range.required_bytes", lambda size: size)
    assert not request.HasField("capacity_range")
    put(request, "capacity_range.required_bytes", lambda size: size + 1)
    assert request.capacity_range.required_bytes == 1


def test_a_message_and_a_map_are_replaced_whole() -> None:
    """As assignment would, if protobuf had it."""
    request = pb.CreateVolumeRequest(parameters={"a": "b"})
    put(request, "parameters", {"c": "d"})
    put(request, "capacity_range", pb.CapacityRange(limit_bytes=5))
    assert dict(request.parameters) == {"c": "d"}
    assert request.capacity_range.limit_bytes == 5


def test_fields_are_removed_and_none_is_made_by_that() -> None:
    """A oneof keeps its other member."""
    capability = pb.VolumeCapability(block=pb.VolumeCapability.BlockVolume())
    request = pb.NodeStageVolumeRequest(volume_capability=capability, publish_context={"a": "b"})
    remove(request, "volume_capability.mount.fs_type")
    assert request.volume_capability.HasField("block")
    remove(request, "publish_context.a")
    remove(request, "volume_capability")
    assert request == pb.NodeStageVolumeRequest()
    message = reply()
    remove(message, "entries.0")
    assert [entry.volume.volume_id for entry in message.entries] == ["y"]


@pytest.mark.parametrize(
    ("path", "there"),
    [
        ("next_token", True),
        ("entries", True),
        ("entries.volume", True),
        ("entries.volume.volume_id", True),
        ("entries.volume.capacity_bytes", False),
        ("entries.status", False),
        ("entries.status.published_node_ids", False),
    ],
)
def test_whether_something_is_there(path: str, there: bool) -> None:
    """A message that is set, or what is not empty."""
    assert filled(reply(), path) is there


def test_a_value_is_read() -> None:
    """The first, of several; a default of protobuf, and None of a document."""
    assert value_of(reply(), "entries.volume.volume_id") == "x"
    assert value_of(pb.CreateVolumeRequest(), "capacity_range.limit_bytes") == 0
    assert value_of({"a": {}}, "a.b.c") is None
    assert value_of({"a": {"b": 1}}, "a.b") == 1


def test_documents_have_paths_as_well() -> None:
    """Objects, lists of objects, numbers of items."""
    document: Any = {"name": "n", "plugins": [{"type": "a", "mtu": 1}, {"type": "b"}]}
    put(document, "plugins.0.type", "c")
    put(document, "plugins.mtu", lambda mtu: mtu + 1)
    put(document, "plugins.dns", True)
    remove(document, "name")
    remove(document, "plugins.1.type")
    assert document == {"plugins": [{"type": "c", "mtu": 2, "dns": True}, {"dns": True}]}
    put(document, "plugins.1", {"type": "d"})
    assert document["plugins"][1] == {"type": "d"}


def test_where_a_document_is_made_otherwise_nothing_is_done() -> None:
    """Documents under test are wrong in many ways."""
    for document in ({"plugins": 5}, {"plugins": ["a"]}, [], {"plugins": None}):
        before = repr(document)
        put(document, "plugins.type", "x")
        put(document, "plugins.3.type", "x")
        remove(document, "plugins.type")
        assert repr(document) == before


def test_what_is_put_as_gone_is_removed() -> None:
    """So that a value says all that can be wrong with a field."""
    document: Any = {"a": {"b": 1, "c": 2}}
    put(document, "a.b", GONE)
    assert document == {"a": {"c": 2}}
