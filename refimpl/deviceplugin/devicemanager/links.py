"""Connections of one kubelet process to plugins: dialling, lists that come, calls that go."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, cast

import attrs
import grpc

from refimpl.deviceplugin import codec
from refimpl.deviceplugin.api import deviceplugin_pb2 as pb
from refimpl.deviceplugin.api import deviceplugin_pb2_grpc as stubs
from refimpl.deviceplugin.state import DeviceState
from refimpl.deviceplugin.state.effects import (
    Allocate,
    GetPreferredAllocation,
    PreStartContainer,
)
from refimpl.deviceplugin.state.endpoints import Clock, Connection
from refimpl.deviceplugin.state.models import PluginOptions
from refimpl.deviceplugin.state.settings import DIAL_S
from refimpl.wire.client import Channel, Replies, Unreachable, timeout_factor
from refimpl.wire.endpoint import Endpoint, EndpointError
from refimpl.wire.journal import Journal
from refimpl.wire.reach import obstacle
from refimpl.wire.status import Code, Refused

__all__ = ["RECEIVE_BYTES", "Links", "PluginLink"]

RECEIVE_BYTES = 4 * 1024 * 1024
"""The longest message that kubelet takes from a plugin: gRPC's default (1.3)."""

_POLL_S = 0.02


@attrs.define(eq=False)
class PluginLink:
    """A plugin that was dialled. `lists` counts its ListAndWatch messages; `ended` says why its
    stream is over, and is empty while it is open."""

    connection: Connection
    channel: Channel
    lists: int = 0
    ended: str = ""
    replies: Replies | None = None
    reader: codec.Lists = attrs.field(factory=codec.Lists, repr=False)

    @property
    def stub(self) -> stubs.DevicePluginStub:
        """Calls go to the plugin, or to its heir: a channel that is open connects again."""
        return stubs.DevicePluginStub(cast("grpc.Channel", self.channel))

    def drop(self) -> None:
        """Ends its stream and nothing else, as by a fault on the way: the devices are lost, and
        the plugin's socket stays (DP-PLG-027)."""
        if self.replies is not None:
            self.replies.cancel()


class Links:
    """Makes and follows the connections of `state`.

    `listed` is told of each list with the pods whose status it changes, `note` what kubelet would
    log, `changed` that anything happened. `patience_s` is the deadline of calls that kubelet makes
    without one (`math.inf`: none). `clock` times the dial.
    """

    def __init__(
        self,
        state: DeviceState,
        *,
        journal: Journal,
        patience_s: float = math.inf,
        clock: Clock = time.monotonic,
        listed: Callable[[Sequence[str]], object],
        note: Callable[[str], object],
        changed: Callable[[], object],
    ) -> None:
        self._state, self._journal, self._patience_s = state, journal, patience_s
        self._clock = clock
        self._listed, self._note, self._changed = listed, note, changed
        self._lock = state.tables.lock
        self._links: dict[int, PluginLink] = {}
        self._dialling: set[Channel] = set()
        self._awake = threading.Event()
        self._awake.set()
        self._closed = False

    # -- from registration to the end -----------------------------------------------------------

    def register(
        self,
        resource: str,
        socket: str,
        *,
        options: PluginOptions | None = None,
        deadline_s: float | None = None,
    ) -> None:
        """Dial, ask for the options, connect, and follow the lists. `options` given: not asked for
        (kubelet 1.24 and older). `deadline_s`: what the plugin left for its own call.

        Raises Refused(UNKNOWN), as kubelet's errors are called on the wire.
        """
        until = math.inf if deadline_s is None else time.monotonic() + deadline_s
        with self._lock:
            connection = self._state.tables.endpoints.register(resource, socket)
        if connection is None:
            return
        channel = None
        try:
            channel = self._dial(socket)
            answer = options or self._options(channel, until)
        except (Refused, Unreachable, EndpointError) as error:
            # kubelet 1.37.2 leaves the connection open, which no plugin could tell from a leak.
            self._give_up(connection, channel)
            raise Refused(
                Code.UNKNOWN,
                f"{resource}: the plugin at {socket} cannot be registered: {error}; serve before"
                " calling Register, and answer while it is open",
            ) from error
        self._connect(PluginLink(connection, channel), answer)

    def leave(self, resource: str, socket: str) -> None:
        """The watched socket of a plugin is gone."""
        with self._lock:
            closing = self._state.tables.endpoints.leave(resource, socket)
        self._close(closing)
        self._changed()

    @property
    def all(self) -> tuple[PluginLink, ...]:
        """Every plugin that was connected, oldest first."""
        with self._lock:
            return tuple(self._links.values())

    def pause(self) -> None:
        """Takes no list in, and notices no end, until `resume`."""
        self._awake.clear()

    def resume(self) -> None:
        """Goes on."""
        self._awake.set()

    def close(self) -> None:
        """Hangs up everywhere, as the end of a process does; nobody is lost by it."""
        with self._lock:
            self._closed = True
            channels = [link.channel for link in self._links.values()] + [*self._dialling]
        self._awake.set()
        for channel in channels:
            channel.close()

    # -- calls that the state wants made --------------------------------------------------------

    def preferred(self, effect: GetPreferredAllocation) -> tuple[tuple[str, ...], ...]:
        """GetPreferredAllocation: the ids of each container response. Raises Refused."""
        request = pb.PreferredAllocationRequest()
        request.container_requests.add(
            available_deviceIDs=effect.available,
            must_include_deviceIDs=effect.must_include,
            allocation_size=effect.size,
        )
        reply: pb.PreferredAllocationResponse = self._call(
            effect.connection, "GetPreferredAllocation", request, self._patience_s
        )
        return tuple(tuple(sent.deviceIDs) for sent in reply.container_responses)

    def allocate(self, effect: Allocate) -> tuple[Any, ...]:
        """Allocate: a ContainerResponse for each container. Raises Refused."""
        request = pb.AllocateRequest()
        request.container_requests.add(devices_ids=effect.ids)
        reply: pb.AllocateResponse = self._call(
            effect.connection, "Allocate", request, self._patience_s
        )
        return tuple(map(codec.response, reply.container_responses))

    def pre_start(self, effect: PreStartContainer) -> None:
        """PreStartContainer. Raises Refused."""
        request = pb.PreStartContainerRequest(devices_ids=effect.ids)
        self._call(effect.connection, "PreStartContainer", request, effect.deadline_s)

    def _call(self, connection: Connection, rpc: str, request: Any, timeout: float) -> Any:
        with self._lock:
            link = self._links.get(connection.number)
        if link is None:
            raise Refused(Code.UNAVAILABLE, f"{connection.resource} has no connection to call")
        return _guarded(getattr(link.stub, rpc), request, timeout)

    # -- dialling -------------------------------------------------------------------------------

    def _dial(self, socket: str) -> Channel:
        channel = Channel(Endpoint.parse(socket), journal=self._journal)
        with self._lock:
            self._dialling.add(channel)
            closed = self._closed
        try:
            if closed:
                raise Unreachable("kubelet is stopping")
            self._reach(channel)
        except BaseException as error:
            self._drop(channel)
            if isinstance(error, ValueError):  # closed meanwhile
                raise Unreachable("kubelet is stopping") from error
            raise
        return channel

    def _reach(self, channel: Channel) -> None:
        """Waits for the plugin as long as kubelet does, by the clock that was given."""
        seconds = DIAL_S * timeout_factor()
        end = self._clock() + seconds
        while (blocked := obstacle(channel.endpoint, seconds)) is not None and blocked.passing:
            if self._closed or self._clock() >= end:
                raise Unreachable(f"{channel.endpoint}: {blocked.reason}")
            threading.Event().wait(_POLL_S)
        channel.wait_ready(DIAL_S)

    def _options(self, channel: Channel, until: float) -> PluginOptions:
        left = max(until - time.monotonic(), 0.001)
        ask = stubs.DevicePluginStub(cast("grpc.Channel", channel)).GetDevicePluginOptions
        return codec.options(_guarded(ask, pb.Empty(), min(left, self._patience_s)))

    def _connect(self, link: PluginLink, options: PluginOptions) -> None:
        try:
            with self._lock:
                if self._closed:
                    raise Refused(Code.UNAVAILABLE, "kubelet is stopping")
                self._state.tables.endpoints.connect(link.connection, options)
                self._links[link.connection.number] = link
                self._dialling.discard(link.channel)
        except Refused:
            self._drop(link.channel)
            raise
        finally:
            self._changed()
        threading.Thread(
            target=self._follow, args=(link,), name="refimpl-list-and-watch", daemon=True
        ).start()

    def _give_up(self, connection: Connection, channel: Channel | None) -> None:
        with self._lock:
            self._state.tables.endpoints.fail(connection)
        if channel is not None:
            self._drop(channel)
        self._changed()

    def _drop(self, channel: Channel) -> None:
        with self._lock:
            self._dialling.discard(channel)
        channel.close()

    # -- lists ----------------------------------------------------------------------------------

    def _follow(self, link: PluginLink) -> None:
        reason = "the plugin ended its ListAndWatch"
        try:
            link.replies = _guarded(link.stub.ListAndWatch, pb.Empty(), math.inf)
            for message in link.replies:
                self._awake.wait()
                self._take(link, message)
        except Refused as refused:
            reason = f"its ListAndWatch failed: {refused}"
        finally:
            self._awake.wait()
            self._ended(link, reason)

    def _take(self, link: PluginLink, message: pb.ListAndWatchResponse) -> None:
        if (size := message.ByteSize()) > RECEIVE_BYTES:
            raise Refused(Code.RESOURCE_EXHAUSTED, f"a list of {size} bytes, above {RECEIVE_BYTES}")
        resource = link.connection.resource
        devices = link.reader.read(message)
        with self._lock:
            if self._closed:
                return
            pods = self._state.tables.listed(resource, devices)
            link.lists += 1
        self._listed(pods)
        self._changed()

    def _ended(self, link: PluginLink, reason: str) -> None:
        if link.replies is not None:
            link.replies.cancel()
        with self._lock:
            link.ended = reason
            if self._closed:
                return
            endpoints = self._state.tables.endpoints
            closing = endpoints.ended(link.connection)
            resource = link.connection.resource
            kept = (endpoints.primary.get(resource), *endpoints.connections(resource))
        self._note(f"{resource} at {link.connection.socket}: {reason}")
        self._close(closing)
        if link.connection not in kept:
            self._close(link.connection)
        self._changed()

    def _close(self, connection: Connection | None) -> None:
        with self._lock:
            link = self._links.get(connection.number) if connection else None
        if link is not None:
            link.channel.close()


def _guarded(call: Callable[..., Any], request: Any, timeout: float) -> Any:
    """A call whose channel may be closed under it, and whose reply has kubelet's limit."""
    try:
        reply = call(request, timeout=timeout)
    except ValueError as error:  # what grpc raises for a channel that is closed
        raise Refused(Code.CANCELLED, "the connection is closed") from error
    if not isinstance(reply, Replies) and (size := reply.ByteSize()) > RECEIVE_BYTES:
        raise Refused(Code.RESOURCE_EXHAUSTED, f"a reply of {size} bytes, above {RECEIVE_BYTES}")
    return reply
