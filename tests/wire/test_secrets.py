"""What is written to a journal is readable and holds no secret."""

import json
from typing import Any

import pytest
from google.protobuf import descriptor_pb2, struct_pb2
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from refimpl.csi.api import csi_pb2
from refimpl.wire.secrets import holds_secrets, is_secret, to_dict

KINDS = descriptor_pb2.FieldDescriptorProto


def field(name: str, number: int, kind: Any, **more: Any) -> Any:
    return KINDS(name=name, number=number, type=kind, label=more.pop("label", 1), **more)


@pytest.fixture(scope="module")
def box() -> Any:
    """A message with one field of each awkward kind, two of them redacted by protobuf's option."""
    redacted = descriptor_pb2.FieldOptions(debug_redact=True)
    message = descriptor_pb2.DescriptorProto(
        name="Box",
        field=[
            field("raw", 1, KINDS.TYPE_BYTES),
            field("ratio", 2, KINDS.TYPE_DOUBLE),
            field("big", 3, KINDS.TYPE_UINT64),
            field("inner", 4, KINDS.TYPE_MESSAGE, type_name=".t.Box"),
            field("password", 5, KINDS.TYPE_STRING, options=redacted),
            field("tokens", 6, KINDS.TYPE_STRING, label=3, options=redacted),
            field("sealed", 7, KINDS.TYPE_MESSAGE, type_name=".t.Box", options=redacted),
            field("flags", 8, KINDS.TYPE_BOOL, label=3),
            field("from", 9, KINDS.TYPE_INT32),
        ],
    )
    pool = DescriptorPool()
    file = descriptor_pb2.FileDescriptorProto(name="t.proto", package="t", message_type=[message])
    pool.Add(file)
    return GetMessageClass(pool.FindMessageTypeByName("t.Box"))


def create_volume() -> csi_pb2.CreateVolumeRequest:
    capability = csi_pb2.VolumeCapability(
        mount=csi_pb2.VolumeCapability.MountVolume(fs_type="ext4"),
        access_mode=csi_pb2.VolumeCapability.AccessMode(mode="SINGLE_NODE_WRITER"),
    )
    return csi_pb2.CreateVolumeRequest(
        name="pvc-1",
        capacity_range=csi_pb2.CapacityRange(required_bytes=1 << 40),
        volume_capabilities=[capability],
        parameters={"type": "fast"},
        secrets={"user": "admin", "key": "hunter2"},
    )


def test_a_message_reads_as_its_schema_says() -> None:
    """Field names are those of the .proto file, so that a reader can look them up."""
    assert to_dict(create_volume()) == {
        "name": "pvc-1",
        "capacity_range": {"required_bytes": 1 << 40},
        "volume_capabilities": [
            {"mount": {"fs_type": "ext4"}, "access_mode": {"mode": "SINGLE_NODE_WRITER"}}
        ],
        "parameters": {"type": "fast"},
        "secrets": {"user": "***", "key": "***"},
    }


def test_secrets_show_only_on_demand() -> None:
    """A reproduction needs them; a report must never have them."""
    assert to_dict(create_volume(), reveal=True)["secrets"] == {"user": "admin", "key": "hunter2"}
    assert "hunter2" not in json.dumps(to_dict(create_volume()))


def test_an_empty_message_is_an_empty_object() -> None:
    """Defaults are left out."""
    assert to_dict(csi_pb2.ProbeRequest()) == {}


def test_a_wrapper_is_its_value_and_an_explicit_false_is_kept() -> None:
    """Probe tells "not ready" from "did not say" by just this."""
    reply = csi_pb2.ProbeResponse()
    reply.ready.value = False
    assert to_dict(reply) == {"ready": False}


def test_a_timestamp_is_a_date() -> None:
    """Seconds since 1970 help nobody in a report."""
    reply = csi_pb2.CreateSnapshotResponse()
    reply.snapshot.creation_time.FromJsonString("2024-02-29T12:00:00Z")
    assert to_dict(reply) == {"snapshot": {"creation_time": "2024-02-29T12:00:00Z"}}


def test_an_unknown_enum_value_stays_a_number() -> None:
    """A newer peer may send one, and the record must not fail on it."""
    mode = csi_pb2.VolumeCapability.AccessMode(mode=99)  # type: ignore[arg-type]
    assert to_dict(mode) == {"mode": 99}


def test_every_csi_field_called_secrets_is_recognised() -> None:
    """The option is looked up by name; losing it would leak without any other sign."""
    fields = [f for m in csi_pb2.DESCRIPTOR.message_types_by_name.values() for f in m.fields]
    secret_fields = [f for f in fields if f.name == "secrets"]
    assert secret_fields
    assert all(map(is_secret, secret_fields))
    assert not any(is_secret(f) for f in fields if f.name in ("name", "volume_id"))


def test_a_message_knows_whether_it_can_carry_secrets(box: Any) -> None:
    """Bytes that cannot be decoded may be shown only if it cannot."""
    assert holds_secrets(csi_pb2.NodeStageVolumeRequest)
    assert holds_secrets(box)
    assert not holds_secrets(csi_pb2.CreateVolumeResponse)
    assert not holds_secrets(struct_pb2.Struct)  # contains itself


def test_redacted_fields_of_every_shape_are_masked(box: Any) -> None:
    """CRI marks registry passwords with protobuf's own option."""
    message = box(password="p", tokens=["a", "b"], sealed=box(big=1))
    assert to_dict(message) == {"password": "***", "tokens": ["***", "***"], "sealed": "***"}
    assert to_dict(message, reveal=True) == {
        "password": "p",
        "tokens": ["a", "b"],
        "sealed": {"big": 1},
    }


def test_every_kind_of_value_can_be_written_as_json(box: Any) -> None:
    """A record that fails to be written is no record."""
    message = box(raw=b"\x00\xff", ratio=float("inf"), big=2**63, flags=[True, False])
    message.inner.inner.ratio = 0.5
    assert to_dict(message) == {
        "raw": "AP8=",
        "ratio": "inf",
        "big": 2**63,
        "flags": [True, False],
        "inner": {"inner": {"ratio": 0.5}},
    }
    assert json.loads(json.dumps(to_dict(message), allow_nan=False)) == to_dict(message)


def test_a_field_may_have_a_name_that_python_keeps_for_itself(box: Any) -> None:
    """Schemas know nothing of Python's keywords."""
    assert to_dict(box(**{"from": 7})) == {"from": 7}


def test_maps_of_messages_and_with_odd_keys_are_objects() -> None:
    """JSON knows text as key only."""
    struct = struct_pb2.Struct()
    struct.update({"a": 1.5})
    rendered: dict[str, Any] = to_dict(struct)
    assert rendered == {"fields": {"a": {"number_value": 1.5}}}
    assert isinstance(struct, Message)
