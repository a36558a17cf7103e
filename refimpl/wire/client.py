"""The calling side: a channel for generated stubs; every call has a deadline and a record."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Sequence
from typing import Any

import grpc

from refimpl.wire.client_call import Replies, StreamCall, UnaryCall
from refimpl.wire.endpoint import RECEIVE_BYTES, Endpoint
from refimpl.wire.journal import Entry, Journal
from refimpl.wire.reach import obstacle

__all__ = ["Channel", "Replies", "Unreachable", "timeout_factor"]

_POLL_S = 0.02
_READY: int = grpc.ChannelConnectivity.READY.value[0]
_LOOKS = ("check_connectivity_state", "watch_connectivity_state")
_OPTIONS = (
    ("grpc.max_receive_message_length", RECEIVE_BYTES),
    ("grpc.enable_retries", 0),  # a call that is judged is sent once
    ("grpc.enable_http_proxy", 0),  # the environment's proxy knows nothing of this node
    ("grpc.use_local_subchannel_pool", 1),  # a connection of its own, as a kubelet's would be
    ("grpc.initial_reconnect_backoff_ms", 50),  # a restarted server is found at once
    # In spite of its name: how long the handshake of one connection may take.
    ("grpc.min_reconnect_backoff_ms", 5_000),
    ("grpc.max_reconnect_backoff_ms", 500),
)
Callback = Callable[[grpc.ChannelConnectivity], None]


class Unreachable(Exception):
    """The target cannot be called; the text is one sentence that says why."""


def timeout_factor() -> float:
    """What REFIMPL_TIMEOUT_FACTOR multiplies every deadline with; 1 if unset.

    Raises ValueError for anything that is not a positive number.
    """
    text = os.environ.get("REFIMPL_TIMEOUT_FACTOR") or "1"
    try:
        factor = float(text)
    except ValueError:
        factor = math.nan
    if not 0 < factor < math.inf:
        raise ValueError(f"REFIMPL_TIMEOUT_FACTOR={text!r} is not a number above 0, such as 2.5")
    return factor


class Channel(grpc.Channel):
    """A `grpc.Channel` to one endpoint, for generated stubs.

    A call without a timeout has `deadline_s` seconds (`timeout=math.inf` for none); all deadlines
    are scaled by `timeout_factor`. Every call goes to the journal and to each observer, a stream
    when it ends. Anything but OK is raised as `Refused`; nothing is retried. A method has
    `__call__` and, for unary replies, `with_call`; for `future` use a thread.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        deadline_s: float = 60.0,
        journal: Journal | None = None,
        observers: Sequence[Callable[[Entry], object]] = (),
    ) -> None:
        self.endpoint, self.journal, self.peer = endpoint, journal, str(endpoint)
        self._deadline_s, self._factor = deadline_s, timeout_factor()
        self._observers = tuple(observers)
        options: list[tuple[str, str | int]] = [*_OPTIONS]
        if endpoint.kind == "unix":
            # Servers written in Go refuse a path as the authority.
            options.append(("grpc.default_authority", "localhost"))
        self._channel = grpc.insecure_channel(endpoint.target, options=options)

    def wait_ready(self, timeout_s: float) -> None:
        """Returns once the server answers; raises Unreachable with the reason if it does not.

        Waits up to `timeout_s` for a server that is not there yet, not for what never becomes one.
        """
        seconds = timeout_s * self._factor
        deadline = time.monotonic() + seconds
        left = seconds
        while (hindrance := obstacle(self.endpoint, max(left, _POLL_S))) is not None:
            left = deadline - time.monotonic() - _POLL_S
            if not hindrance.passing or left <= 0:
                raise Unreachable(f"{self.endpoint}: {hindrance.reason}")
            time.sleep(_POLL_S)
        self._wait_connected(max(deadline - time.monotonic(), _POLL_S), seconds)

    def unary_unary(
        self,
        method: str,
        request_serializer: Any = None,
        response_deserializer: Any = None,
        _registered_method: bool = False,
    ) -> Any:
        """The callable of a method that takes one request and gives one reply."""
        invoke: Any = self._channel.unary_unary(method)
        return UnaryCall(self, method, invoke, request_serializer, response_deserializer, False)

    def unary_stream(
        self,
        method: str,
        request_serializer: Any = None,
        response_deserializer: Any = None,
        _registered_method: bool = False,
    ) -> Any:
        """The callable of a method that takes one request and streams replies."""
        invoke: Any = self._channel.unary_stream(method)
        return StreamCall(self, method, invoke, request_serializer, response_deserializer, False)

    def stream_unary(
        self,
        method: str,
        request_serializer: Any = None,
        response_deserializer: Any = None,
        _registered_method: bool = False,
    ) -> Any:
        """The callable of a method that takes a stream of requests and gives one reply."""
        invoke: Any = self._channel.stream_unary(method)
        return UnaryCall(self, method, invoke, request_serializer, response_deserializer, True)

    def stream_stream(
        self,
        method: str,
        request_serializer: Any = None,
        response_deserializer: Any = None,
        _registered_method: bool = False,
    ) -> Any:
        """The callable of a method that streams requests and replies."""
        invoke: Any = self._channel.stream_stream(method)
        return StreamCall(self, method, invoke, request_serializer, response_deserializer, True)

    def subscribe(self, callback: Callback, try_to_connect: bool = False) -> None:
        """Calls the callback with the connection's present state and with each later one."""
        self._channel.subscribe(callback, try_to_connect)

    def unsubscribe(self, callback: Callback) -> None:
        """Ends what `subscribe` began for this callback."""
        self._channel.unsubscribe(callback)

    def close(self) -> None:
        """Cancels what is open and hangs up."""
        self._channel.close()

    def __enter__(self) -> Channel:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def seconds(self, timeout: float | None) -> float | None:
        """The deadline of a call that was given this timeout; None for none."""
        asked_s = self._deadline_s if timeout is None else timeout
        return None if asked_s == math.inf else asked_s * self._factor

    def record(self, entry: Entry) -> None:
        """Hands a call that has ended to the journal and the observers."""
        if self.journal is not None:
            self.journal.add(entry)
        for observe in self._observers:
            observe(entry)

    def _wait_connected(self, timeout_s: float, seconds: float) -> None:
        # gRPC's own way of waiting leaves a thread in the channel, for which `close` waits 0.2 s.
        core = getattr(self._channel, "_channel", None)
        watchable = all(hasattr(core, name) for name in _LOOKS)
        try:
            connected = (
                _ready_by_watching(core, timeout_s)
                if watchable
                else self._ready_by_future(timeout_s)
            )
        except ValueError as error:  # what grpc raises for a channel that is closed meanwhile
            raise Unreachable(f"{self.endpoint}: the connection was closed by us") from error
        if not connected:
            raise Unreachable(
                f"{self.endpoint}: it greets like HTTP/2, but gRPC got no connection within"
                f" {seconds:g} s"
            )

    def _ready_by_future(self, timeout_s: float) -> bool:
        ready = grpc.channel_ready_future(self._channel)
        try:
            ready.result(timeout=timeout_s)
        except grpc.FutureTimeoutError:
            ready.cancel()
            return False
        return True


def _ready_by_watching(core: Any, timeout_s: float) -> bool:
    """Watches the connection itself; whoever waits has to poll, too (see polling)."""
    deadline = time.time() + timeout_s
    while (state := core.check_connectivity_state(True)) != _READY:
        if time.time() > deadline:
            return False
        # Now and then nobody tells the watch, which then takes all the time it is given.
        core.watch_connectivity_state(state, min(deadline, time.time() + _POLL_S))
    return True
