"""Operators of the CEL language, but for those that decide what is evaluated (&&, ||, ?:, has).

Source: CEL language definition, "Standard Definitions"; the texts of errors are ours.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from refimpl.dra.cel.errors import EvaluationError
from refimpl.dra.cel.functions.tables import Table
from refimpl.dra.cel.values import (
    NONE,
    Duration,
    Optional,
    Timestamp,
    compare,
    equal,
    integer,
    kind,
    same,
    unsigned,
)

__all__ = ["OPERATORS", "maybe_at"]


def _whole(
    function: Callable[[int, int], int], limit: Callable[[int], int]
) -> Callable[[int, int], int]:
    return lambda one, other: limit(function(one, other))


def _divided(one: int, other: int) -> int:
    if not other:
        raise EvaluationError("division by zero")
    quotient = abs(one) // abs(other)
    return integer(quotient if (one < 0) == (other < 0) else -quotient)


def _modulo(one: int, other: int) -> int:
    if not other:
        raise EvaluationError("modulus by zero")
    return one - other * _divided(one, other) if other != -1 else 0


def _divided_double(one: float, other: float) -> float:
    if other:
        return one / other
    if one != one or not one:
        return math.nan
    return math.copysign(math.inf, one) * math.copysign(1.0, other)


def _not(value: bool) -> bool:
    return not value


def _index(container: Any, key: Any) -> Any:
    """container[key]; of a list also by a double without fraction. Raises EvaluationError."""
    if kind(container) == "list":
        place = _place(key)
        if not 0 <= place < len(container):
            raise EvaluationError(f"index out of bounds: {key}")
        return container[place]
    if isinstance(container, Optional):
        return maybe_at(container, key)
    if kind(container) != "map":
        raise EvaluationError(f"{kind(container)} has no elements by {kind(key)}")
    found = maybe_at(container, key)
    if not found.filled:
        raise EvaluationError(f"no such key: {key}")
    return found.value


def maybe_at(container: Any, key: Any) -> Optional:
    """container[?key] or container.?key: optional, and an optional container may be none. Raises
    EvaluationError for what has no elements."""
    if isinstance(container, Optional):
        if not container.filled:
            return NONE
        container = container.value
    if kind(container) == "list":
        place = _place(key)
        return Optional(container[place]) if 0 <= place < len(container) else NONE
    if kind(container) != "map":
        raise EvaluationError(f"{kind(container)} has no elements by {kind(key)}")
    try:
        value = container[_key(key)]
    except KeyError:
        return NONE
    return Optional(value) if _really(key, container) else NONE


def _really(key: Any, entries: Mapping[Any, Any]) -> bool:
    """Python takes True for 1 and False for 0."""
    if key.__class__ is str or key not in (0, 1):
        return True
    return key not in entries or any(
        each == key and (each.__class__ is bool) == (key.__class__ is bool) for each in entries
    )


_KEYS = ("string", "int", "uint", "bool", "double")


def _place(key: Any) -> int:
    if kind(key) in ("int", "uint") or (kind(key) == "double" and key == int(key)):
        return int(key)
    raise EvaluationError(f"a list has no elements by {kind(key)}")


def _key(key: Any) -> Any:
    if kind(key) not in _KEYS:
        raise EvaluationError(f"no map has keys of type {kind(key)}")
    return key


def _in_list(item: Any, items: list[Any]) -> bool:
    return any(same(item, each) is True for each in items)


def _in_map(key: Any, entries: Mapping[Any, Any]) -> bool:
    return kind(key) in _KEYS and key in entries and _really(key, entries)


def _ordered(operator: str, holds: Callable[[int], bool]) -> Table:
    """The overloads of one of < <= > >=."""

    def compute(one: Any, other: Any) -> bool:
        return holds(compare(operator, one, other))

    alike = ("bool", "int", "uint", "double", "string", "bytes", "timestamp", "duration")
    mixed = ("int", "uint", "double")
    pairs = [(each, each) for each in alike]
    pairs += [(one, other) for one in mixed for other in mixed if one != other]
    return {f"{operator}({one}, {other}) bool": compute for one, other in pairs}


OPERATORS: Table = {
    "_?_:_(bool, A, A) A": lambda test, yes, no: yes if test else no,
    "_&&_(bool, bool) bool": lambda one, other: one and other,
    "_||_(bool, bool) bool": lambda one, other: one or other,
    "!_(bool) bool": _not,
    "@not_strictly_false(bool) bool": lambda value: value,
    "_==_(A, A) bool": equal,
    "_!=_(A, A) bool": lambda one, other: same(one, other) is not True,
    **_ordered("_<_", lambda order: order < 0),
    **_ordered("_<=_", lambda order: order <= 0),
    **_ordered("_>_", lambda order: order > 0),
    **_ordered("_>=_", lambda order: order >= 0),
    "_+_(bytes, bytes) bytes": lambda one, other: one + other,
    "_+_(double, double) double": lambda one, other: one + other,
    "_+_(duration, duration) duration": lambda one, other: Duration(one.ns + other.ns),
    "_+_(duration, timestamp) timestamp": lambda one, other: Timestamp(one.ns + other.ns),
    "_+_(timestamp, duration) timestamp": lambda one, other: Timestamp(one.ns + other.ns),
    "_+_(int, int) int": lambda one, other: integer(one + other),
    "_+_(list(A), list(A)) list(A)": lambda one, other: one + other,
    "_+_(string, string) string": lambda one, other: one + other,
    "_+_(uint, uint) uint": _whole(int.__add__, unsigned),
    "_/_(double, double) double": _divided_double,
    "_/_(int, int) int": _divided,
    "_/_(uint, uint) uint": _whole(_divided, unsigned),
    "_%_(int, int) int": _modulo,
    "_%_(uint, uint) uint": _whole(_modulo, unsigned),
    "_*_(double, double) double": lambda one, other: one * other,
    "_*_(int, int) int": lambda one, other: integer(one * other),
    "_*_(uint, uint) uint": _whole(int.__mul__, unsigned),
    "-_(double) double": lambda value: -value,
    "-_(int) int": lambda value: integer(-value),
    "_-_(double, double) double": lambda one, other: one - other,
    "_-_(duration, duration) duration": lambda one, other: Duration(one.ns - other.ns),
    "_-_(int, int) int": lambda one, other: integer(one - other),
    "_-_(timestamp, duration) timestamp": lambda one, other: Timestamp(one.ns - other.ns),
    "_-_(timestamp, timestamp) duration": lambda one, other: Duration(one.ns - other.ns),
    "_-_(uint, uint) uint": _whole(int.__sub__, unsigned),
    "_[_](list(A), int) A": _index,
    "_[_](map(A, B), A) B": _index,
    "_[_](optional_type(list(A)), int) optional_type(A)": maybe_at,
    "_[_](optional_type(map(A, B)), A) optional_type(B)": maybe_at,
    "_[?_](list(A), int) optional_type(A)": maybe_at,
    "_[?_](optional_type(list(A)), int) optional_type(A)": maybe_at,
    "_[?_](map(A, B), A) optional_type(B)": maybe_at,
    "_[?_](optional_type(map(A, B)), A) optional_type(B)": maybe_at,
    "@in(A, list(A)) bool": _in_list,
    "@in(A, map(A, B)) bool": _in_map,
}
