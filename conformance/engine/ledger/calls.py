"""Calls that make something on a target, in the ledger before they are made.

An interface gives a table of calls that can be undone; requests are kept without their secrets. A
call whose reply never came is made again on sweeping, which tells what it made (creates are
idempotent in every interface), and is undone then.
"""

from __future__ import annotations

import base64
import functools
import threading
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

import attrs
from google.protobuf.message import Message

from conformance.engine.ledger.entries import CALL, Ledger, LedgerEntry
from refimpl.wire.secrets import is_secret
from refimpl.wire.status import Code, Refused

M = TypeVar("M", bound=Message)

# After these the call may have had its effect all the same (gRPC: the answer is unknown).
UNCERTAIN = frozenset(
    {Code.CANCELLED, Code.DEADLINE_EXCEEDED, Code.UNAVAILABLE, Code.ABORTED, Code.UNKNOWN}
)


@attrs.frozen
class Undo:
    """How a kind of call is undone: the inverse method, and its request made of request and reply.

    needs_reply: only the reply names what was made (a volume id), so a lost one is asked for again.
    """

    inverse: str
    build: Callable[[Any, Any], Message]
    reply: type[Message]
    needs_reply: bool = False


@attrs.define
class Made:
    """One call that may have made something on the target."""

    entry: LedgerEntry
    request: Message
    reply: Message | None = None

    @property
    def method(self) -> str:
        """The full name of the call's method."""
        return self.entry.name

    def __str__(self) -> str:
        return self.method


class CallLedger:
    """The calls not yet undone, each an entry of a ledger.

    table: method -> how its calls are undone. requests: method -> its request's type. begun: told
    of each call that may make something, before it is made.
    """

    def __init__(
        self,
        ledger: Ledger,
        table: Mapping[str, Undo],
        requests: Mapping[str, type[Message]] | None = None,
        begun: Callable[[Made], object] = bool,
    ) -> None:
        self.ledger, self.table = ledger, table
        self._requests, self._begun = requests or {}, begun
        self._inverses = {undo.inverse for undo in table.values()}
        self._open: dict[int, Made] = {}
        self._keys: dict[bytes, int] = {}
        self._lock = threading.Lock()

    def watches(self, method: str) -> bool:
        """Whether a call of this method has to pass through `perform`."""
        return method in self.table or method in self._inverses

    def perform(self, method: str, request: M, call: Callable[[M], Any]) -> Any:
        """Makes the call, with what it made or undid on record whatever happens in between."""
        call_made = self._intend(method, request) if method in self.table else None
        try:
            reply = call(request)
        except Refused as refusal:
            if call_made and refusal.code not in UNCERTAIN:
                self.forget(call_made)
            raise
        if call_made:
            self._learn(call_made, reply)
        if method in self._inverses:
            self._undone(method, request)
        return reply

    def open_calls(self) -> list[Made]:
        """What is still to be undone, newest first."""
        with self._lock:
            return sorted(self._open.values(), key=lambda call: -call.entry.number)

    def is_open(self, call_made: Made) -> bool:
        """Whether it is still to be undone."""
        with self._lock:
            return call_made.entry.number in self._open

    def forget(self, call_made: Made) -> None:
        """The thing is gone, or was never made."""
        with self._lock:
            self._open.pop(call_made.entry.number, None)
        self.ledger.remove(call_made.entry)

    def read(self, entry: LedgerEntry) -> Made:
        """The call of a killed run; raises KeyError for one that only a newer release undoes."""
        method = entry.name
        request = _unpack(self._requests[method], entry.facts["request"])
        text = entry.facts.get("reply")
        reply = _unpack(self.table[method].reply, text) if text else None
        return Made(entry, request, reply)

    def _intend(self, method: str, request: Message) -> Made:
        entry = self.ledger.add(CALL, method, {"request": _pack(request)})
        call_made = Made(entry, request)
        with self._lock:
            self._open[entry.number] = call_made
        self._begun(call_made)
        return call_made

    def _learn(self, call_made: Made, reply: Message) -> None:
        undo = self.table[call_made.method]
        key = _key(undo.inverse, undo.build(call_made.request, reply))
        with self._lock:
            call_made.reply = reply
            repeat = self._keys.get(key) in self._open
            if not repeat:
                self._keys[key] = call_made.entry.number
        if repeat:
            # One undo serves both, after that of all that was made in between.
            self.forget(call_made)
        else:
            self.ledger.learn(call_made.entry, {"reply": _pack(reply)})

    def _undone(self, method: str, request: Message) -> None:
        with self._lock:
            number = self._keys.pop(_key(method, request), None)
            call_made = self._open.get(number) if number is not None else None
        if call_made:
            self.forget(call_made)


def without_secrets(message: M) -> M:
    """A request with its secret fields cleared: a copy, or itself where there are none."""
    secret = [name for name in _secret_fields(cast("Any", type(message))) if getattr(message, name)]
    if not secret:
        return message
    copy = type(message).FromString(message.SerializeToString())
    for name in secret:
        copy.ClearField(name)
    return copy


@functools.cache
def _secret_fields(kind: Any) -> list[str]:
    fields = kind.DESCRIPTOR.fields
    return [field.name for field in fields if is_secret(field)]


def _key(method: str, request: Message) -> bytes:
    return method.encode() + without_secrets(request).SerializeToString(deterministic=True)


def _pack(message: Message) -> str:
    return base64.b64encode(without_secrets(message).SerializeToString()).decode()


def _unpack(kind: type[Message], text: str) -> Message:
    return kind.FromString(base64.b64decode(text))


class LedgerChannel:
    """A channel whose undoable calls are kept in a ledger; what generated stubs are made over."""

    def __init__(self, channel: Any, ledger: CallLedger) -> None:
        self._channel = channel
        self._ledger = ledger

    def unary_unary(self, method: str, *args: Any, **kwargs: Any) -> Callable[..., Any]:
        """The caller of one method, through the ledger where the method is one it watches."""
        call = self._channel.unary_unary(method, *args, **kwargs)
        ledger = self._ledger
        if not ledger.watches(method):
            return call  # type: ignore[no-any-return]

        def tracked(request: Message, **options: Any) -> Any:
            return ledger.perform(method, request, lambda sent: call(sent, **options))

        return tracked

    def __getattr__(self, name: str) -> Any:
        return getattr(self._channel, name)
