"""Calls of a case to the plugin under test, as kubelet or another client would make them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar, cast

import grpc

from conformance.deviceplugin.plugins.watch import Watch
from refimpl.deviceplugin.api import deviceplugin_pb2 as pb
from refimpl.deviceplugin.api import deviceplugin_pb2_grpc as stubs
from refimpl.wire.client import Channel, Unreachable
from refimpl.wire.endpoint import Endpoint, EndpointError
from refimpl.wire.journal import Journal
from refimpl.wire.status import Refused

__all__ = ["PluginCalls", "WaitWithin"]

T = TypeVar("T")


class WaitWithin(Protocol):
    """Waits for something, while the plugin lives."""

    def __call__(self, predicate: Callable[[], T], what: str, deadline_s: float) -> T:
        """What the predicate returned at last; raises Broken."""


class PluginCalls:
    """Calls to where the plugin serves, kept in the journal. `socket`: where that is now."""

    def __init__(self, socket: Callable[[], Endpoint], journal: Journal, until: WaitWithin) -> None:
        self._socket, self._journal, self._until = socket, journal, until
        self._channels: dict[str, Channel] = {}
        self._watches: list[Watch] = []

    @property
    def channel(self) -> Channel:
        """To where it serves now; also for methods and messages that no stub has."""
        return self.channel_to(self._socket())

    def channel_to(self, socket: Endpoint) -> Channel:
        """To a socket of the plugin."""
        if str(socket) not in self._channels:
            channel = Channel(socket, journal=self._journal, deadline_s=10.0)
            self._channels[str(socket)] = channel
            channel.wait_ready(5.0)
        return self._channels[str(socket)]

    @property
    def stub(self) -> stubs.DevicePluginStub:
        """Calls over `channel`: plugin.calls.stub.Allocate(request, timeout=10)."""
        return stubs.DevicePluginStub(cast("grpc.Channel", self.channel))

    def options(self) -> pb.DevicePluginOptions:
        """Asks for them."""
        return self.stub.GetDevicePluginOptions(pb.Empty())

    def allocate(self, *containers: list[str]) -> pb.AllocateResponse:
        """Allocate with one container request for each list of ids."""
        request = pb.AllocateRequest()
        for ids in containers:
            request.container_requests.add(devices_ids=ids)
        return self.stub.Allocate(request, timeout=10.0)

    def problem_at(self, socket: Callable[[], Endpoint], within_s: float) -> str:
        """Why GetDevicePluginOptions is not answered there within that time each for connecting
        and for the answer; empty if it is."""
        try:
            with Channel(socket(), journal=self._journal) as channel:
                channel.wait_ready(within_s)
                stub = stubs.DevicePluginStub(cast("grpc.Channel", channel))
                stub.GetDevicePluginOptions(pb.Empty(), timeout=within_s)
        except (Unreachable, Refused, EndpointError) as error:
            return str(error)
        return ""

    def watch(self) -> Watch:
        """A ListAndWatch of the case's own, on a connection of its own; its first list has come."""
        channel = Channel(self._socket(), journal=self._journal)
        self._channels[f"watch {len(self._watches)}"] = channel
        channel.wait_ready(5.0)
        watch = Watch(channel)
        self._watches.append(watch)
        self._listed(watch)
        return watch

    def glance(self) -> None:
        """A ListAndWatch that is cancelled after its first list."""
        watch = Watch(self.channel)
        self._listed(watch)
        watch.cancel()

    def _listed(self, watch: Watch) -> None:
        self._until(lambda: watch.lists or watch.ended, "ListAndWatch brings a list", 5.0)

    def close(self) -> None:
        """Ends streams and connections."""
        for watch in self._watches:
            watch.cancel()
        for channel in self._channels.values():
            channel.close()
