"""Rules written in YAML (or JSON, which YAML contains): reading, and errors that say where."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection
from typing import Annotated, Any, Literal, TypeVar

import msgspec

from refimpl.wire.faults import actions
from refimpl.wire.faults.document import load
from refimpl.wire.faults.edits import Edits
from refimpl.wire.faults.rules import FaultError, FaultRule
from refimpl.wire.status import Code

__all__ = ["read_rules"]

S = TypeVar("S", bound=msgspec.Struct)

Text = Annotated[str, msgspec.Meta(min_length=1)]
Count = Annotated[int, msgspec.Meta(ge=1)]
Scalar = str | int | float | bool | None


class _When(msgspec.Struct):
    method: Text = "*"
    request: dict[Text, Scalar | list[Scalar]] | None = None
    nth: Count | list[Count] = msgspec.field(default_factory=list)
    every: Count | None = None
    probability: Annotated[float, msgspec.Meta(ge=0, le=1)] | None = None
    seed: int | None = None
    times: Count | None = None


class _Rule(msgspec.Struct):
    do: Any
    id: str = ""
    when: dict[str, Any] = {}


class _Status(msgspec.Struct):
    code: str | int
    message: str = ""


class _Delay(msgspec.Struct):
    seconds: Annotated[float, msgspec.Meta(ge=0, le=actions.LONGEST_S)]
    sigma: Annotated[float, msgspec.Meta(ge=0, le=10)] = 0.0


class _Close(msgspec.Struct):
    phase: Literal["before", "after"] = "before"


class _EndStream(msgspec.Struct):
    after: Annotated[int, msgspec.Meta(ge=0)]
    code: str | int = "OK"
    message: str = ""


class _Crash(msgspec.Struct):
    point: Text


class _Nothing(msgspec.Struct):
    pass


class _WrongFieldError(ValueError):
    """A field and what is the matter with it; the rule's number and line are added outside."""

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"{field}: {problem}" if field else problem)


def read_rules(text: str | bytes) -> list[FaultRule]:
    """Rules from a YAML list, a mapping {rules: [...]}, or one rule. Raises FaultError."""
    rules = []
    for number, (line, raw) in enumerate(load(text), start=1):
        try:
            rules.append(_rule(raw, line))
        except _WrongFieldError as wrong:
            id = raw.get("id") if isinstance(raw, dict) else None
            name = id if isinstance(id, str) and id else f"number {number}"
            raise FaultError(f"line {line}: rule {name}: {wrong}") from wrong
    return rules


def _rule(raw: Any, line: int) -> FaultRule:
    shape = _typed("", raw, _Rule)
    when = _typed("when", shape.when, _When)
    nth = when.nth if isinstance(when.nth, list) else [when.nth]
    return FaultRule(
        do=_action(shape.do),
        id=shape.id,
        line=line,
        method=when.method,
        request=when.request,
        nth=nth,
        every=when.every,
        probability=when.probability,
        seed=when.seed,
        times=when.times,
    )


def _action(raw: Any) -> actions.Action:
    """The action of `do`: a mapping with one name in it, or a name that needs nothing more."""
    content = {raw: None} if isinstance(raw, str) else raw
    if not isinstance(content, dict):
        raise _WrongFieldError("do", f"one of {', '.join(_ACTIONS)} is wanted, not {content!r}")
    _known("do", content, tuple(_ACTIONS))
    if len(content) != 1:
        raise _WrongFieldError("do", f"one action a rule, here are {len(content)}: split the rule")
    ((name, value),) = content.items()
    return _ACTIONS[name](value)


def _status(value: Any) -> actions.Action:
    shape = _typed("do.status", _short(value, "code", (str, int)), _Status)
    code = _code("do.status.code", shape.code)
    if code == Code.OK:
        raise _WrongFieldError(
            "do.status.code", "OK is no fault: remove the rule, or name another code"
        )
    return actions.Status(code=code, message=shape.message)


def _delay(value: Any) -> actions.Action:
    shape = _typed("do.delay", _short(value, "seconds", (int, float)), _Delay)
    return actions.Delay(seconds=shape.seconds, sigma=shape.sigma)


def _close(value: Any) -> actions.Action:
    shape = _typed("do.close", _short(_bare(value), "phase", (str,)), _Close)
    return actions.Close(phase=shape.phase)


def _hang(value: Any) -> actions.Action:
    _typed("do.hang", _bare(value), _Nothing)
    return actions.Hang()


def _drop_reply(value: Any) -> actions.Action:
    _typed("do.drop_reply", _bare(value), _Nothing)
    return actions.DropReply()


def _mutate(value: Any) -> actions.Action:
    if not isinstance(value, dict) or not value or not all(isinstance(k, str) for k in value):
        raise _WrongFieldError("do.mutate", "a mapping of field paths to values is wanted")
    return actions.Mutate(edits=Edits(value))


def _end_stream(value: Any) -> actions.Action:
    shape = _typed("do.end_stream", _short(value, "after", (int,)), _EndStream)
    code = _code("do.end_stream.code", shape.code)
    return actions.EndStream(messages=shape.after, code=code, message=shape.message)


def _crash(value: Any) -> actions.Action:
    return actions.Crash(point=_typed("do.crash", _short(value, "point", (str,)), _Crash).point)


_ACTIONS: dict[str, Callable[[Any], actions.Action]] = {
    "status": _status,
    "delay": _delay,
    "hang": _hang,
    "drop_reply": _drop_reply,
    "close": _close,
    "mutate": _mutate,
    "end_stream": _end_stream,
    "crash": _crash,
}


def _short(value: Any, field: str, kinds: tuple[type, ...]) -> Any:
    """A bare value stands for a mapping with that one field."""
    return {field: value} if isinstance(value, kinds) and not isinstance(value, bool) else value


def _bare(value: Any) -> Any:
    """`hang:` and `hang: true` say all there is to say."""
    return {} if value is None or value is True else value


def _code(field: str, code: str | int) -> Code:
    try:
        return Code[code] if isinstance(code, str) else Code(code)
    except (KeyError, ValueError):
        raise _WrongFieldError(
            field, f"{code!r} is no gRPC code{_hint(str(code), Code.__members__)}"
        ) from None


def _typed(where: str, raw: Any, shape: type[S]) -> S:
    names = [field.name for field in msgspec.structs.fields(shape)]
    if not isinstance(raw, dict):
        expected = f"a mapping with {', '.join(names)}" if names else "nothing more"
        raise _WrongFieldError(where, f"{expected} is wanted, not {raw!r}")
    _known(where, raw, names)
    try:
        return msgspec.convert(raw, shape)
    except msgspec.ValidationError as error:
        reason, _, path = str(error).partition(" - at `$")
        raise _WrongFieldError(f"{where}{path.rstrip('`')}".lstrip("."), reason) from error


def _known(where: str, raw: dict[Any, Any], names: Collection[str]) -> None:
    for key in raw:
        if key not in names:
            raise _WrongFieldError(
                f"{where}.{key}".lstrip("."), f"is not known{_hint(str(key), names)}"
            )


def _hint(name: str, names: Collection[str]) -> str:
    close = difflib.get_close_matches(name, names, 1) or difflib.get_close_matches(
        name.upper(), names, 1
    )
    allowed = f"allowed: {', '.join(names) or 'nothing'}"
    return f", did you mean {close[0]}? ({allowed})" if close else f" ({allowed})"
