"""Values while an expression is evaluated: their names, when two are the same, their order.

bool, int, float, str, bytes, None, list and dict are Python's; the rest stands here, or has the
name of its type as `cel_type`.
"""

from __future__ import annotations

from types import NoneType
from typing import Any, ClassVar

import attrs

from refimpl.dra.cel.errors import EvaluationError
from refimpl.dra.cel.types import Type

__all__ = [
    "EMPTY", "INT_MAX", "INT_MIN", "NONE", "SECOND", "Domains", "Duration", "Optional", "Timestamp",
    "Uint", "compare", "equal", "integer", "kind", "no_overload", "same", "unsigned",
]  # fmt: skip

INT_MIN, INT_MAX, UINT_MAX = -(1 << 63), (1 << 63) - 1, (1 << 64) - 1
SECOND = 1_000_000_000


class Uint(int):
    """An unsigned integer of 64 bits."""


class Domains(dict[str, Any]):
    """Maps of attributes or capacity by domain: an unknown domain is an empty map, though it is not
    `in` here (Kubernetes 1.37 dynamic-resource-allocation/cel)."""

    def __missing__(self, key: str) -> dict[str, Any]:
        return EMPTY


EMPTY: dict[str, Any] = {}


@attrs.frozen
class Optional:
    """A value, or none: then `value` is no value at all."""

    cel_type: ClassVar = "optional_type"

    value: Any = attrs.field(default=None)
    filled: bool = True


NONE = Optional(filled=False)


@attrs.frozen(order=True)
class Duration:
    """Nanoseconds."""

    cel_type: ClassVar = "duration"

    ns: int


@attrs.frozen(order=True)
class Timestamp:
    """Nanoseconds since 1970 in UTC."""

    cel_type: ClassVar = "timestamp"

    ns: int


_KINDS: dict[type, str] = {
    bool: "bool",
    int: "int",
    Uint: "uint",
    float: "double",
    str: "string",
    bytes: "bytes",
    NoneType: "null_type",
    list: "list",
    dict: "map",
    Domains: "map",
    Type: "type",
}
_NUMBERS = frozenset({"int", "uint", "double"})
_ORDERED = frozenset({"bool", "string", "bytes", "duration", "timestamp"})


def kind(value: Any) -> str:
    """The name of a value's type."""
    return _KINDS.get(value.__class__) or str(value.cel_type)


def no_overload(function: str, *values: Any) -> EvaluationError:
    """A function that is not made for such values."""
    return EvaluationError(f"no such overload: {function} of {', '.join(map(kind, values))}")


def same(one: Any, other: Any) -> bool | None:
    """Whether two values are equal; None where the first is of a type that may be compared with its
    own kind only."""
    kinds = kind(one), kind(other)
    if kinds[0] == kinds[1]:
        if kinds[0] == "list":
            return len(one) == len(other) and all(
                same(a, b) is not False for a, b in zip(one, other, strict=True)
            )
        if kinds[0] == "map":
            return len(one) == len(other) and all(
                key in other and same(value, other[key]) is not False for key, value in one.items()
            )
        if kinds[0] == "optional_type" and one.filled and other.filled:
            return same(one.value, other.value)
        return None if getattr(other, "computed", False) else bool(one == other)
    if kinds[0] in _NUMBERS and kinds[1] in _NUMBERS:
        return bool(one == other)
    return None if "." in kinds[0] and "null_type" not in kinds else False


def equal(one: Any, other: Any) -> bool:
    """`==`. Raises EvaluationError, as `same` says."""
    result = same(one, other)
    if result is None:
        raise no_overload("_==_", one, other)
    return result


def compare(function: str, one: Any, other: Any) -> int:
    """-1, 0 or 1; numbers of all kinds with each other. Raises EvaluationError for what has no
    order."""
    kinds = kind(one), kind(other)
    if kinds[0] == kinds[1] in _ORDERED or _NUMBERS.issuperset(kinds):
        if one != one or other != other:
            raise EvaluationError("NaN values cannot be ordered")
        return int(one > other) - int(one < other)
    raise no_overload(function, one, other)


def integer(value: int) -> int:
    """An int of 64 bits. Raises EvaluationError on overflow."""
    if INT_MIN <= value <= INT_MAX:
        return int(value)
    raise EvaluationError("integer overflow")


def unsigned(value: int) -> Uint:
    """A uint of 64 bits. Raises EvaluationError on overflow."""
    if 0 <= value <= UINT_MAX:
        return Uint(value)
    raise EvaluationError("unsigned integer overflow")
