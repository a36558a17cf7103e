"""How long fields may be, by reflection over the messages of CSI."""

from __future__ import annotations

import pytest
from google.protobuf.message import Message

from conformance.csi.common import limits
from refimpl.csi.api import csi_pb2 as pb


def found(message: Message) -> list[tuple[str, int, bool]]:
    """Name of the field, its limit, and whether that is debatable."""
    return [
        (each.field.removeprefix("csi.v1."), each.limit, each.debatable)
        for each in limits.excess(message)
    ]


@pytest.mark.parametrize(
    ("message", "excess"),
    [
        (pb.CreateVolumeRequest(name="x" * 128), []),
        (pb.CreateVolumeRequest(name="x" * 129), [("CreateVolumeRequest.name", 128, False)]),
        (pb.CreateVolumeRequest(name="ß" * 65), [("CreateVolumeRequest.name", 128, False)]),
        (pb.NodeGetInfoResponse(node_id="x" * 256), []),
        (
            pb.NodeGetInfoResponse(node_id="x" * 257),
            [("NodeGetInfoResponse.node_id", 256, False)],
        ),
        (pb.NodePublishVolumeRequest(target_path="/" + "x" * 4000), []),
    ],
)
def test_a_string_has_as_many_bytes_as_its_kind_allows(
    message: Message, excess: list[tuple[str, int, bool]]
) -> None:
    """128, node ids 256, paths without a limit; bytes are counted, not characters."""
    assert found(message) == excess


def test_a_map_is_measured_as_a_whole() -> None:
    """4 KiB of keys and values together; a single long value is debatable."""
    field = "Volume.volume_context"
    fits = {f"k{number:03}": "x" * 124 for number in range(32)}
    assert found(pb.Volume(volume_context=fits)) == []
    assert found(pb.Volume(volume_context={**fits, "k": ""})) == [(field, 4096, False)]
    assert found(pb.Volume(volume_context={"k": "x" * 129})) == [(field, 128, True)]


def test_mount_flags_count_together() -> None:
    """Each may be long, all of them have 4 KiB."""
    capability = pb.VolumeCapability()
    capability.mount.mount_flags.extend(["x" * 1024] * 4)
    assert found(capability) == []
    capability.mount.mount_flags.append("x")
    assert found(capability) == [("VolumeCapability.MountVolume.mount_flags", 4096, False)]


def test_messages_within_messages_are_looked_at() -> None:
    """Every entry of a list, at whatever depth."""
    reply = pb.ListVolumesResponse()
    for name in ("short", "x" * 200, "y" * 300):
        reply.entries.add().volume.volume_id = name
    assert found(reply) == [("Volume.volume_id", 128, False)] * 2
    assert str(next(limits.excess(reply))) == (
        "csi.v1.Volume.volume_id of 200 bytes, where 128 are allowed"
    )


def test_texts_for_people_are_debatable() -> None:
    """The table may not mean them."""
    health = pb.VolumeHealth()
    health.health_statuses.add(reason="Broken", message="x" * 500)
    assert found(health) == [("VolumeHealth.VolumeHealthEntry.message", 128, True)]
