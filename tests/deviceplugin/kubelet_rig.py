"""What the tests of the fake kubelet share: plugins that do as they are told, and nothing else."""

from __future__ import annotations

import contextlib
import itertools
import queue
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import grpc

from refimpl.deviceplugin.api import deviceplugin_pb2 as pb
from refimpl.deviceplugin.api import deviceplugin_pb2_grpc as stubs
from refimpl.deviceplugin.kubelet import Container, FakeKubelet, Pod
from refimpl.registration.plugin import RegistrationService
from refimpl.wire.client import Channel
from refimpl.wire.endpoint import Endpoint
from refimpl.wire.server import Call, Server
from refimpl.wire.status import Code, Refused

__all__ = ["GPU", "NIC", "Scripted", "VirtualClock", "kubelet_folder", "pod", "registration_of"]

GPU, NIC = "example.com/gpu", "example.com/nic"
_SERVICE = pb.DESCRIPTOR.services_by_name["DevicePlugin"]
_uids = itertools.count(1)


@contextlib.contextmanager
def kubelet_folder() -> Iterator[Path]:
    """A folder with a short name; pytest's own may be too deep for sockets."""
    made = Path(tempfile.mkdtemp(prefix="kub-"))
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


def pod(limits: dict[str, int] | None = None, **choices: Any) -> Pod:
    """A pod with one container `app`, and a uid of its own; `choices` are Pod's."""
    number = next(_uids)
    container = Container("app", {GPU: 1} if limits is None else limits)
    return Pod(**{"uid": f"uid-{number}", "name": f"pod-{number}", "app": (container,), **choices})


class VirtualClock:
    """Seconds that pass when told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@contextlib.contextmanager
def registration_of(
    kubelet: FakeKubelet, connect_s: float = 30.0
) -> Iterator[stubs.RegistrationStub]:
    """A stub at kubelet.sock, connected within that time."""
    with Channel(kubelet.endpoint) as channel:
        channel.wait_ready(connect_s)
        yield stubs.RegistrationStub(cast("grpc.Channel", channel))


class Scripted:
    """A plugin at a socket of kubelet's folder; what it answers can be changed while it serves.

    `held` names RPCs that wait until the caller gives up or `release`; `refused` those that fail.
    `send` puts a list into the open streams, `end` ends them. `asked` has the requests by RPC.
    """

    def __init__(self, folder: Path, name: str = "plugin.sock", resource: str = GPU) -> None:
        self.path, self.resource = folder / "device-plugins" / name, resource
        self.options = pb.DevicePluginOptions()
        self.preferred: pb.PreferredAllocationResponse | None = None
        self.answers: Callable[[Sequence[str]], pb.AllocateResponse] = self._answer
        self.before_answer: Callable[[], object] = lambda: None
        self.held: set[str] = set()
        self.refused: dict[str, Code] = {}
        self.asked: dict[str, list[Any]] = {}
        self.came = threading.Condition()
        self.registration = RegistrationService("DevicePlugin", resource, "", ("v1beta1",))
        self._first: list[pb.ListAndWatchResponse] = []
        self._streams: list[queue.SimpleQueue[pb.ListAndWatchResponse | Refused | None]] = []
        self._gone = threading.Event()
        self._server: Server | None = None

    # -- its life -------------------------------------------------------------------------------

    def serve(self, path: Path | None = None) -> Scripted:
        """Listens, at its path or another one."""
        self.path = path or self.path
        services: dict[Any, object] = {_SERVICE: self, **self.registration.services()}
        self._server = Server(services)
        self._server.start(Endpoint.parse(self.path))
        return self

    def register(
        self, kubelet: FakeKubelet, timeout: float = 30.0, connect_s: float = 30.0, **fields: Any
    ) -> None:
        """Register with the fields of a good plugin, or others. Raises Refused, Unreachable."""
        good = {"version": "v1beta1", "endpoint": self.path.name, "resource_name": self.resource}
        with registration_of(kubelet, connect_s) as stub:
            stub.Register(pb.RegisterRequest(**{**good, **fields}), timeout=timeout)

    def join(self, kubelet: FakeKubelet, *ids: str) -> Scripted:
        """Serve, register, list these devices as healthy, and wait until they have arrived."""
        self.serve()
        self.register(kubelet)
        self.send(*ids)
        assert kubelet.wait(lambda: self._arrived(kubelet, ids)), kubelet.notes
        return self

    def _arrived(self, kubelet: FakeKubelet, ids: Sequence[str]) -> bool:
        known = self.resource in kubelet.node().capacity
        return known and {*kubelet.devices(self.resource)} == {*ids}

    def stop(self) -> None:
        """Ends, and its socket with it."""
        self._gone.set()
        if self._server is not None:
            self._server.stop(0)
            self._server = None

    # -- what it says ---------------------------------------------------------------------------

    def send(self, *devices: str | pb.Device) -> None:
        """A list: ids are healthy devices. Streams to come begin with the newest one."""
        message = pb.ListAndWatchResponse(
            devices=[
                each if isinstance(each, pb.Device) else pb.Device(ID=each, health="Healthy")
                for each in devices
            ]
        )
        with self.came:
            self._first = [message]
            for stream in self._streams:
                stream.put(message)

    def end(self, refused: Refused | None = None) -> None:
        """Ends the open streams, well or with a status."""
        with self.came:
            streams, self._streams = self._streams, []
        for stream in streams:
            stream.put(refused)

    def release(self) -> None:
        """Lets the calls go on that are held."""
        self.held.clear()
        self._gone.set()
        self._gone = threading.Event()

    def wait_for(self, rpc: str, count: int = 1) -> None:
        """Waits for the `count`th call of an RPC."""
        with self.came:
            assert self.came.wait_for(lambda: len(self.asked.get(rpc, ())) >= count, 30), rpc

    def _come(self, rpc: str, request: Any, call: Call) -> None:
        with self.came:
            self.asked.setdefault(rpc, []).append(request)
            self.came.notify_all()
        if rpc in self.held:
            gone = self._gone
            call.on_cancel(gone.set)
            with call.waiting():
                gone.wait()
        if rpc in self.refused:
            raise Refused(self.refused[rpc], "as scripted")

    @staticmethod
    def _answer(ids: Sequence[str]) -> pb.AllocateResponse:
        reply = pb.AllocateResponse()
        reply.container_responses.add(envs={"IDS": ",".join(sorted(ids))})
        return reply

    # -- the service ----------------------------------------------------------------------------

    def GetDevicePluginOptions(self, request: pb.Empty, call: Call) -> pb.DevicePluginOptions:
        self._come("GetDevicePluginOptions", request, call)
        return self.options

    def ListAndWatch(self, request: pb.Empty, call: Call) -> Iterator[pb.ListAndWatchResponse]:
        stream: queue.SimpleQueue[pb.ListAndWatchResponse | Refused | None] = queue.SimpleQueue()
        call.on_cancel(lambda: stream.put(None))
        with self.came:
            self._streams.append(stream)
            for message in self._first:
                stream.put(message)
        self._come("ListAndWatch", request, call)
        while (message_or_end := stream.get()) is not None:
            if isinstance(message_or_end, Refused):
                raise message_or_end
            yield message_or_end

    def GetPreferredAllocation(
        self, request: pb.PreferredAllocationRequest, call: Call
    ) -> pb.PreferredAllocationResponse:
        self._come("GetPreferredAllocation", request, call)
        return self.preferred or pb.PreferredAllocationResponse()

    def Allocate(self, request: pb.AllocateRequest, call: Call) -> pb.AllocateResponse:
        self._come("Allocate", request, call)
        self.before_answer()
        return self.answers(request.container_requests[0].devices_ids)

    def PreStartContainer(
        self, request: pb.PreStartContainerRequest, call: Call
    ) -> pb.PreStartContainerResponse:
        self._come("PreStartContainer", request, call)
        return pb.PreStartContainerResponse()
