"""A proxy before any gRPC server: faults and a journal without knowing the messages.

Bytes, metadata, deadlines, cancelling, trailers and status details pass as they are, for RPCs of
every kind. What grpc sets by itself is the proxy's own: `user-agent`, `:authority`, compression.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self, cast

import attrs
import grpc

from refimpl.wire.endpoint import Endpoint, EndpointError, bound
from refimpl.wire.faults import Faults
from refimpl.wire.journal import Journal
from refimpl.wire.pool import Pool
from refimpl.wire.proxy_call import ProxyCall, ProxyRoute

__all__ = ["Proxy"]

_METADATA_BYTES = 1024 * 1024  # both sides have limits of their own, ours must not be lower
_ANY_SIZE = (
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    ("grpc.max_metadata_size", _METADATA_BYTES),
    ("grpc.absolute_max_metadata_size", _METADATA_BYTES),
)
_LISTENING = (
    *_ANY_SIZE,
    ("grpc.so_reuseport", 0),
    ("grpc.http2.max_ping_strikes", 0),  # how often a caller pings is between it and the server
)
_CALLING = (
    *_ANY_SIZE,
    ("grpc.default_authority", "localhost"),
    ("grpc.enable_retries", 0),  # what the caller sent once arrives at most once
    ("grpc.enable_http_proxy", 0),
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.initial_reconnect_backoff_ms", 50),  # a restarted server is found at once
    ("grpc.min_reconnect_backoff_ms", 50),
    ("grpc.max_reconnect_backoff_ms", 500),
)

_THREADS, _MOST_CALLS = 8, 512


class Proxy:
    """Listens and passes every call on to `upstream`; rules and journal act in between.

    Requests and replies are decoded, for predicates, `mutate` and the journal, where the method
    is in a schema that this process has loaded; elsewhere they stay bytes.
    """

    def __init__(
        self,
        upstream: Endpoint,
        *,
        journal: Journal | None = None,
        faults: Faults | None = None,
        allow_remote: bool = False,
    ) -> None:
        self.upstream = upstream
        self.journal = Journal() if journal is None else journal
        self.faults = Faults() if faults is None else faults
        self._allow_remote = allow_remote
        self._running: _Running | None = None

    @property
    def endpoint(self) -> Endpoint | None:
        """Where it listens, None while it does not."""
        return self._running.endpoint if self._running else None

    def start(self, endpoint: Endpoint) -> Endpoint:
        """Listens; returns the endpoint with the port that was chosen for TCP port 0.

        Raises EndpointError if the endpoint is taken or cannot be bound. The upstream need not
        be there yet: calls are UNAVAILABLE until it is.
        """
        if self._running is not None:
            raise RuntimeError(f"the proxy listens at {self._running.endpoint} already: stop it")
        pool = Pool(_THREADS, _MOST_CALLS)
        channel = grpc.insecure_channel(self.upstream.target, options=_CALLING)
        try:
            self._running = self._listen(endpoint, pool, channel)
        except BaseException:
            channel.close()
            pool.shutdown()
            raise
        return self._running.endpoint

    def stop(self, grace_s: float = 1.0) -> None:
        """Ends held calls, gives the others `grace_s`, and removes the socket."""
        running, self._running = self._running, None
        if running is None:
            return
        stopped = running.server.stop(grace_s)
        self.faults.release()
        stopped.wait()
        running.channel.close()
        running.pool.shutdown(timeout_s=grace_s)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.stop()

    def _listen(self, endpoint: Endpoint, pool: Pool, channel: grpc.Channel) -> _Running:
        route = ProxyRoute(self.journal, self.faults, pool, channel, endpoint)
        server = grpc.server(cast(Any, pool), handlers=[_Handlers(route)], options=_LISTENING)
        with bound(endpoint, allow_remote=self._allow_remote):
            try:
                port = server.add_insecure_port(endpoint.target)
            except RuntimeError as error:
                raise EndpointError(f"endpoint {endpoint} cannot be bound: {error}") from error
        route.endpoint = attrs.evolve(endpoint, port=0 if endpoint.kind == "unix" else port)
        server.start()
        return _Running(server, pool, channel, route.endpoint)


@attrs.frozen
class _Running:
    server: grpc.Server
    pool: Pool
    channel: grpc.Channel
    endpoint: Endpoint


class _Handlers(grpc.GenericRpcHandler):
    """One way for every method: on the wire all kinds of RPC are streams both ways."""

    def __init__(self, route: ProxyRoute) -> None:
        self._route = route

    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler[bytes, bytes]:
        def serve(requests: Iterator[bytes], context: grpc.ServicerContext) -> Iterator[bytes]:
            return ProxyCall(self._route, details.method, requests, context).serve()

        return grpc.stream_stream_rpc_method_handler(serve)
