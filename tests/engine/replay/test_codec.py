"""The codec of a script and protobuf agree on every byte and every value."""

from __future__ import annotations

import pytest
from google.protobuf.message import Message

from conformance.engine.replay.of_rpcs import Table
from conformance.engine.replay.player.codec import Codec
from refimpl.csi.api import csi_pb2 as pb
from refimpl.deviceplugin.api import deviceplugin_pb2 as dp
from refimpl.wire.secrets import to_dict

MESSAGES = [
    pb.CreateVolumeRequest(
        name="größe",
        capacity_range=pb.CapacityRange(required_bytes=-1, limit_bytes=1 << 40),
        parameters={"a": "1", "": ""},
        volume_capabilities=[
            pb.VolumeCapability(mount=pb.VolumeCapability.MountVolume(mount_flags=["a", ""])),
            pb.VolumeCapability(block=pb.VolumeCapability.BlockVolume()),
        ],
    ),
    pb.NodeGetCapabilitiesResponse(
        capabilities=[
            pb.NodeServiceCapability(rpc=pb.NodeServiceCapability.RPC(type=number))  # type: ignore[arg-type]
            for number in (1, 99)
        ]
    ),
    pb.ListVolumesRequest(max_entries=-5, starting_token="x"),
    dp.AllocateRequest(container_requests=[dp.ContainerAllocateRequest(devices_ids=["a", "b"])]),
    dp.ListAndWatchResponse(
        devices=[dp.Device(ID="a", topology=dp.TopologyInfo(nodes=[dp.NUMANode(ID=3)]))]
    ),
    pb.DeleteVolumeResponse(),
]


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: message.DESCRIPTOR.name)
def test_what_a_script_sends_is_what_was_sent(message: Message) -> None:
    """Numbers below zero and enums that nobody knows included."""
    table = Table()
    kind = table.add(message.DESCRIPTOR)
    codec, value = Codec(table.schema, table.enums), to_dict(message, reveal=True)
    data = codec.encode(kind, value)
    assert type(message).FromString(data) == message
    assert codec.decode(kind, message.SerializeToString()) == value


def test_packed_numbers_and_unknown_fields_are_read() -> None:
    """As servers send them that are newer than the schema."""
    table = {"T": {"numbers": (1, "int32", "many")}}
    codec = Codec(table, {})
    assert codec.decode("T", b"\x0a\x02\x01\x02\x1a\x01x\x08\x03") == {"numbers": [1, 2, 3]}
