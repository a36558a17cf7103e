"""A scripted kubelet without a mind of its own, as a plugin meets it at kubelet.sock."""

from __future__ import annotations

import os
import stat
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self, cast

import grpc

from refimpl.deviceplugin.api import deviceplugin_pb2 as pb
from refimpl.deviceplugin.api import deviceplugin_pb2_grpc as stubs
from refimpl.deviceplugin.fake import FakePlugin, Pace
from refimpl.wire.client import Channel
from refimpl.wire.endpoint import Endpoint
from refimpl.wire.server import Call, Server
from refimpl.wire.status import Refused

__all__ = ["AT_ONCE", "DEADLINE_S", "Connection", "Kubelet", "Rig", "until"]

DEADLINE_S = 30.0
AT_ONCE = Pace(debounce_s=0.0, first_s=0.01, longest_s=0.05)


def until(condition: Callable[[], bool]) -> None:
    """Waits for what nobody tells of."""
    rounds = iter(range(3000))
    while not condition():
        assert next(rounds, None) is not None, "not within 30 s"
        threading.Event().wait(0.01)


class Connection:
    """What kubelet has of a plugin: stubs, and the lists that came, as {id: health}."""

    def __init__(self, endpoint: Endpoint, changed: threading.Condition) -> None:
        self.endpoint, self._changed = endpoint, changed
        self._channel = Channel(endpoint)
        self.stub = stubs.DevicePluginStub(cast("grpc.Channel", self._channel))
        self.lists: list[dict[str, str]] = []
        self.messages: list[pb.ListAndWatchResponse] = []
        self.ended = False

    def watch(self) -> None:
        self._replies = self.stub.ListAndWatch(pb.Empty(), timeout=DEADLINE_S * 2)
        threading.Thread(target=self._read, daemon=True).start()

    def cancel(self) -> None:
        """Ends the stream, and nothing else."""
        self._replies.cancel()

    def allocate(self, *ids: str) -> pb.ContainerAllocateResponse:
        """What a container with these devices gets."""
        request = pb.AllocateRequest(container_requests=[{"devices_ids": ids}])
        reply: pb.AllocateResponse = self.stub.Allocate(request, timeout=DEADLINE_S)
        return reply.container_responses[0]

    def close(self) -> None:
        self._channel.close()

    def _read(self) -> None:
        try:
            for message in self._replies:
                with self._changed:
                    self.messages.append(message)
                    self.lists.append({device.ID: device.health for device in message.devices})
                    self._changed.notify_all()
        except Refused:
            pass
        with self._changed:
            self.ended = True
            self._changed.notify_all()


class Kubelet:
    """Serves Registration as kubelet does: dials back inside the handler, keeps the stream.

    `refusal` is what Register raises after that; `connections` are of those that came, in order.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "device-plugins"
        self.changed = threading.Condition()
        self.requests: list[pb.RegisterRequest] = []
        self.options: list[pb.DevicePluginOptions] = []
        self.connections: list[Connection] = []
        self.refusal: Refused | None = None
        self._server: Server | None = None

    def start(self) -> None:
        """Unlinks every socket, as 1.37.2, and listens."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for path in self.sockets():
            path.unlink()
        self._server = Server({pb.DESCRIPTOR.services_by_name["Registration"]: self})
        self._server.start(Endpoint.parse(self.folder / "kubelet.sock"))

    def stop(self) -> None:
        """Ends as a process does; its own socket goes here, which does not matter."""
        for connection in self.connections:
            connection.close()
        if self._server is not None:
            self._server.stop(0)
        self._server = None

    def sockets(self) -> list[Path]:
        """All sockets in the folder."""
        paths = self.folder.iterdir() if self.folder.exists() else ()
        return sorted(path for path in paths if stat.S_ISSOCK(os.lstat(path).st_mode))

    def Register(self, request: pb.RegisterRequest, call: Call) -> pb.Empty:
        connection = Connection(Endpoint.parse(self.folder / request.endpoint), self.changed)
        options = connection.stub.GetDevicePluginOptions(pb.Empty(), timeout=DEADLINE_S)
        with self.changed:
            self.requests.append(request)
            self.options.append(options)
            self.changed.notify_all()
        if self.refusal is not None:
            connection.close()
            raise self.refusal
        connection.watch()
        with self.changed:
            self.connections.append(connection)
            self.changed.notify_all()
        return pb.Empty()

    def until(self, condition: Callable[[], bool]) -> None:
        """Waits for what a plugin does."""
        with self.changed:
            assert self.changed.wait_for(condition, DEADLINE_S), (self.requests, self.connections)

    def connected(self, number: int = 1) -> Connection:
        """The `number`th connection, once its first list has come."""
        self.until(lambda: len(self.connections) >= number)
        connection = self.connections[number - 1]
        self.until(lambda: bool(connection.lists))
        return connection


class Rig:
    """A folder, a kubelet that runs, and plugins that lose no time; all end with the block."""

    def __init__(self) -> None:
        # Pytest's own folders may be too deep for the sockets.
        self._folder = tempfile.TemporaryDirectory(prefix="dp-", ignore_cleanup_errors=True)
        self.folder = Path(self._folder.name)
        self.kubelet = Kubelet(self.folder)
        self._plugins: list[FakePlugin] = []

    def plugin(
        self, resource: str = "example.com/gpu", devices: Any = 2, **choices: Any
    ) -> FakePlugin:
        """One that is started."""
        choices = {"folder": self.folder, "pace": AT_ONCE, **choices}
        self._plugins.append(FakePlugin(resource, devices, **choices))
        self._plugins[-1].start()
        return self._plugins[-1]

    def __enter__(self) -> Self:
        self.kubelet.start()
        return self

    def __exit__(self, *_: object) -> None:
        for plugin in self._plugins:
            plugin.stop()
        self.kubelet.stop()
        self._folder.cleanup()
