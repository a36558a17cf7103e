"""What happens to one call on the server: decode, faults, implementation, encode, journal."""

from __future__ import annotations

import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from typing import Any, NoReturn

import grpc
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message import DecodeError, Message
from google.protobuf.message_factory import GetMessageClass

from refimpl.wire.call import Call, Serving
from refimpl.wire.faults import Action, Cut, Delay, Hang, labels
from refimpl.wire.journal import Entry
from refimpl.wire.status import Code, Refused

__all__ = ["Method", "UnaryMethod", "Unknown", "abort"]

BUG = "bug"
"""What the journal has as the fault of a call whose implementation failed."""

_MESSAGE_OCTETS = 6000  # clients take 8 KiB of headers, and refuse the whole call beyond that
_STATUS = {Code(status.value[0]): status for status in grpc.StatusCode}


class Method:
    """One RPC of one service; works on the bytes of its messages."""

    def __init__(self, method: MethodDescriptor, service: object, serving: Serving) -> None:
        self.name = method.name
        self.path = f"/{method.containing_service.full_name}/{method.name}"
        self._service, self._serving = service, serving
        self._request_type: type[Message] = GetMessageClass(method.input_type)
        self._reply_type: type[Message] = GetMessageClass(method.output_type)

    def _entry(self, call: Call, data: bytes) -> Entry:
        return Entry(
            method=self.path,
            peer=self._serving.peer or call.peer,
            time=time.time(),
            deadline_s=call.deadline_s,
            request_type=self._request_type,
            reply_type=self._reply_type,
            requests=(data,),
        )

    def _implementation(self) -> Callable[[Message, Call], Any]:
        implementation = getattr(self._service, self.name, None)
        if implementation is None:
            raise Refused(Code.UNIMPLEMENTED, f"{self.path} is not implemented by this server")
        return implementation  # type: ignore[no-any-return]

    def _decode(self, data: bytes) -> Message:
        try:
            return self._request_type.FromString(data)
        except DecodeError:
            expected = self._request_type.DESCRIPTOR.full_name
            raise Refused(
                Code.INVALID_ARGUMENT,
                f"the request of {self.path} ({len(data)} bytes) is no {expected}:"
                " send a message of that type",
            ) from None

    def _encode(self, reply: object) -> bytes:
        if not isinstance(reply, self._reply_type):
            expected = self._reply_type.DESCRIPTOR.full_name
            raise TypeError(f"{self.name} returned {type(reply).__name__}, not {expected}")
        return reply.SerializeToString()

    def _refusal(self, error: BaseException, entry: Entry) -> Refused:
        if isinstance(error, Cut):
            self._serving.cut()
        if isinstance(error, Refused):
            return error
        entry.fault = BUG
        print(f"refimpl: bug in {self.path}:", file=sys.stderr)
        traceback.print_exception(error)
        kind = type(error).__name__
        return Refused(Code.INTERNAL, f"refimpl: bug in {self.path}: {kind}: {error}")

    def _record(self, entry: Entry, actions: Sequence[Action], refused: Refused | None) -> None:
        if refused is not None:
            entry.code, entry.message = refused.code, refused.message
        if actions:
            self._serving.faults.note(actions)
            entry.fault = ", ".join(filter(None, (entry.fault, labels(actions)))) or None
        self._serving.journal.add(entry)


class UnaryMethod(Method):
    """One request, one reply."""

    def serve(self, data: bytes, context: grpc.ServicerContext) -> bytes:
        """The behaviour that grpc calls, in a worker of the pool. This is the hot path."""
        began = time.perf_counter()
        call = Call(self.path, context, self._serving.pool)
        entry = self._entry(call, data)
        actions: Sequence[Action] = ()
        refused = None
        try:
            request = self._decode(data)
            actions = self._serving.faults.decide(self.path, request)
            if actions:
                reply = self._faulty(request, call, actions)
            else:
                reply = self._encode(self._implementation()(request, call))
            entry.replies_are(reply)
        except BaseException as error:  # also sys.exit(): the caller must get a status
            refused = self._refusal(error, entry)
        call.finish()
        entry.duration_s = time.perf_counter() - began
        self._record(entry, actions, refused)
        if refused is not None:
            abort(context, refused)
        return reply

    def _faulty(self, request: Message, call: Call, actions: Sequence[Action]) -> bytes:
        waits = any(isinstance(action, Delay | Hang) for action in actions)
        with call.waiting() if waits else nullcontext():
            for action in actions:
                action.before(call)
        reply = self._implementation()(request, call)
        for action in actions:
            reply = action.after(call, reply)
        return self._encode(reply)


class Unknown:
    """Answers calls of methods that no service here has."""

    def __init__(self, path: str, serves: Sequence[str], serving: Serving) -> None:
        self._path, self._serves, self._serving = path, serves, serving

    def serve(self, _requests: Iterator[bytes], context: grpc.ServicerContext) -> NoReturn:
        """Refuses before any request is read, so that it fits calls of every kind."""
        call = Call(self._path, context, self._serving.pool)
        services = ", ".join(self._serves)
        refused = Refused(
            Code.UNIMPLEMENTED, f"no service here has {self._path}; this server has {services}"
        )
        self._serving.journal.add(
            Entry(
                method=self._path,
                peer=self._serving.peer or call.peer,
                time=time.time(),
                deadline_s=call.deadline_s,
                code=refused.code,
                message=refused.message,
            )
        )
        abort(context, refused)


def abort(context: grpc.ServicerContext, refused: Refused) -> NoReturn:
    """Ends the call with the status; a message too long for a header is cut."""
    if refused.details:
        context.set_trailing_metadata((("grpc-status-details-bin", refused.details),))
    context.abort(_STATUS[refused.code], _fitting(refused.message))


def _fitting(message: str) -> str:
    if len(message) * 12 <= _MESSAGE_OCTETS:
        return message
    octets = 0
    for index, char in enumerate(message):
        # gRPC over HTTP/2, Status-Message: whatever is not printable ASCII is percent-encoded.
        octets += 1 if " " <= char <= "~" and char != "%" else 3 * len(char.encode())
        if octets > _MESSAGE_OCTETS:
            return f"{message[:index]}... ({len(message)} characters)"
    return message
