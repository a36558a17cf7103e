"""One call of the client: bytes out, bytes in, an entry for the journal, a `Refused` for non-OK."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

import grpc
from google.protobuf.message import DecodeError, Message

from refimpl.wire.journal import STREAM_KEEP, Entry
from refimpl.wire.status import Code, Refused

__all__ = ["Caller", "Replies", "StreamCall", "UnaryCall"]

_DETAILS = "grpc-status-details-bin"
_CODES = {status: Code(status.value[0]) for status in grpc.StatusCode}


class Caller(Protocol):
    """What a call needs to know of its channel."""

    @property
    def peer(self) -> str:
        """The endpoint as the journal names it."""

    def seconds(self, timeout: float | None) -> float | None:
        """The deadline for a call that was given this timeout; None for no deadline."""

    def record(self, entry: Entry) -> None:
        """Takes the entry of a call that has ended."""


class Replies:
    """The replies of a stream, to iterate over; raises Refused where the stream ends badly."""

    def __init__(self, call: Any, replies: Iterator[Any]) -> None:
        self._call, self._replies = call, replies

    def __iter__(self) -> Replies:
        return self

    def __next__(self) -> Any:
        return next(self._replies)

    def cancel(self) -> None:
        """Ends the stream, from any thread; whoever iterates gets Refused(CANCELLED)."""
        self._call.cancel()


class _ClientCall:
    def __init__(
        self,
        caller: Caller,
        method: str,
        invoke: Any,
        serialize: Callable[[Any], bytes] | None,
        deserialize: Callable[[bytes], Any] | None,
        streams: bool,
    ) -> None:
        self._caller, self._method, self._invoke = caller, method, invoke
        self._serialize, self._deserialize, self._streams = serialize, deserialize, streams

    def _entry(self, seconds: float | None) -> Entry:
        return Entry(
            method=self._method,
            side="client",
            peer=self._caller.peer,
            time=time.time(),
            deadline_s=seconds,
        )

    def _payload(self, request: Any, entry: Entry, requests: deque[bytes]) -> Any:
        if self._streams:
            return (self._encode(message, entry, requests) for message in request)
        return self._encode(request, entry, requests)

    def _encode(self, message: Any, entry: Entry, requests: deque[bytes]) -> bytes:
        # The bytes are kept, not the message: its owner may change it for the next call.
        data: bytes = message if self._serialize is None else self._serialize(message)
        if isinstance(message, Message):
            entry.request_type = type(message)
        requests.append(data)
        return data

    def _decode(self, data: bytes, entry: Entry) -> Any:
        if self._deserialize is None:
            return data
        try:
            reply = self._deserialize(data)
        except DecodeError:
            raise Refused(
                Code.INTERNAL,
                f"the reply of {self._method} ({len(data)} bytes) is no message of its type",
            ) from None
        if isinstance(reply, Message):
            entry.reply_type = type(reply)
        return reply

    def _finish(
        self,
        entry: Entry,
        began: float,
        frames: tuple[Iterable[bytes], Iterable[bytes]],
        refused: Refused | None,
    ) -> None:
        entry.duration_s = time.perf_counter() - began
        entry.requests_are(*frames[0])
        entry.replies_are(*frames[1])
        if refused is not None:
            entry.code, entry.message = refused.code, refused.message
            entry.details = refused.details
        self._caller.record(entry)


class UnaryCall(_ClientCall):
    """Calls a method that gives one reply."""

    def __call__(self, request: Any, timeout: float | None = None, **options: Any) -> Any:
        """Returns the reply; options are those of grpc (metadata, wait_for_ready...)."""
        return self.with_call(request, timeout, **options)[0]

    def with_call(
        self, request: Any, timeout: float | None = None, **options: Any
    ) -> tuple[Any, grpc.Call]:
        """Returns the reply and grpc's call, which knows the trailers."""
        seconds = self._caller.seconds(timeout)
        entry, began = self._entry(seconds), time.perf_counter()
        requests, replies = deque[bytes](maxlen=STREAM_KEEP), deque[bytes]()
        refused = None
        try:
            payload = self._payload(request, entry, requests)
            data, call = self._invoke.with_call(payload, timeout=seconds, **options)
            if data is None:
                raise _no_reply(self._method, seconds, time.perf_counter() - began)
            replies.append(data)
            reply = self._decode(data, entry)
        except grpc.RpcError as error:
            refused = _refusal(error, self._method, seconds)
        except Refused as error:
            refused = error
        self._finish(entry, began, (requests.copy(), replies), refused)
        if refused is not None:
            raise refused from None
        return reply, call


def _no_reply(method: str, seconds: float | None, passed: float) -> Refused:
    """Where the deadline cuts a call off at its very end, a server may get OK out and no reply."""
    late = seconds is not None and passed >= seconds
    code = Code.DEADLINE_EXCEEDED if late else Code.INTERNAL
    return Refused(code, f"{method} ended with OK and without a reply, which gRPC does not allow")


class StreamCall(_ClientCall):
    """Calls a method that gives any number of replies."""

    def __call__(self, request: Any, timeout: float | None = None, **options: Any) -> Replies:
        """Opens the stream; options are those of grpc."""
        seconds = self._caller.seconds(timeout)
        entry, requests = self._entry(seconds), deque[bytes](maxlen=STREAM_KEEP)
        payload = self._payload(request, entry, requests)
        call = self._invoke(payload, timeout=seconds, **options)
        replies = self._receive(call, entry, requests, seconds)
        next(replies)  # into its `try`, so that it also records a stream that nobody reads
        return Replies(call, replies)

    def _receive(
        self, call: Any, entry: Entry, requests: deque[bytes], seconds: float | None
    ) -> Iterator[Any]:
        began, replies = time.perf_counter(), deque[bytes](maxlen=STREAM_KEEP)
        refused: Refused | None = Refused(Code.CANCELLED, "the stream was not read to its end")
        try:
            yield None
            for data in call:
                replies.append(data)
                yield self._decode(data, entry)
            refused = None
        except grpc.RpcError as error:
            refused = _refusal(error, self._method, seconds)
        except Refused as error:
            refused = error
        finally:
            call.cancel()
            self._finish(entry, began, (requests.copy(), replies), refused)
        if refused is not None:
            raise refused


# What grpcio says of a deadline that passed on our side; the second since 1.85.
_OUR_DEADLINE = ("deadline exceeded", "stream removed (deadline exceeded)")


def _refusal(error: Any, method: str, seconds: float | None) -> Refused:
    # Every grpc.RpcError that a call raises is a grpc.Call too, though its type does not say so.
    code = _CODES[error.code()]
    message: str = error.details() or ""
    if code == Code.DEADLINE_EXCEEDED and message.lower() in _OUR_DEADLINE:
        message = f"{method}: no answer within {seconds:g} s"
    trailers = error.trailing_metadata() or ()
    details: bytes = next((value for key, value in trailers if key == _DETAILS), b"")
    return Refused(code, message, details=details)
