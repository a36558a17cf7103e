"""Lists, maps, sets and optional values.

Source: CEL language definition; cel-go extensions lists version 3, sets, optional types and
two-variable comprehensions; Kubernetes' own lists library.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cmp_to_key
from itertools import pairwise
from typing import Any

from refimpl.dra.cel.errors import EvaluationError
from refimpl.dra.cel.functions.tables import Table
from refimpl.dra.cel.values import (
    NONE,
    Duration,
    Optional,
    Timestamp,
    compare,
    integer,
    kind,
    same,
    unsigned,
)

__all__ = ["INCLUDES", "LISTS"]

_COMPARABLE = ("int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes")
_RANGE = 1_000_000


def _order(one: Any, other: Any) -> int | None:
    """None for what has no order, which counts as neither before nor after."""
    try:
        return compare("sort", one, other)
    except EvaluationError:
        return None


def _is_sorted(items: list[Any]) -> bool:
    return all(_order(one, other) != 1 for one, other in pairwise(items))


def _extreme(name: str, sign: int) -> Callable[[list[Any]], Any]:
    def compute(items: list[Any]) -> Any:
        if not items:
            raise EvaluationError(f"{name} called on empty list")
        best = items[0]
        for item in items[1:]:
            best = item if _order(item, best) == sign else best
        return best

    return compute


def _sum(zero: Any) -> Callable[[list[Any]], Any]:
    def added(one: Any, other: Any) -> Any:
        match kind(zero):
            case "int":
                return integer(one + other)
            case "uint":
                return unsigned(one + other)
            case "duration":
                return Duration(one.ns + other.ns)
        return one + other

    def compute(items: list[Any]) -> Any:
        total = zero
        for item in items:
            total = added(total, item)
        return total

    return compute


def _index_of(items: list[Any], wanted: Any) -> int:
    return next((i for i, each in enumerate(items) if same(each, wanted) is True), -1)


def _last_index_of(items: list[Any], wanted: Any) -> int:
    found = _index_of(items[::-1], wanted)
    return found if found < 0 else len(items) - 1 - found


def _slice(items: list[Any], start: int, end: int) -> list[Any]:
    if not 0 <= start <= end <= len(items):
        raise EvaluationError(f"cannot slice({start}, {end}) of a list of {len(items)}")
    return items[start:end]


def _flatten(items: list[Any], depth: int = 1) -> list[Any]:
    if depth < 0:
        raise EvaluationError("level must be non-negative")
    flat: list[Any] = []
    for item in items:
        flat += _flatten(item, depth - 1) if depth and kind(item) == "list" else [item]
    return flat


def _distinct(items: list[Any]) -> list[Any]:
    found: list[Any] = []
    for item in items:
        if not _contains(found, item):
            found.append(item)
    return found


def _sort(items: list[Any], keys: list[Any] | None = None) -> list[Any]:
    by = items if keys is None else keys
    if len({kind(key) for key in by}) > 1:
        raise EvaluationError("list elements must have the same type")
    ordered = cmp_to_key(lambda one, other: compare("sort", one, other))
    places = sorted(range(len(items)), key=lambda place: ordered(by[place]))
    return [items[place] for place in places]


def _range(size: int) -> list[int]:
    if not 0 <= size <= _RANGE:
        raise EvaluationError(f"lists.range: size {size} is not from 0 to {_RANGE}")
    return list(range(size))


def _contains(items: list[Any], wanted: Any) -> bool:
    return any(same(each, wanted) is True for each in items)


def _holds_all(items: list[Any], wanted: list[Any]) -> bool:
    return all(_contains(items, each) for each in wanted)


def _includes(target: Any, wanted: Any) -> bool:
    items = target if kind(target) == "list" else [target]
    return any(same(each, wanted) is True for each in items)


def _value(optional: Optional) -> Any:
    if not optional.filled:
        raise EvaluationError("optional.none() dereference")
    return optional.value


def _unwrapped(items: list[Any]) -> list[Any]:
    for item in items:
        if not isinstance(item, Optional):
            raise EvaluationError(f"value of type {kind(item)} is not optional")
    return [item.value for item in items if item.filled]


def _if_filled(value: Any) -> Optional:
    empty = {"timestamp": Timestamp(-62135596800 * 10**9), "duration": Duration(0)}.get(kind(value))
    zero = value == empty if empty is not None else not value and "." not in kind(value)
    return NONE if zero else Optional(value)


def _inserted(entries: dict[Any, Any], key: Any, value: Any) -> dict[Any, Any]:
    if key in entries:
        raise EvaluationError(f"insert failed: key {key} already exists")
    return {**entries, key: value}


def _all_inserted(entries: dict[Any, Any], more: dict[Any, Any]) -> dict[Any, Any]:
    for key, value in more.items():
        entries = _inserted(entries, key, value)
    return entries


LISTS: Table = {
    **{
        f"{form} int": len
        for each in ("string", "bytes", "list(A)", "map(A, B)")
        for form in (f"size({each})", f"{each}::size()")
    },
    **{f"list({each})::isSorted() bool": _is_sorted for each in _COMPARABLE},
    **{f"list({each})::min() {each}": _extreme("min", -1) for each in _COMPARABLE},
    **{f"list({each})::max() {each}": _extreme("max", 1) for each in _COMPARABLE},
    "list(int)::sum() int": _sum(0),
    "list(uint)::sum() uint": _sum(unsigned(0)),
    "list(double)::sum() double": _sum(0.0),
    "list(duration)::sum() duration": _sum(Duration(0)),
    "list(A)::indexOf(A) int": _index_of,
    "list(A)::lastIndexOf(A) int": _last_index_of,
    "list(A)::slice(int, int) list(A)": _slice,
    "list(list(A))::flatten() list(A)": _flatten,
    "list(dyn)::flatten(int) list(dyn)": _flatten,
    "list(A)::distinct() list(A)": _distinct,
    "list(A)::reverse() list(A)": lambda items: items[::-1],
    **{f"list({each})::sort() list({each})": _sort for each in _COMPARABLE},
    **{f"list(A)::@sortByAssociatedKeys(list({each})) list(A)": _sort for each in _COMPARABLE},
    "lists.range(int) list(int)": _range,
    "list(A)::first() optional_type(A)": lambda items: Optional(items[0]) if items else NONE,
    "list(A)::last() optional_type(A)": lambda items: Optional(items[-1]) if items else NONE,
    "sets.contains(list(A), list(A)) bool": _holds_all,
    "sets.equivalent(list(A), list(A)) bool": lambda one, other: (
        _holds_all(one, other) and _holds_all(other, one)
    ),
    "sets.intersects(list(A), list(A)) bool": lambda one, other: any(
        _contains(other, each) for each in one
    ),
    "cel.@mapInsert(map(A, B), A, B) map(A, B)": _inserted,
    "cel.@mapInsert(map(A, B), map(A, B)) map(A, B)": _all_inserted,
    "optional.of(A) optional_type(A)": Optional,
    "optional.ofNonZeroValue(A) optional_type(A)": _if_filled,
    "optional.none() optional_type(A)": lambda: NONE,
    "optional_type(A)::value() A": _value,
    "optional_type(A)::hasValue() bool": lambda optional: optional.filled,
    "optional_type(A)::or(optional_type(A)) optional_type(A)": lambda one, other: (
        one if one.filled else other
    ),
    "optional_type(A)::orValue(A) A": lambda optional, value: (
        optional.value if optional.filled else value
    ),
    "optional.unwrap(list(optional_type(A))) list(A)": _unwrapped,
    "list(optional_type(A))::unwrapOpt() list(A)": _unwrapped,
}

INCLUDES: Table = {"dyn::includes(dyn) bool": _includes}
