"""What the fake kubelet costs: a list of 10,000 devices until the node's capacity shows it, and an
allocation with its call to the plugin and its checkpoint, on a small node and on that large one.

The plugin has its messages ready, so that what is measured is sending, reading and taking in.
"""

from __future__ import annotations

import queue
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import cast

import grpc

from refimpl.deviceplugin.api import deviceplugin_pb2 as pb
from refimpl.deviceplugin.api import deviceplugin_pb2_grpc as stubs
from refimpl.deviceplugin.kubelet import Container, FakeKubelet, Pod
from refimpl.wire.client import Channel
from refimpl.wire.endpoint import Endpoint
from refimpl.wire.server import Call, Server

RESOURCE = "example.com/gpu"
SMALL, LARGE = 8, 10_000
ROUNDS = 60
LIST_MS, SMALL_MS, LARGE_MS = 50.0, 10.0, 50.0


class Plugin:
    """Sends what is put into `lists`."""

    def __init__(self, folder: str) -> None:
        self.lists: queue.SimpleQueue[pb.ListAndWatchResponse] = queue.SimpleQueue()
        self._server = Server({pb.DESCRIPTOR.services_by_name["DevicePlugin"]: self})
        self._server.start(Endpoint.parse(f"{folder}/device-plugins/bench.sock"))

    def register(self, kubelet: FakeKubelet) -> None:
        """As any plugin does."""
        with Channel(kubelet.endpoint) as channel:
            stub = stubs.RegistrationStub(cast("grpc.Channel", channel))
            stub.Register(
                pb.RegisterRequest(version="v1beta1", endpoint="bench.sock", resource_name=RESOURCE)
            )

    def stop(self) -> None:
        self._server.stop(0)

    def GetDevicePluginOptions(self, request: pb.Empty, call: Call) -> pb.DevicePluginOptions:
        return pb.DevicePluginOptions()

    def ListAndWatch(self, request: pb.Empty, call: Call) -> Iterator[pb.ListAndWatchResponse]:
        call.on_cancel(lambda: self.lists.put(pb.ListAndWatchResponse()))
        while not call.cancelled():
            yield self.lists.get()

    def Allocate(self, request: pb.AllocateRequest, call: Call) -> pb.AllocateResponse:
        answer = pb.ContainerAllocateResponse(envs={"IDS": "x"})
        return pb.AllocateResponse(container_responses=[answer])


def listing(count: int, unhealthy: int) -> pb.ListAndWatchResponse:
    """`count` devices on two NUMA nodes, the first `unhealthy` of them so."""
    return pb.ListAndWatchResponse(
        devices=[
            pb.Device(
                ID=f"device-{number:05}",
                health="Unhealthy" if number < unhealthy else "Healthy",
                topology=pb.TopologyInfo(nodes=[pb.NUMANode(ID=number % 2)]),
            )
            for number in range(count)
        ]
    )


def update_ms(kubelet: FakeKubelet, plugin: Plugin, count: int) -> list[float]:
    """From the sending of a list to the count of the node that shows it, each time."""
    took = []
    lists = [listing(count, unhealthy) for unhealthy in (1, 0)]
    for number in range(ROUNDS):
        healthy = count - 1 + number % 2
        began = time.perf_counter()
        plugin.lists.put(lists[number % 2])
        assert kubelet.wait(lambda expected=healthy: _allocatable(kubelet) == expected)  # type: ignore[misc]
        took.append((time.perf_counter() - began) * 1000)
    return took[ROUNDS // 10 :]


def _allocatable(kubelet: FakeKubelet) -> int | None:
    return kubelet.node().allocatable.get(RESOURCE)


def allocation_ms(kubelet: FakeKubelet) -> list[float]:
    """Admission of a pod with one device, each time; the pods go again."""
    took = []
    for number in range(ROUNDS):
        pod = Pod(f"uid-{number}", app=(Container("app", {RESOURCE: 1}),))
        began = time.perf_counter()
        assert kubelet.admit(pod).accepted
        took.append((time.perf_counter() - began) * 1000)
        kubelet.remove(pod.uid)
    return took[ROUNDS // 10 :]


def on_a_node(count: int, measure: Callable[[FakeKubelet, Plugin], float]) -> float:
    """What `measure` says of a kubelet whose plugin has listed `count` devices."""
    folder = tempfile.mkdtemp(prefix="bench-")
    try:
        with FakeKubelet(Path(folder), nodes=2, policy="best-effort") as kubelet:
            plugin = Plugin(folder)
            try:
                plugin.register(kubelet)
                plugin.lists.put(listing(count, 0))
                assert kubelet.wait(lambda: _allocatable(kubelet) == count)
                return measure(kubelet, plugin)
            finally:
                plugin.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main() -> int:
    """Prints the figures; exit code 1 when a claim does not hold."""
    update = on_a_node(LARGE, lambda k, p: statistics.median(update_ms(k, p, LARGE)))
    small = on_a_node(SMALL, lambda k, _: statistics.median(allocation_ms(k)))
    large = on_a_node(LARGE, lambda k, _: statistics.median(allocation_ms(k)))
    print(f"list of {LARGE} devices to the node's capacity: {update:.1f} ms (claim {LIST_MS:g})")
    print(f"allocation of 1 of {SMALL} devices: {small:.2f} ms (claim {SMALL_MS:g})")
    print(f"allocation of 1 of {LARGE} devices: {large:.1f} ms (claim {LARGE_MS:g})")
    hold = update <= LIST_MS and small <= SMALL_MS and large <= LARGE_MS
    print("the claims hold" if hold else "a claim does not hold")
    return 0 if hold else 1
