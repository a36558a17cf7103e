"""Messages become plain objects and come back."""

from __future__ import annotations

import pytest

from refimpl.deviceplugin import codec
from refimpl.deviceplugin.api import deviceplugin_pb2 as pb
from refimpl.deviceplugin.state.models import (
    ContainerResponse,
    Device,
    DeviceNode,
    Mount,
    PluginOptions,
)

FULL = ContainerResponse(
    envs={"A": "1"},
    mounts=(Mount("/c", "/h", True),),
    devices=(DeviceNode("/dev/c", "/dev/h", "r"),),
    annotations={"k": "v"},
    cdi_devices=("v/c=n",),
)


def test_no_topology_and_one_without_nodes_are_told_apart() -> None:
    """They are shown differently (PR-007)."""
    message = pb.ListAndWatchResponse(devices=[{"ID": "a", "health": "Healthy"}, {"ID": "b"}])
    message.devices[1].topology.SetInParent()
    message.devices.add(ID="c", topology={"nodes": [{"ID": 1}, {"ID": 0}]})
    assert codec.Lists().read(message) == [
        Device("a"),
        Device("b", "", ()),
        Device("c", "", (1, 0)),
    ]


def test_a_device_that_is_the_same_is_taken_over() -> None:
    """Of ten thousand only one changes."""
    lists = codec.Lists()
    message = pb.ListAndWatchResponse(devices=[{"ID": "a", "health": "Healthy"}, {"ID": "b"}])
    first = lists.read(message)
    message.devices[1].topology.SetInParent()
    message.devices.add(ID="a", health="Healthy")
    same, placed, twice = lists.read(message)
    assert same is first[0]
    assert placed == Device("b", "", ())
    assert twice == same


@pytest.mark.parametrize("answer", [ContainerResponse(), FULL])
def test_an_answer_survives_the_checkpoint(answer: ContainerResponse) -> None:
    """All of its fields."""
    assert codec.from_bytes(codec.to_bytes(answer)) == answer
    assert codec.response(codec.to_message(answer)) == answer


def test_bytes_that_are_no_answer_are_refused() -> None:
    """As what the checkpoint expects."""
    with pytest.raises(ValueError, match="3 bytes"):
        codec.from_bytes(b"\xff\xff\xff")


def test_options_have_their_own_names() -> None:
    """Both of them."""
    message = pb.DevicePluginOptions(pre_start_required=True)
    assert codec.options(message) == PluginOptions(pre_start=True, preferred=False)
