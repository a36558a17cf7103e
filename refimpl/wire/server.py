"""A gRPC server for fakes: raw bytes in and out, every call in the journal, faults on demand."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from typing import Any, cast

import attrs
import grpc
from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor

from refimpl.wire.call import Call, Serving
from refimpl.wire.endpoint import RECEIVE_BYTES, Endpoint, EndpointError, bound
from refimpl.wire.faults import Faults, cut_connections
from refimpl.wire.journal import Journal
from refimpl.wire.methods import UnaryMethod, Unknown
from refimpl.wire.pool import Pool
from refimpl.wire.streams import StreamMethod

__all__ = ["Call", "Server"]

_OPTIONS = (
    # Without it two servers would share a TCP port, each getting half of the calls.
    ("grpc.so_reuseport", 0),
    ("grpc.max_receive_message_length", RECEIVE_BYTES),
)


class Server:
    """Serves objects whose methods are named after the RPCs of a service.

    A unary one is `def CreateVolume(self, request, call) -> reply`, one that streams replies is a
    generator; `call` is a `Call`. `Refused` becomes its status; a missing method is UNIMPLEMENTED;
    an undecodable request is INVALID_ARGUMENT; any other exception is a bug of ours: INTERNAL,
    with a traceback on stderr and the fault "bug" in the journal. Nothing ends as UNKNOWN.

    `unary_threads` calls run at a time. Streams, at most `stream_threads`, and calls held by a
    fault have threads of their own, so that they starve nobody. Raises TypeError for a service
    with a method that takes a stream of requests: no node interface has one.
    """

    def __init__(
        self,
        services: Mapping[ServiceDescriptor, object],
        *,
        journal: Journal | None = None,
        faults: Faults | None = None,
        unary_threads: int = 4,
        stream_threads: int = 16,
        allow_remote: bool = False,
    ) -> None:
        self.journal = Journal() if journal is None else journal
        self.faults = Faults() if faults is None else faults
        self._services = dict(services)
        methods = [method for service in services for method in service.methods]
        for method in methods:
            if method.client_streaming:
                raise TypeError(f"{method.full_name}: streams of requests cannot be served")
        self._unary_threads, self._stream_threads = unary_threads, stream_threads
        self._allow_remote = allow_remote
        self._running: _Running | None = None

    def start(self, endpoint: Endpoint) -> Endpoint:
        """Listens; returns the endpoint with the port that was chosen for TCP port 0.

        Raises EndpointError if the endpoint is taken or cannot be bound, and RuntimeError if the
        server runs already. After `stop` it may be started again.
        """
        if self._running is not None:
            raise RuntimeError(f"the server listens at {self._running.endpoint} already: stop it")
        pool = Pool(self._unary_threads)
        try:
            self._running = self._run(endpoint, pool)
        except BaseException:
            pool.shutdown()
            raise
        return self._running.endpoint

    def stop(self, grace_s: float = 1.0) -> None:
        """Ends open streams and held calls, gives the rest `grace_s`, and removes the socket."""
        running, self._running = self._running, None
        if running is None:
            return
        running.serving.stop()
        running.server.stop(grace_s).wait()
        running.serving.pool.shutdown(timeout_s=grace_s)
        _remove(running)

    @property
    def endpoint(self) -> Endpoint | None:
        """Where it listens, None while it does not."""
        return None if self._running is None else self._running.endpoint

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.stop()

    def _run(self, endpoint: Endpoint, pool: Pool) -> _Running:
        serving = Serving(self.journal, self.faults, self._stream_threads, pool)
        server = grpc.server(
            cast(Any, pool), handlers=[_Handlers(self._services, serving)], options=_OPTIONS
        )
        with bound(endpoint, allow_remote=self._allow_remote):
            endpoint = _bind(server, endpoint)
            inode = os.stat(endpoint.path).st_ino if endpoint.kind == "unix" else 0
        serving.peer = "unix:" if endpoint.kind == "unix" else None
        serving.cut = lambda: cut_connections(endpoint)
        server.start()
        return _Running(server, serving, endpoint, inode)


@attrs.frozen
class _Running:
    server: grpc.Server
    serving: Serving
    endpoint: Endpoint
    inode: int


class _Handlers(grpc.GenericRpcHandler):
    """The table from a method's path to what serves it."""

    def __init__(self, services: Mapping[ServiceDescriptor, object], serving: Serving) -> None:
        self._serving = serving
        self._names = [service.full_name for service in services]
        self._table: dict[str, grpc.RpcMethodHandler[bytes, bytes]] = {}
        for descriptor, service in services.items():
            for method in descriptor.methods:
                self._add(method, service)

    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler[bytes, bytes]:
        handler = self._table.get(details.method)
        if handler is not None:
            return handler
        unknown = Unknown(details.method, self._names, self._serving)
        return grpc.stream_unary_rpc_method_handler(unknown.serve)

    def _add(self, method: MethodDescriptor, service: object) -> None:
        if method.server_streaming:
            stream = StreamMethod(method, service, self._serving)
            self._table[stream.path] = grpc.unary_stream_rpc_method_handler(stream.serve)
        else:
            unary = UnaryMethod(method, service, self._serving)
            self._table[unary.path] = grpc.unary_unary_rpc_method_handler(unary.serve)


def _bind(server: grpc.Server, endpoint: Endpoint) -> Endpoint:
    try:
        port = server.add_insecure_port(endpoint.target)
    except RuntimeError as error:
        raise EndpointError(
            f"endpoint {endpoint} cannot be bound: check that the address is one of this machine"
            " and that its port or path may be used by this user"
        ) from error
    return endpoint if endpoint.kind == "unix" else attrs.evolve(endpoint, port=port)


def _remove(running: _Running) -> None:
    # grpc removes the socket when it stops listening; this is for the day it does not.
    if running.endpoint.kind != "unix":
        return
    with contextlib.suppress(OSError):
        if os.stat(running.endpoint.path).st_ino == running.inode:
            os.unlink(running.endpoint.path)
