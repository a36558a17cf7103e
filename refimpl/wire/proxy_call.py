"""One call on its way through a proxy: the caller's bytes to the upstream, its answer back."""

from __future__ import annotations

import contextlib
import functools
import itertools
import sys
import threading
import time
import traceback
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

import grpc
from attrs import define, frozen
from google.protobuf import descriptor_pool
from google.protobuf.message import DecodeError, Message
from google.protobuf.message_factory import GetMessageClass

from refimpl.wire.call import Call
from refimpl.wire.endpoint import Endpoint
from refimpl.wire.faults import Action, Cut, Faults, cut_connections, labels
from refimpl.wire.journal import STREAM_KEEP, Entry, Journal
from refimpl.wire.pool import Pool
from refimpl.wire.status import Code, Refused

__all__ = ["ProxyCall", "ProxyRoute"]

_STATUS = {Code(status.value[0]): status for status in grpc.StatusCode}
_OF_EACH_HOP = {"user-agent"}  # grpc sets its own whatever it is given

Metadata = Iterable[tuple[str, str | bytes]]


@define(eq=False)
class ProxyRoute:
    """What the calls of one proxy share: where they come in, and the channel they leave by."""

    journal: Journal
    faults: Faults
    pool: Pool
    channel: grpc.Channel
    endpoint: Endpoint


@frozen
class _Schema:
    """What the schemas of this process say of a method; None where they do not have it."""

    request: type[Message] | None = None
    reply: type[Message] | None = None
    one_request: bool = False


@functools.lru_cache(maxsize=1024)
def _look_up(path: str) -> _Schema:
    service, _, name = path.strip("/").rpartition("/")
    try:
        method = descriptor_pool.Default().FindServiceByName(service).methods_by_name[name]
    except KeyError:
        return _Schema()
    types = GetMessageClass(method.input_type), GetMessageClass(method.output_type)
    return _Schema(*types, one_request=not method.client_streaming)


class ProxyCall:
    """Passes one call of a `Proxy` on to the upstream, whatever its kind.

    On the wire all kinds are streams both ways. Where the schema says that there is one request,
    it is waited for, so that rules can look into it; elsewhere nothing is held back.
    """

    def __init__(
        self, route: ProxyRoute, path: str, requests: Iterator[bytes], context: grpc.ServicerContext
    ) -> None:
        self._route, self._path, self._context = route, path, context
        self._known = _look_up(path)
        self._call = Call(path, context, route.pool)
        self._requests = self._noted(requests)
        self._actions: tuple[Action, ...] = ()
        self._came: deque[bytes] = deque(maxlen=STREAM_KEEP)
        self._sent: deque[bytes] = deque(maxlen=STREAM_KEEP)
        self._upstream: Any = None
        self._opened = threading.Event()

    def serve(self) -> Iterator[bytes]:
        """The behaviour that grpc calls; journaled when the call ends, however it does."""
        entry, began = self._entry(), time.perf_counter()
        refused: Refused | None = None
        try:
            with self._call.waiting():
                yield from self._replies()
            refused = self._call.ending() if self._call.cancelled() else None
        except GeneratorExit:
            refused = self._call.ending()
            raise
        except BaseException as error:
            refused = self._refusal(error, entry)
        finally:
            self._call.finish()
            if self._upstream is not None:
                self._upstream.cancel()
            entry.duration_s = time.perf_counter() - began
            self._record(entry, refused)
        if refused is not None:
            self._context.abort(_STATUS[refused.code], refused.message)

    def _replies(self) -> Iterator[bytes]:
        first = list(itertools.islice(self._requests, 1)) if self._known.one_request else []
        request = _decoded(first[0], self._known.request) if first else None
        self._actions = self._route.faults.decide(self._path, request)
        for action in self._actions:
            action.before(self._call)
        replies: Iterator[Any] = self._forward(first)
        if self._actions:
            replies = (_decoded(reply, self._known.reply) for reply in replies)
            for action in self._actions:
                replies = action.stream(self._call, replies)
        for reply in replies:
            self._sent.append(reply if isinstance(reply, bytes) else reply.SerializeToString())
            yield self._sent[-1]

    def _forward(self, first: list[bytes]) -> Iterator[bytes]:
        upstream = self._open(first)
        headers = upstream.initial_metadata()
        if headers or upstream.is_active():  # an answer that is a status alone has no headers
            self._context.send_initial_metadata(_passing(headers))
        with contextlib.suppress(grpc.RpcError):  # its status follows
            yield from upstream
        trailers = _passing(upstream.trailing_metadata())
        self._context.set_trailing_metadata(trailers)
        code, message = Code(upstream.code().value[0]), upstream.details() or ""
        if code != Code.OK:
            details: Any = dict(trailers).get("grpc-status-details-bin", b"")
            raise Refused(code, message, details=details)
        self._context.set_details(message)

    def _open(self, first: list[bytes]) -> Any:
        remaining = None if self._call.deadline_s is None else self._context.time_remaining()
        metadata = _passing(self._context.invocation_metadata())
        channel: Any = self._route.channel
        invoke = (channel.unary_stream if first else channel.stream_stream)(self._path)
        requests: Any = first[0] if first else self._fed()
        try:
            self._upstream = invoke(requests, timeout=remaining, metadata=metadata)
        finally:
            self._opened.set()
        self._call.on_cancel(self._upstream.cancel)
        if self._call.cancelled():
            self._upstream.cancel()
        return self._upstream

    def _noted(self, requests: Iterator[bytes]) -> Iterator[bytes]:
        for request in requests:
            self._came.append(request)
            yield request
        # When a caller cancels, grpc may report the end of the requests a moment before it, which
        # a server could take for a complete stream. By the second answer it knows which it is.
        next(requests, None)

    def _fed(self) -> Iterator[bytes]:
        try:
            yield from self._requests
        except grpc.RpcError:
            # The caller is gone. To end here would tell the upstream that all requests have come.
            self._opened.wait()
            self._upstream.cancel()

    def _entry(self) -> Entry:
        unix = self._route.endpoint.kind == "unix"
        return Entry(
            method=self._path,
            side="proxy",
            peer="unix:" if unix else self._call.peer,
            time=time.time(),
            deadline_s=self._call.deadline_s,
            request_type=self._known.request,
            reply_type=self._known.reply,
        )

    def _refusal(self, error: BaseException, entry: Entry) -> Refused:
        if isinstance(error, Cut):
            cut_connections(self._route.endpoint)
            return error
        if self._call.cancelled():
            return self._call.ending()
        if isinstance(error, Refused):
            return error
        entry.fault = "bug"
        print(f"refimpl: bug in the proxy at {self._path}:", file=sys.stderr)
        traceback.print_exception(error)
        return Refused(Code.INTERNAL, f"refimpl: bug in the proxy: {type(error).__name__}: {error}")

    def _record(self, entry: Entry, refused: Refused | None) -> None:
        entry.requests_are(*self._came.copy())
        entry.replies_are(*self._sent)
        if refused is not None:
            entry.code, entry.message = refused.code, refused.message
            entry.details = refused.details
        self._route.faults.note(self._actions)
        entry.fault = ", ".join(filter(None, (entry.fault, labels(self._actions)))) or None
        self._route.journal.add(entry)


def _passing(metadata: Metadata | None) -> tuple[tuple[str, str | bytes], ...]:
    return tuple((key, value) for key, value in metadata or () if key not in _OF_EACH_HOP)


def _decoded(data: bytes, kind: type[Message] | None) -> bytes | Message:
    try:
        return data if kind is None else kind.FromString(data)
    except DecodeError:
        return data
