"""Lists and sets; indexOf() is of texts, too."""

from __future__ import annotations

from refimpl.dra.cel.prices.asked import CHARACTER, Asked, Price, Rule
from refimpl.dra.cel.ranges import ONE, TOP, Range, exactly

__all__ = ["LISTS"]

_ALLOCATED = exactly(10)


def _each(call: Asked) -> Price:
    """Every element is looked at, all of it where it is a text."""
    size, items = call.size(call.subject), call.sizes.items(call.subject)
    if items is not None:
        cost = ONE
        if items.type.name in ("string", "bytes"):
            cost += call.size(items).times(CHARACTER)
        return size * cost, None
    return (size if call.overload.function == "includes" else size.times(CHARACTER)), None


def _made(size: Range, factor: float = 1) -> Price:
    return size.times(factor) + ONE + _ALLOCATED, size


def _slice(call: Asked) -> Price:
    start, end = call.whole(0, 0), call.whole(1, call.size(call.subject).most)
    return _made(exactly((end - start) % (TOP + 1)))


def _range(call: Asked) -> Price:
    return _made(exactly(call.whole(0, TOP)))


def _reverse(call: Asked) -> Price:
    return _made(call.size(call.subject))


def _flatten(call: Asked) -> Price:
    return _made(call.size(call.subject), float(call.whole(0, TOP) if call.args else 1))


def _distinct(call: Asked) -> Price:
    size = call.size(call.subject)
    return _made(size * size, 2)


def _sort(call: Asked) -> Price:
    """By itself, or by the list of its keys."""
    size = call.size(call.args[0] if call.args else call.subject)
    item = call.overload.args[-1].params[0].name
    return _made(size * size, 2 + CHARACTER if item in ("string", "bytes") else 2)


def _sets(factor: float) -> Rule:
    def rule(call: Asked) -> Price:
        one, other = map(call.size, call.args)
        return (one * other).times(factor) + ONE, None

    return rule


LISTS: dict[str, Rule] = {
    **dict.fromkeys(("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf", "includes"), _each),
    "slice": _slice,
    "lists.range": _range,
    "reverse": _reverse,
    "flatten": _flatten,
    "distinct": _distinct,
    "sort": _sort,
    "@sortByAssociatedKeys": _sort,
    "sets.contains": _sets(1),
    "sets.intersects": _sets(1),
    "sets.equivalent": _sets(2),
}
