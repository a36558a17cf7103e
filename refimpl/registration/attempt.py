"""One attempt to register what serves at a socket: kubelet's calls, in its order."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol, cast

import grpc
from attrs import define, field, frozen

from refimpl.registration.api import registration_pb2 as pb
from refimpl.registration.api import registration_pb2_grpc as stubs
from refimpl.wire.client import Channel, Unreachable
from refimpl.wire.endpoint import Endpoint, EndpointError
from refimpl.wire.journal import Journal
from refimpl.wire.status import Refused

__all__ = ["Attempts", "Failed", "Handler", "RegisteredPlugin"]

DIAL_S, GET_INFO_S, NOTIFY_S = 10.0, 1.0, 5.0
"""Kubelet's deadlines of registration, in seconds."""

# What a handler refuses with; anything else is a bug of it.
_REFUSALS = (Refused, Unreachable, ValueError)


@frozen
class RegisteredPlugin:
    """What GetInfo said at a socket; `endpoint` is a path, that of `socket` where none was told."""

    socket: str
    type: str
    name: str
    endpoint: str
    versions: tuple[str, ...]


class Failed(Exception):
    """An attempt that is to be made again later; the text says which step failed and why."""


class Handler(Protocol):
    """What takes in the plugins of one type. To refuse, raise ValueError, Refused or Unreachable.

    Calls for different sockets come at the same time, from different threads.
    """

    def validate(self, name: str, endpoint: str, versions: Sequence[str]) -> None:
        """Judges what was told, without a call to the plugin."""

    def register(self, name: str, endpoint: str, versions: Sequence[str]) -> None:
        """Takes the plugin in; its main service is at `endpoint`."""

    def deregister(self, name: str, endpoint: str) -> None:
        """Its socket is gone, or it could not be told that it was registered."""


@define
class Attempts:
    """Makes attempts, and ends those that run when it is closed."""

    handlers: Mapping[str, Handler]
    journal: Journal | None = None
    _open: set[Channel] = field(factory=set, init=False)
    _lock: threading.Lock = field(factory=threading.Lock, init=False)
    _closed: bool = field(default=False, init=False)

    def register(self, socket: str) -> RegisteredPlugin:
        """Dial, GetInfo, validate, register, notify. Raises Failed.

        Who is refused is told why; who cannot be told of success is deregistered again.
        """
        with self._channel(socket) as channel:
            stub = stubs.RegistrationStub(cast("grpc.Channel", channel))
            plugin = _info(stub, socket)
            handler = self.handlers.get(plugin.type)
            if handler is None:
                known = ", ".join(sorted(self.handlers)) or "none"
                raise _refused(stub, f"type {plugin.type!r} is handled by nobody (known: {known})")
            arguments = (plugin.name, plugin.endpoint, plugin.versions)
            for step in (handler.validate, handler.register):
                try:
                    step(*arguments)
                except _REFUSALS as error:
                    raise _refused(stub, f"{step.__name__}: {error}") from error
            try:
                stub.NotifyRegistrationStatus(
                    pb.RegistrationStatus(plugin_registered=True), timeout=NOTIFY_S
                )
            except Refused as error:
                handler.deregister(plugin.name, plugin.endpoint)
                raise Failed(f"NotifyRegistrationStatus of the success: {error}") from error
        return plugin

    def deregister(self, plugin: RegisteredPlugin) -> None:
        """Tells the handler of the type."""
        self.handlers[plugin.type].deregister(plugin.name, plugin.endpoint)

    def close(self) -> None:
        """Cancels the calls that are open, and refuses what comes later."""
        with self._lock:
            self._closed = True
            channels = tuple(self._open)
        for channel in channels:
            channel.close()

    @contextlib.contextmanager
    def _channel(self, socket: str) -> Iterator[Channel]:
        try:
            channel = Channel(Endpoint.parse(socket), journal=self.journal)
        except EndpointError as error:
            raise Failed(str(error)) from error
        with self._lock:
            if self._closed:
                channel.close()
                raise Failed("the watcher is stopped")
            self._open.add(channel)
        try:
            try:
                channel.wait_ready(DIAL_S)
            except Unreachable as error:
                raise Failed(f"dial: {error}") from error
            yield channel
        finally:
            with self._lock:
                self._open.discard(channel)
            channel.close()


def _info(stub: stubs.RegistrationStub, socket: str) -> RegisteredPlugin:
    try:
        info = stub.GetInfo(pb.InfoRequest(), timeout=GET_INFO_S)
    except Refused as error:
        raise Failed(f"GetInfo: {error}") from error
    versions = tuple(info.supported_versions)
    return RegisteredPlugin(socket, info.type, info.name, info.endpoint or socket, versions)


def _refused(stub: stubs.RegistrationStub, reason: str) -> Failed:
    """What failed, once the plugin has been told; that it does not listen adds to the reason."""
    refusal = pb.RegistrationStatus(plugin_registered=False, error=reason)
    try:
        stub.NotifyRegistrationStatus(refusal, timeout=NOTIFY_S)
    except Refused as error:
        return Failed(f"{reason}; NotifyRegistrationStatus of it: {error}")
    return Failed(reason)
