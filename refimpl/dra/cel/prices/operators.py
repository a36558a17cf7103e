"""Operators and conversions."""

from __future__ import annotations

from collections.abc import Callable

from refimpl.dra.cel.prices.asked import CHARACTER, Asked, Price, Rule
from refimpl.dra.cel.ranges import ONE, TOP, Range

__all__ = ["OPERATORS", "WITH_ARGUMENTS"]

_LONGEST_FORMAT = 64
_VALUES = ("net.IP", "net.CIDR", "kubernetes.Quantity", "kubernetes.Semver")


def _logical(call: Asked) -> Price:
    one, other = (each.cost for each in call.args)
    return Range(one.least, (one + other).most), None


def _conditional(call: Asked) -> Price:
    _, yes, no = call.node.args
    call.sizes.keep(call.node, entries=call.sizes.joined_entries(yes, no))
    test, one, other = (each.cost for each in call.args)
    return test + (one | other), call.sizes.known(yes) | call.sizes.known(no)


def _compared(call: Asked) -> Price:
    most = min(call.known(0).most, call.known(1).most)
    return Range(min(most, 1), most).times(CHARACTER), None


def _ordered(call: Asked) -> Price | None:
    return _compared(call) if call.takes(0, "string", "bytes") else None


def _equal(call: Asked) -> Price:
    one, other = call.args
    if one.type == other.type:
        if one.type.name in _VALUES:
            return ONE, None
        if one.type.name == "kubernetes.NamedFormat":
            return Range(1, _LONGEST_FORMAT).times(CHARACTER), None
        if one.type.name == "kubernetes.URL":
            return Range(1, other.size.most if other.size else 1).times(CHARACTER), None
    return _compared(call)


def _in(call: Asked) -> Price | None:
    return (call.known(1), None) if call.takes(1, "list") else None


def _add(call: Asked) -> Price | None:
    if not call.takes(0, "string", "bytes", "list"):
        return None
    size = call.known(0) + call.known(1)
    call.sizes.keep(call.node, entries=call.sizes.joined_entries(*call.node.args))
    return (ONE if call.takes(0, "list") else size.times(CHARACTER)), size


def _string(call: Asked) -> Price | None:
    if not call.takes(0, "bytes"):
        return None
    size = call.known(0)
    return size.times(CHARACTER), Range(size.least // 4, size.most)


def _bytes(call: Asked) -> Price | None:
    if not call.takes(0, "string"):
        return None
    size = call.known(0)
    # cel-go does not look for the overflow here.
    return size.times(CHARACTER), Range(size.least, size.most * 4 % (TOP + 1))


WITH_ARGUMENTS: dict[str, Callable[[Asked], Price]] = {
    "_&&_": _logical,
    "_||_": _logical,
    "_?_:_": _conditional,
}
"""What decides which of its arguments count."""

OPERATORS: dict[str, Rule] = {
    "_==_": _equal,
    "_!=_": _compared,
    **dict.fromkeys(("_<_", "_<=_", "_>_", "_>=_"), _ordered),
    "@in": _in,
    "_+_": _add,
    "string": _string,
    "bytes": _bytes,
}
