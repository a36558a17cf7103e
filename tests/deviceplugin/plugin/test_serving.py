"""What a plugin answers, call by call: within the rules, or with a clear refusal."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import grpc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from refimpl.deviceplugin.api import deviceplugin_pb2 as pb
from refimpl.deviceplugin.api import deviceplugin_pb2_grpc as stubs
from refimpl.deviceplugin.plugin.inventory import UNHEALTHY, Inventory
from refimpl.deviceplugin.plugin.personas import PERSONAS, devices_of, persona_of
from refimpl.deviceplugin.plugin.serving import AllocationLog, DevicePluginService, preferred
from refimpl.wire.client import Channel
from refimpl.wire.endpoint import Endpoint
from refimpl.wire.server import Server
from refimpl.wire.status import Code, Refused

SERVICE = pb.DESCRIPTOR.services_by_name["DevicePlugin"]


class Served:
    """A service without a kubelet."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._names = folder, itertools.count()
        self._open: list[Any] = []

    def __call__(self, persona: str = "healthy") -> stubs.DevicePluginStub:
        chosen = persona_of(persona)
        self.inventory = Inventory(devices_of(chosen, "example.com/gpu", 4))
        self.record = AllocationLog()
        service = DevicePluginService("example.com/gpu", chosen, self.inventory, self.record)
        server = Server({SERVICE: service})
        endpoint = server.start(Endpoint.parse(self._folder / f"{next(self._names)}.sock"))
        channel = Channel(endpoint)
        self._open += [channel.close, server.stop]
        return stubs.DevicePluginStub(cast("grpc.Channel", channel))

    def close(self) -> None:
        for close in self._open:
            close()


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    """Serves personas until the test ends."""
    served = Served(tmp_path)
    yield served
    served.close()


def allocate_request(*containers: list[str]) -> pb.AllocateRequest:
    return pb.AllocateRequest(container_requests=[{"devices_ids": ids} for ids in containers])


def wish(available: list[str], size: int, must: tuple[str, ...] = ()) -> Any:
    one = {"available_deviceIDs": available, "must_include_deviceIDs": must}
    return pb.PreferredAllocationRequest(container_requests=[{**one, "allocation_size": size}])


def test_every_container_gets_an_answer_in_order(served: Served) -> None:
    """DP-PLG-030, 031, 035, 036, 037."""
    stub = served()
    answers = stub.Allocate(
        allocate_request(["gpu-1", "gpu-1", "gpu-0"], [], ["gpu-2"])
    ).container_responses
    ids = [answer.envs["REFIMPL_EXAMPLE_COM_GPU"] for answer in answers]
    assert ids == ["gpu-1,gpu-0", "", "gpu-2"]
    assert [len(answer.devices) for answer in answers] == [2, 0, 1]
    (device,) = answers[2].devices
    assert (device.host_path, device.container_path) == ("/dev/null", "/dev/gpu-2")
    assert device.permissions == "rw"
    assert not stub.Allocate(pb.AllocateRequest()).container_responses


def test_unfit_ids_are_refused_and_nothing_is_done(served: Served) -> None:
    """DP-PLG-033, 034: the whole call, with the id in the message."""
    stub = served()
    served.inventory.set_health("gpu-3", UNHEALTHY)
    for id, code in (("gpu-9", Code.NOT_FOUND), ("gpu-3", Code.FAILED_PRECONDITION)):
        with pytest.raises(Refused, match=id) as caught:
            stub.Allocate(allocate_request(["gpu-0"], [id]))
        assert caught.value.code == code
    assert served.record.allocated == []


@pytest.mark.parametrize("persona", ["mounts", "annotations", "cdi"])
def test_a_persona_gives_what_it_is_called_after(served: Served, persona: str) -> None:
    """DP-PLG-039 to 045: paths that exist, qualified keys, qualified names."""
    (answer,) = served(persona).Allocate(allocate_request(["gpu-0", "gpu-1"])).container_responses
    assert bool(answer.devices) == (persona == "annotations")
    assert [Path(mount.host_path).exists() for mount in answer.mounts] == [True] * (
        persona == "mounts"
    )
    assert dict(answer.annotations) == (
        {"example.com/gpu": "gpu-0,gpu-1"} if persona == "annotations" else {}
    )
    names = [device.name for device in answer.cdi_devices]
    assert names == (["example.com/gpu=gpu-0", "example.com/gpu=gpu-1"] if persona == "cdi" else [])


def test_a_liar_breaks_every_promise_a_kubelet_may_rely_on(served: Served) -> None:
    """DP-PLG-015, 016, 031, 051: for those who judge clients."""
    stub = served("lying")
    listed = next(iter(stub.ListAndWatch(pb.Empty()))).devices
    assert [device.ID for device in listed].count("gpu-0") == 2
    assert {device.health for device in listed} == {"Healthy", "Unhealthy", "healthy"}
    (chosen,) = stub.GetPreferredAllocation(wish(["gpu-0"], 1)).container_responses
    assert len(chosen.deviceIDs) == 2
    assert not set(chosen.deviceIDs) & {device.ID for device in listed}
    assert len(stub.Allocate(allocate_request(["unknown"])).container_responses) == 2


def test_a_preference_that_is_not_offered_is_not_given(served: Served) -> None:
    """DP-PLG-059, 062: and a start that needs no preparation is fine."""
    stub = served()
    with pytest.raises(Refused, match="UNIMPLEMENTED") as caught:
        stub.GetPreferredAllocation(wish(["gpu-0"], 1))
    assert caught.value.code == Code.UNIMPLEMENTED
    stub.PreStartContainer(pb.PreStartContainerRequest(devices_ids=["gpu-0"]))
    assert served.record.started == [("gpu-0",)]
    with pytest.raises(Refused, match="NOT_FOUND"):
        stub.PreStartContainer(pb.PreStartContainerRequest(devices_ids=["gpu-9"]))


def test_a_stream_ends_with_its_caller(served: Served) -> None:
    """DP-PLG-025: a hundred of them leave no thread behind that waits."""
    stub = served()
    for _ in range(100):
        stream = stub.ListAndWatch(pb.Empty())
        assert len(next(stream).devices) == 4
        stream.cancel()


NODES = {f"d{number}": (number % 3,) for number in range(9)} | {"free": ()}


@given(st.data())
def test_what_is_preferred_is_always_a_valid_choice(data: st.DataObject) -> None:
    """DP-PLG-051 to 053, 057: n unique ids, of those available, with the musts; and stable."""
    available = data.draw(st.lists(st.sampled_from(sorted(NODES)), unique=True, min_size=1))
    must = data.draw(st.lists(st.sampled_from(available), unique=True))
    size = data.draw(st.integers(len(must), len(available)))
    chosen = preferred(available, must, size, NODES)
    assert len(set(chosen)) == len(chosen) == size
    assert set(must) <= set(chosen) <= set(available)
    shuffled = data.draw(st.permutations(available))
    assert preferred(shuffled, must[::-1], size, NODES) == chosen


@pytest.mark.parametrize(
    ("available", "must", "size", "expected"),
    [
        ("d0 d1 d3 d4", "", 2, "d0 d3"),
        ("d0 d1 d4", "", 2, "d1 d4"),  # the smallest node that is enough
        ("d0 d1 d3", "d1", 2, "d1 d0"),  # no second one beside the must
        ("d0 d1 d3 d4", "d1", 2, "d1 d4"),
        ("d0 d1 d2 d3", "", 3, "d0 d3 d1"),  # the largest that is not enough, and then some
    ],
)
def test_devices_of_one_node_are_preferred(
    available: str, must: str, size: int, expected: str
) -> None:
    """As few nodes as can be, beside what is there already."""
    assert preferred(available.split(), must.split(), size, NODES) == expected.split()


@pytest.mark.parametrize(
    ("available", "must", "size"),
    [(["d0"], [], 2), (["d0"], ["d1"], 1), (["d0", "d1"], ["d0", "d1"], 1), (["d0"], ["d0"], -1)],
)
def test_what_cannot_be_preferred_is_refused(
    available: list[str], must: list[str], size: int
) -> None:
    """DP-PLG-055, 056."""
    with pytest.raises(Refused, match="INVALID_ARGUMENT"):
        preferred(available, must, size, NODES)
    assert preferred(available, [], 0, NODES) == []


def test_every_persona_has_devices_and_its_own_name() -> None:
    """So that each can be started by its name alone."""
    for name, persona in PERSONAS.items():
        assert persona.name == name
        assert len(devices_of(persona, "example.com/gpu", None)) == persona.count > 0
