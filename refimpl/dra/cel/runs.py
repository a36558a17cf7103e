"""What evaluates the single parts of an expression, made of what evaluates the parts in them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from refimpl.dra.cel.errors import EvaluationError
from refimpl.dra.cel.functions.operators import maybe_at
from refimpl.dra.cel.functions.tables import Overload
from refimpl.dra.cel.types import Type
from refimpl.dra.cel.values import Optional, equal, kind, no_overload

__all__ = [
    "SPECIAL", "Run", "bound", "elements", "equal_to_text", "field", "filled", "guarded", "tested",
]  # fmt: skip

Run = Callable[[list[Any]], Any]
"""Takes the frame, gives a value or raises EvaluationError."""


def elements(value: Any, *, pairs: bool) -> Iterable[Any]:
    match kind(value):
        case "list":
            return enumerate(value) if pairs else value
        case "map":
            return list(value.items() if pairs else value)
    raise EvaluationError(f"a loop goes over a list or map, not over {kind(value)}")


def bound(init: Run, slot: int, body: Run) -> Run:
    def run(frame: list[Any]) -> Any:
        try:
            frame[slot] = init(frame)
        except EvaluationError as error:
            frame[slot] = error
        return body(frame)

    return run


def filled(value: Any) -> bool:
    if not isinstance(value, Optional):
        raise EvaluationError(f"cannot initialize optional entry from non-optional {kind(value)}")
    return value.filled


def field(operand: Run, field: str) -> Run:
    def run(frame: list[Any]) -> Any:
        value = operand(frame)
        try:
            return value[field]
        except KeyError:
            raise EvaluationError(f"no such key: {field}") from None
        except TypeError:
            if isinstance(value, Optional):
                return maybe_at(value, field)
            raise EvaluationError(f"{kind(value)} has no field {field}") from None

    return run


def tested(operand: Run, field: str, *, of_object: bool) -> Run:
    def run(frame: list[Any]) -> bool:
        value = operand(frame)
        if of_object:
            return True
        return maybe_at(value, field).filled

    return run


def guarded(function: str, overloads: list[Overload], runs: list[Run]) -> Run:
    """A call whose values decide which overload it is: what is known beforehand is not certain, as
    anything may be bound to what came out of a dyn."""
    fits = _is_named if function in _UNGUARDED else _fits
    declared = [(each.args, each.compute) for each in overloads]

    def run(frame: list[Any]) -> Any:
        values = [each(frame) for each in runs]
        for args, compute in declared:
            if all(map(fits, values, args)):
                try:
                    return compute(*values)
                except (TypeError, AttributeError):  # of what stands further inside
                    break
        raise no_overload(function, *values)

    return run


def _is_named(value: Any, wanted: Type) -> bool:
    return kind(value) == wanted.name


def _fits(value: Any, wanted: Type) -> bool:
    """As cel-go looks: of a list and of a map at the first element."""
    if wanted.is_variable or wanted.is_dyn:
        return True
    if kind(value) != wanted.name:
        return False
    if wanted.name == "list":
        return not value or _fits(value[0], wanted.params[0])
    if wanted.name == "map":
        return not value or all(map(_fits, next(iter(value.items())), wanted.params))
    return True


# What takes any list.
_UNGUARDED = frozenset({"flatten"})


def equal_to_text(left: Run, text: str) -> Run:
    """`==` with a text that is written there, by far the most common."""

    def run(frame: list[Any]) -> bool:
        value = left(frame)
        if value.__class__ is str:
            return value == text
        return equal(value, text)

    return run


def _logical(function: str, decisive: bool) -> Callable[[Run, Run], Run]:
    """`&&`, for which False decides, or `||`, for which True does: on either side, whatever is
    wrong with the other."""

    def of(left: Run, right: Run) -> Run:
        def run(frame: list[Any]) -> Any:
            try:
                one = left(frame)
            except EvaluationError:
                if right(frame) is decisive:
                    return decisive
                raise
            if one is decisive:
                return decisive
            other = right(frame)
            if other is decisive:
                return decisive
            if one.__class__ is bool and other.__class__ is bool:
                return not decisive
            raise no_overload(function, one, other)

        return run

    return of


def _conditional(test: Run, yes: Run, no: Run) -> Run:
    def run(frame: list[Any]) -> Any:
        decided = test(frame)
        if decided is True:
            return yes(frame)
        if decided is False:
            return no(frame)
        raise no_overload("_?_:_", decided)

    return run


def _not_strictly_false(value: Run) -> Run:
    def run(frame: list[Any]) -> bool:
        try:
            return value(frame) is not False
        except EvaluationError:
            return True

    return run


def _or_else(optional: Run, other: Run) -> Run:
    """or() and orValue() look at their argument only where it is needed."""

    def run(frame: list[Any]) -> Any:
        value = optional(frame)
        if not isinstance(value, Optional):
            raise no_overload("orValue", value)
        return value.value if value.filled else other(frame)

    return run


SPECIAL: dict[str, Callable[..., Run]] = {
    "_&&_": _logical("_&&_", decisive=False),
    "_||_": _logical("_||_", decisive=True),
    "_?_:_": _conditional,
    "@not_strictly_false": _not_strictly_false,
    "orValue": _or_else,
}
