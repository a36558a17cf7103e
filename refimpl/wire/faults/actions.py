"""What a rule does to a call: one class an action, with the three moments at which it may act.

`before` the implementation runs (it may raise Refused, or wait), `after` it returned (a reply
comes in, a reply goes out), and around the `stream` of replies. Each firing is a fresh object, so
that an action can leave a note for the journal.
"""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, ClassVar, Literal, NoReturn, TypeVar

import attrs
from attrs import define, field, frozen

from refimpl.wire.faults.edits import Edits
from refimpl.wire.faults.gate import CallGate, HeldCall, HoldEnd
from refimpl.wire.status import Code, Refused

__all__ = [
    "Action",
    "Close",
    "Crash",
    "Cut",
    "Delay",
    "DropReply",
    "EndStream",
    "Firing",
    "Hang",
    "HeldCall",
    "Mutate",
    "Status",
    "labels",
]

M = TypeVar("M")
Phase = Literal["before", "after", "stream", "point"]

LONGEST_S = 86_400.0
"""The longest delay a rule may ask for: a day. `Hang` is for more."""


class Cut(Refused):
    """Asks for all connections to the server to be cut; the caller sees UNAVAILABLE."""


def _within(most: float) -> Callable[[object, attrs.Attribute[float], float], None]:
    def check(_action: object, field: attrs.Attribute[float], value: float) -> None:
        if not 0 <= value <= most:
            raise ValueError(f"{field.name}: {value} is not within 0 and {most:g}")

    return check


def _edits(edits: Edits | Mapping[str, Any]) -> Edits:
    return edits if isinstance(edits, Edits) else Edits(edits)


@frozen
class Firing:
    """One firing of a rule: its id, where it holds calls, and a normally distributed draw."""

    rule: str = ""
    gate: CallGate = field(factory=CallGate)
    spread: float = 0.0


@define(eq=False)
class Action:
    """The common part: which rule fired, and what became of it. By itself it changes nothing."""

    name: ClassVar[str] = ""
    final: ClassVar[bool] = False
    """Whether the call's fate is settled, so that later rules do not see it."""

    phase: Phase = field(default="before", init=False)
    note: str = field(default="", init=False)
    firing: Firing = field(factory=Firing, repr=False, kw_only=True)

    @property
    def rule(self) -> str:
        """The id of the rule that fired."""
        return self.firing.rule

    @property
    def label(self) -> str:
        """The rule's id as the journal records it, with the reason if it could not be applied."""
        return f"{self.rule} ({self.note})" if self.note else self.rule

    def before(self, call: HeldCall, /) -> None:
        """Acts before the implementation runs. Raises Refused where the call ends here."""

    def after(self, _call: HeldCall, reply: M, /) -> M:
        """Returns the reply to send instead of `reply`. Raises Refused if none is to be sent."""
        return reply

    def stream(self, _call: HeldCall, replies: Iterator[M], /) -> Iterator[M]:
        """Returns the stream to send instead of `replies`."""
        return replies

    def fired(self, firing: Firing) -> Action:
        """A fresh one for a single call."""
        return attrs.evolve(self, firing=firing)

    def to_dict(self) -> dict[str, Any]:
        """The fields as they are written in YAML."""
        return {}

    def _wait(self, call: HeldCall, seconds: float | None) -> None:
        ending = self.firing.gate.hold(call, seconds)
        if ending is HoldEnd.CALLER:
            raise call.ending()
        if ending is HoldEnd.SERVER:
            raise Refused(Code.UNAVAILABLE, f"the server stopped while fault {self.rule} held it")


@define(eq=False)
class Status(Action):
    """Ends the call with a status; the implementation never sees it."""

    name: ClassVar[str] = "status"
    final: ClassVar[bool] = True

    code: Code = field(validator=attrs.validators.not_(attrs.validators.in_((Code.OK,))))
    message: str = ""

    def before(self, _call: HeldCall, /) -> None:
        raise Refused(self.code, self.message or f"fault {self.rule}")

    def to_dict(self) -> dict[str, Any]:
        return {"code": self.code.name, "message": self.message}


@define(eq=False)
class Delay(Action):
    """Holds the call for `seconds` before it is served.

    With `sigma` delays are log-normal around that median: most are near it, a few far above.
    """

    name: ClassVar[str] = "delay"

    seconds: float = field(validator=_within(LONGEST_S))
    sigma: float = field(default=0.0, validator=attrs.validators.ge(0))

    def fired(self, firing: Firing) -> Action:
        seconds = min(self.seconds * math.exp(self.sigma * firing.spread), LONGEST_S)
        return attrs.evolve(self, firing=firing, seconds=seconds)

    def before(self, call: HeldCall, /) -> None:
        self._wait(call, self.seconds)

    def to_dict(self) -> dict[str, Any]:
        return {"seconds": self.seconds} | ({"sigma": self.sigma} if self.sigma else {})


@define(eq=False)
class Hang(Action):
    """Holds the call until its caller gives up, its deadline passes or the server stops.

    A call whose rule is removed meanwhile goes on as if nothing had happened.
    """

    name: ClassVar[str] = "hang"

    def before(self, call: HeldCall, /) -> None:
        self._wait(call, None)


@define(eq=False)
class DropReply(Action):
    """The call takes effect, and its caller never learns: UNAVAILABLE instead of the reply."""

    name: ClassVar[str] = "drop_reply"
    final: ClassVar[bool] = True

    phase: Phase = field(default="after", init=False)

    def after(self, _call: HeldCall, _reply: M, /) -> M:
        raise Refused(Code.UNAVAILABLE, f"fault {self.rule} dropped the reply")

    def stream(self, call: HeldCall, replies: Iterator[M], /) -> Iterator[M]:
        first = next(replies, None)  # brings the effect about
        yield self.after(call, first)  # type: ignore[misc]


@define(eq=False)
class Close(Action):
    """Cuts all connections to the server: before the call takes effect, or when it has."""

    name: ClassVar[str] = "close"
    final: ClassVar[bool] = True

    phase: Phase = field(default="before", validator=attrs.validators.in_(("before", "after")))

    def before(self, _call: HeldCall, /) -> None:
        if self.phase == "before":
            self._cut()

    def after(self, _call: HeldCall, _reply: M, /) -> M:
        self._cut()

    def stream(self, _call: HeldCall, replies: Iterator[M], /) -> Iterator[M]:
        yield from replies
        self._cut()

    def to_dict(self) -> dict[str, Any]:
        return {"phase": self.phase}

    def _cut(self) -> NoReturn:
        raise Cut(Code.UNAVAILABLE, f"fault {self.rule} cut the connection")


@define(eq=False)
class Mutate(Action):
    """Sets fields of a copy of each reply; what does not fit the reply is noted and left out."""

    name: ClassVar[str] = "mutate"

    phase: Phase = field(default="after", init=False)

    edits: Edits = field(converter=_edits)

    def after(self, _call: HeldCall, reply: M, /) -> M:
        changed, problems = self.edits.applied(reply)
        if problems:
            self.note = "; ".join(problems)
        return changed

    def stream(self, call: HeldCall, replies: Iterator[M], /) -> Iterator[M]:
        return (self.after(call, reply) for reply in replies)

    def to_dict(self) -> dict[str, Any]:
        return self.edits.to_dict()


@define(eq=False)
class EndStream(Action):
    """Ends a stream after its first `messages`, as if complete, or with the status `code`."""

    name: ClassVar[str] = "end_stream"

    phase: Phase = field(default="stream", init=False)

    messages: int = field(validator=attrs.validators.ge(0))
    code: Code = Code.OK
    message: str = ""

    def stream(self, _call: HeldCall, replies: Iterator[M], /) -> Iterator[M]:
        passed = 0
        with contextlib.closing(_closable(replies)) as source:
            for reply in itertools.islice(source, self.messages):
                yield reply
                passed += 1
        if passed == self.messages and self.code != Code.OK:
            raise Refused(self.code, self.message or f"fault {self.rule} ended the stream")

    def to_dict(self) -> dict[str, Any]:
        status = {} if self.code == Code.OK else {"code": self.code.name, "message": self.message}
        return {"after": self.messages} | status


@define(eq=False)
class Crash(Action):
    """Ends the process, as `kill -9` would, at the crash points that match `point` (a glob)."""

    name: ClassVar[str] = "crash"

    phase: Phase = field(default="point", init=False)

    point: str

    def to_dict(self) -> dict[str, Any]:
        return {"point": self.point}


def labels(actions: Iterable[Action]) -> str | None:
    """What the journal records as the fault of a call: the labels, or None without any."""
    return ", ".join(action.label for action in actions) or None


def _closable(replies: Iterator[M]) -> Any:
    """A generator around any iterator, so that an implementation's `finally` runs at once."""
    return replies if hasattr(replies, "close") else (reply for reply in replies)
