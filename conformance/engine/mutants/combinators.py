"""Bends by what they do: each function here returns a method for a mutant.

`NodePublishVolume = clears("readonly")` says what would else be a method of four lines. `when` is a
condition on the request, without one the bend is made at every call. Where a function is bent that
is no RPC, its first argument is the request, and what it returns the reply.
"""

from __future__ import annotations

import copy
import functools
import itertools
from collections.abc import Callable, Iterator
from typing import Any

from conformance.engine.mutants import fields
from conformance.engine.mutants.notes import Noted
from refimpl.wire.status import Code, Refused

__all__ = [
    "ANY",
    "Bend",
    "after",
    "answers",
    "argument",
    "before",
    "chain",
    "clears",
    "counted",
    "does_nothing",
    "has",
    "lacks",
    "mistakes",
    "omits",
    "refuses",
    "returns",
    "sets",
    "swallows",
    "turns",
]

Bend = Callable[..., Any]
Condition = Callable[[Any], Any] | Noted | None
Change = Callable[[Any], Any]

ANY: None = None
"""Whatever the code of a refusal."""

# Of the request


def before(change: Change, *, when: Condition = None) -> Bend:
    """`change(request)` before the call: in its place, or it returns another request."""
    return argument(0, change, when=when)


def argument(which: int | str, value: Any, *, when: Condition = None) -> Bend:
    """One argument of the call, by its place or its name, has this value, or what a function makes
    of its value."""

    def bent(mutant: Any, proceed: Bend, *given: Any, **named: Any) -> Any:
        if _holds(when, mutant, given):
            places: dict[Any, Any] = {**dict(enumerate(given)), **named}
            changes = callable(value)
            places[which] = _changed(value, _own(places[which])) if changes else value
            given = tuple(places[place] for place in range(len(given)))
            named = {name: places[name] for name in named}
        return proceed(*given, **named)

    return bent


def sets(path: str, value: Any, *, when: Condition = None) -> Bend:
    """The field of the request has this value, or what a function makes of its value."""
    return before(lambda request: fields.put(request, path, value), when=when)


def clears(*paths: str, when: Condition = None) -> Bend:
    """The request comes without these fields."""
    return chain(*(sets(path, fields.GONE, when=when) for path in paths))


# Of the reply


def after(change: Change, *, when: Condition = None) -> Bend:
    """`change(reply)` after the call: in its place, or it returns another; of a stream each one."""

    def bent(mutant: Any, proceed: Bend, *given: Any, **named: Any) -> Any:
        holds = _holds(when, mutant, given)
        reply = proceed(*given, **named)
        if holds and isinstance(reply, Iterator):
            return (_changed(change, each) for each in reply)
        return _changed(change, reply) if holds else reply

    return bent


def answers(path: str, value: Any, *, when: Condition = None) -> Bend:
    """The field of the reply has this value, or what a function makes of its value."""
    return after(lambda reply: fields.put(reply, path, value), when=when)


def omits(*paths: str, when: Condition = None) -> Bend:
    """The reply goes without these fields."""
    return chain(*(answers(path, fields.GONE, when=when) for path in paths))


# Of what becomes of the call


def turns(code: Code | None, into: Code, message: str = "", *, when: Condition = None) -> Bend:
    """A refusal with this code, or ANY, is another one, or with OK an empty reply.

    `message`: its words, without any those that it had.
    """

    def bent(mutant: Any, proceed: Bend, *given: Any, **named: Any) -> Any:
        holds = _holds(when, mutant, given)
        try:
            return proceed(*given, **named)
        except Refused as refusal:
            if not holds or code not in (ANY, refusal.code):
                raise
            if into == Code.OK:
                return _empty_reply(*given[:1])
            raise Refused(into, message or refusal.message) from None

    return bent


def swallows(error: type[Exception], value: Any = None) -> Bend:
    """What raises such an error returns the value instead."""

    def bent(_mutant: Any, proceed: Bend, *given: Any, **named: Any) -> Any:
        try:
            return proceed(*given, **named)
        except error:
            return value

    return bent


def refuses(code: Code, message: str, *, when: Condition = None) -> Bend:
    """The call is refused."""

    def bent(mutant: Any, proceed: Bend, *given: Any, **named: Any) -> Any:
        if _holds(when, mutant, given):
            raise Refused(code, message)
        return proceed(*given, **named)

    return bent


def returns(value: Any, *, when: Condition = None) -> Bend:
    """Nothing is called, and this is the answer, or what a function makes of the request."""

    def bent(mutant: Any, proceed: Bend, *given: Any, **named: Any) -> Any:
        if _holds(when, mutant, given):
            return value(*given[:1]) if callable(value) else value
        return proceed(*given, **named)

    return bent


def does_nothing(*, when: Condition = None) -> Bend:
    """Nothing is called, and the answer is an empty reply; None where no message was given."""
    return returns(_empty_reply, when=when)


# Together


def chain(*bends: Bend) -> Bend:
    """One bend before the other, the first of them farthest from the fake."""

    def bent(mutant: Any, proceed: Bend, *given: Any, **named: Any) -> Any:
        for bend in reversed(bends):
            proceed = functools.partial(bend, mutant, proceed)
        return proceed(*given, **named)

    return bent


def counted(change: Callable[[Any, int], Any]) -> Change:
    """A change that is told how often it was made before: `change(value, 0)` at first."""
    numbers = itertools.count()
    return lambda value: change(value, next(numbers))


def mistakes(value: Any, other: Any) -> Change:
    """A change of one value into another; what is something else stays as it is."""
    return lambda present: other if present == value else present


def has(path: str) -> Change:
    """The condition that the request has something there."""
    return lambda request: fields.filled(request, path)


def lacks(path: str) -> Change:
    """The condition that the request has nothing there."""
    return lambda request: not fields.filled(request, path)


def _holds(when: Condition, mutant: Any, given: tuple[Any, ...]) -> bool:
    if when is None:
        return True
    return when.holds(mutant, *given[:1]) if isinstance(when, Noted) else bool(when(*given[:1]))


def _changed(change: Change, thing: Any) -> Any:
    changed = change(thing)
    return thing if changed is None else changed


def _own(thing: Any) -> Any:
    """A document belongs to who asks, a message was decoded for us."""
    return copy.deepcopy(thing) if isinstance(thing, dict) else thing


def _empty_reply(request: Any = None) -> Any:
    described = getattr(request, "DESCRIPTOR", None)
    if described is None:
        return None
    from google.protobuf.message_factory import GetMessageClass  # CNI has no messages

    name = described.name.removesuffix("Request") + "Response"
    return GetMessageClass(described.file.message_types_by_name[name])()
