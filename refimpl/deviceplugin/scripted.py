"""A device plugin that does as it is told, call by call: what a kubelet is tested with.

It does nothing by itself: no registration, no list, no watching of sockets. `fake.FakePlugin` is
the one that behaves like a plugin.
"""
# RPC methods keep the names of the protocol.
# ruff: noqa: N802

from __future__ import annotations

import contextlib
import queue
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self, cast

import grpc

from refimpl.deviceplugin.api import deviceplugin_pb2 as pb
from refimpl.deviceplugin.api import deviceplugin_pb2_grpc as stubs
from refimpl.deviceplugin.devicemanager.layout import KUBELET_SOCKET
from refimpl.deviceplugin.devicemanager.listener import SocketListener
from refimpl.deviceplugin.plugin.push import VERSION
from refimpl.registration.api import registration_pb2 as rpb
from refimpl.registration.plugin import RegistrationService
from refimpl.wire.client import Channel
from refimpl.wire.endpoint import Endpoint
from refimpl.wire.journal import Journal
from refimpl.wire.server import Call, Server
from refimpl.wire.status import Code, Refused

__all__ = ["ScriptedPlugin"]

_SERVICE = pb.DESCRIPTOR.services_by_name["DevicePlugin"]
_REGISTRATION = rpb.DESCRIPTOR.services_by_name["Registration"]
_STREAMS = 32

Sent = pb.ListAndWatchResponse | Refused | None


class ScriptedPlugin:
    """A plugin of `resource` whose socket is `path`.

    What it answers can be changed while it serves: `options`, `preferred` and `answers` (ids ->
    answer; either may raise Refused), `held` (RPCs that wait until the caller gives up or
    `release`), `refused` (RPC -> status), `slow` (RPC -> seconds its answer takes; a caller who
    will have given up by then hears so at once). `before_answer` runs in each Allocate. `asked` has
    the requests by RPC, `deadlines` the seconds their callers left, `order` the RPCs as they came,
    `given_up` the slow ones that nobody waited for, `cancelled` how many streams the other side
    ended. `versions` and `main` are what GetInfo says of versions and of the socket of the
    DevicePlugin service.
    """

    def __init__(
        self,
        path: Path,
        resource: str,
        *,
        versions: Sequence[str] = (VERSION,),
        main: str = "",
        type: str = "DevicePlugin",
        journal: Journal | None = None,
    ) -> None:
        self.path, self.resource = path, resource
        self.journal = Journal() if journal is None else journal
        self.options = pb.DevicePluginOptions()
        self.preferred: Callable[[pb.PreferredAllocationRequest], pb.PreferredAllocationResponse]
        self.preferred = lambda _: pb.PreferredAllocationResponse()
        self.answers: Callable[[Sequence[str]], pb.AllocateResponse] = self.answer
        self.before_answer: Callable[[], object] = lambda: None
        self.held: set[str] = set()
        self.refused: dict[str, Code] = {}
        self.slow: dict[str, float] = {}
        self.asked: dict[str, list[Any]] = {}
        self.deadlines: dict[str, list[float | None]] = {}
        self.order: list[str] = []
        self.given_up: list[str] = []
        self.cancelled = 0
        self.came = threading.Condition()
        self.registration = RegistrationService(type, resource, main, versions)
        self._first: list[pb.ListAndWatchResponse] = []
        self._streams: list[queue.SimpleQueue[Sent]] = []
        self._gone = threading.Event()
        self._server: Server | None = None
        self._listener: SocketListener | None = None
        self._stack = contextlib.ExitStack()

    # -- its life -------------------------------------------------------------------------------

    def serve(self, path: Path | None = None, *, freezable: bool = False) -> Self:
        """Listens, at its path or another one from now on. `freezable`: what comes goes through a
        listener before the server, which counts `connections` and can `freeze` them."""
        self.path = path or self.path
        front = Endpoint.parse(self.path)
        registration = _AnnouncedRegistration(self.registration, self._come)
        services: dict[Any, object] = {_SERVICE: self, _REGISTRATION: registration}
        self._server = Server(services, journal=self.journal, stream_threads=_STREAMS)
        self._server.start(self._behind(front) if freezable else front)
        if self._listener is not None:
            self._listener.open()
        return self

    def _behind(self, front: Endpoint) -> Endpoint:
        folder = Path(tempfile.mkdtemp(prefix="refimpl-"))
        self._stack.callback(shutil.rmtree, folder, ignore_errors=True)
        self._stack.callback(self.path.unlink, missing_ok=True)
        back = Endpoint.parse(folder / "plugin.sock")
        self._listener = SocketListener(front, back)
        self._stack.callback(self._listener.close)
        return back

    @property
    def connections(self) -> int:
        """How many are open, through the listener."""
        return self._listener.connections if self._listener else 0

    def freeze(self) -> None:
        """As by SIGSTOP: connections stay, and nothing is heard or said; needs `freezable`."""
        assert self._listener is not None
        self._listener.pause()

    def thaw(self) -> None:
        """Goes on."""
        assert self._listener is not None
        self._listener.resume()

    def die(self) -> None:
        """As by SIGKILL: connections break off, and the socket stays until `stop`; needs
        `freezable`."""
        assert self._listener is not None
        self._listener.close()
        server, self._server = self._server, None
        if server is not None:
            server.stop(0)

    def register(
        self, folder: Path, timeout: float = 30.0, connect_s: float = 10.0, **fields: Any
    ) -> None:
        """Register at kubelet.sock of that device-plugins folder, with the fields of a good plugin
        or others. Raises Refused, Unreachable."""
        good = {"version": VERSION, "endpoint": self.path.name, "resource_name": self.resource}
        socket = Endpoint.parse(folder / KUBELET_SOCKET)
        with Channel(socket, journal=self.journal) as channel:
            channel.wait_ready(connect_s)
            stub = stubs.RegistrationStub(cast("grpc.Channel", channel))
            stub.Register(pb.RegisterRequest(**{**good, **fields}), timeout=timeout)

    def stop(self) -> None:
        """Ends, and its socket with it."""
        self.release()
        server, self._server = self._server, None
        if server is not None:
            server.stop(0)
        self._stack.close()
        self._listener = None

    @property
    def serving(self) -> bool:
        """Whether it listens."""
        return self._server is not None

    # -- what it says ---------------------------------------------------------------------------

    def send(self, *devices: str | pb.Device) -> None:
        """A list, into all open streams: ids are healthy devices. Streams to come begin with the
        newest one."""
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

    @property
    def streams(self) -> int:
        """How many ListAndWatch are open."""
        with self.came:
            return len(self._streams)

    def release(self) -> None:
        """Lets the calls go on that are held, and holds no more."""
        self.held.clear()
        gone, self._gone = self._gone, threading.Event()
        gone.set()

    def wait_for(self, rpc: str, count: int = 1, timeout_s: float = 30.0) -> bool:
        """Waits for the `count`th call of an RPC; False if it does not come in time."""
        with self.came:
            return self.came.wait_for(lambda: len(self.asked.get(rpc, ())) >= count, timeout_s)

    def allocated(self) -> list[tuple[str, ...]]:
        """The ids of each Allocate so far, sorted."""
        return [
            tuple(sorted(container.devices_ids))
            for request in self.calls("Allocate")
            for container in request.container_requests
        ]

    def calls(self, rpc: str) -> list[Any]:
        """The requests of an RPC so far, oldest first."""
        with self.came:
            return list(self.asked.get(rpc, ()))

    def _come(self, rpc: str, request: Any, call: Call) -> None:
        with self.came:
            self.asked.setdefault(rpc, []).append(request)
            self.deadlines.setdefault(rpc, []).append(call.deadline_s)
            self.order.append(rpc)
            self.came.notify_all()
        if rpc in self.slow:
            self._take(self.slow[rpc], rpc, call)
        if rpc in self.held:
            gone = self._gone
            call.on_cancel(gone.set)
            with call.waiting():
                gone.wait()
        if rpc in self.refused:
            raise Refused(self.refused[rpc], "as scripted")

    def _take(self, seconds: float, rpc: str, call: Call) -> None:
        """Lets that much time pass, unless the caller's deadline comes first."""
        gone = threading.Event()
        call.on_cancel(gone.set)
        soon = call.deadline_s is not None and call.deadline_s < seconds
        with call.waiting():
            if soon or gone.wait(seconds):
                with self.came:
                    self.given_up.append(rpc)
                    self.came.notify_all()
                raise Refused(Code.DEADLINE_EXCEEDED, f"{rpc} would have taken {seconds:g} s")

    @staticmethod
    def answer(
        ids: Sequence[str], *, envs: Mapping[str, str] | None = None, containers: int = 1
    ) -> pb.AllocateResponse:
        """A good answer to Allocate: by default the ids, in an environment variable."""
        reply = pb.AllocateResponse()
        for _ in range(containers):
            reply.container_responses.add(envs=envs or {"IDS": ",".join(sorted(ids))})
        return reply

    # -- the service ----------------------------------------------------------------------------

    def GetDevicePluginOptions(self, request: pb.Empty, call: Call) -> pb.DevicePluginOptions:
        """`options`."""
        self._come("GetDevicePluginOptions", request, call)
        return self.options

    def ListAndWatch(self, request: pb.Empty, call: Call) -> Iterator[pb.ListAndWatchResponse]:
        """What `send` said last and says from now on, until `end` or the caller's."""
        stream: queue.SimpleQueue[Sent] = queue.SimpleQueue()
        call.on_cancel(lambda: self._hung_up(stream))
        with self.came:
            self._streams.append(stream)
            for message in self._first:
                stream.put(message)
        self._come("ListAndWatch", request, call)
        while (sent := stream.get()) is not None:
            if isinstance(sent, Refused):
                raise sent
            yield sent

    def _hung_up(self, stream: queue.SimpleQueue[Sent]) -> None:
        with self.came:
            if stream in self._streams:
                self._streams.remove(stream)
                self.cancelled += 1
            self.came.notify_all()
        stream.put(None)

    def GetPreferredAllocation(
        self, request: pb.PreferredAllocationRequest, call: Call
    ) -> pb.PreferredAllocationResponse:
        """`preferred`."""
        self._come("GetPreferredAllocation", request, call)
        return self.preferred(request)

    def Allocate(self, request: pb.AllocateRequest, call: Call) -> pb.AllocateResponse:
        """`answers`, for the ids of the first container."""
        self._come("Allocate", request, call)
        self.before_answer()
        return self.answers(request.container_requests[0].devices_ids)

    def PreStartContainer(
        self, request: pb.PreStartContainerRequest, call: Call
    ) -> pb.PreStartContainerResponse:
        """Takes note."""
        self._come("PreStartContainer", request, call)
        return pb.PreStartContainerResponse()


class _AnnouncedRegistration:
    """The registration service, of which each call is told to `come` before it is answered; a
    notification that is refused there is not kept."""

    def __init__(self, service: RegistrationService, come: Callable[[str, Any, Call], object]):
        self._service, self._come = service, come

    def GetInfo(self, request: rpb.InfoRequest, call: Call) -> rpb.PluginInfo:
        """Who the plugin is."""
        self._come("GetInfo", request, call)
        return self._service.GetInfo(request, call)

    def NotifyRegistrationStatus(
        self, request: rpb.RegistrationStatus, call: Call
    ) -> rpb.RegistrationStatusResponse:
        """Keeps the notification."""
        self._come("NotifyRegistrationStatus", request, call)
        return self._service.NotifyRegistrationStatus(request, call)
