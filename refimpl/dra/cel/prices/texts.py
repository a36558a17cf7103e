"""Texts, and what is read from texts: addresses, quantities, versions, formats."""

from __future__ import annotations

from refimpl.dra.cel.prices.asked import CHARACTER, REGEX_CHARACTER, Asked, Price, Rule
from refimpl.dra.cel.ranges import FREE, ONE, TOP, Range
from refimpl.dra.cel.sizes import Arg

__all__ = ["TEXTS"]

_ADDRESS = Range(4, 16)
_NAME_FORMAT = 128
"""Characters of the regular expression of a named format."""


def _looked_at(factor: float = CHARACTER, *, sized: bool = False) -> Rule:
    """The subject is looked at; sized: the result is no longer."""

    def rule(call: Asked) -> Price:
        size = call.size(call.subject)
        return size.times(factor), size if sized else None

    return rule


def _argument(call: Asked) -> Price:
    return call.size(call.args[0]).times(CHARACTER), None


def _quote(call: Asked) -> Price:
    size = call.known(0)
    return size.times(CHARACTER), Range(size.least + 2, (size.most * 2 + 2) % (TOP + 1))


def _replace(call: Asked) -> Price:
    size, old, new = map(call.size, (call.subject, *call.args[:2]))
    most = _replaced(size.most, old.least, shrinks=new.most <= old.least)
    least = _replaced(size.least, old.most, shrinks=old.most <= new.least)
    count, kept = Range(least[0], most[0]), Range(least[1], most[1])
    return size.times(2 * CHARACTER), count * new + kept


def _replaced(size: int, old: int, *, shrinks: bool) -> tuple[int, int]:
    """How often something is put in, and how much of the text stays."""
    if not old:
        return min(size + 1, TOP), size
    return (0, size) if shrinks else (-(-size // old), 0)


def _split(call: Asked) -> Price:
    size = call.size(call.subject)
    most = size.most
    if len(call.args) > 1:
        node = call.args[1].node
        most = getattr(node, "value", most) % (TOP + 1)
    return size.times(2 * CHARACTER), Range(0, most)


def _join(call: Asked) -> Price:
    count, items = call.size(call.subject), call.sizes.items(call.subject)
    size = count * call.size(items) if items is not None else FREE
    if call.args:
        gaps = Range(max(count.least - 1, 0), max(count.most - 1, 0))
        size += call.size(call.args[0]) * gaps
    return size.times(CHARACTER), size


def _searched(call: Asked, text: Arg, regex: Arg) -> Range:
    longer = call.size(text) + ONE
    return longer.times(CHARACTER) * call.size(regex).times(REGEX_CHARACTER)


def _matches(call: Asked) -> Price:
    return _searched(call, call.subject, call.args[-1]), None


def _find(call: Asked) -> Price:
    return _searched(call, call.subject, call.args[0]), Range(0, call.size(call.subject).most)


def _contains(call: Asked) -> Price:
    text, part = (call.size(each).times(CHARACTER) for each in (call.subject, call.args[0]))
    return text * part, None


def _ip(call: Asked) -> Price:
    return (ONE, None) if call.target else _argument(call)


def _contains_address(call: Asked) -> Price:
    cost = (_ADDRESS + _ADDRESS).times(CHARACTER)
    if call.overload.function == "containsCIDR":
        cost += _ADDRESS.times(CHARACTER) + ONE
    if call.takes(1, "string"):
        cost += call.size(call.args[0]).times(CHARACTER)
    return cost, None


def _validate(call: Asked) -> Price:
    text = call.size(call.args[0]).times(CHARACTER)
    return text.times(_NAME_FORMAT * REGEX_CHARACTER), None


TEXTS: dict[str, Rule] = {
    **dict.fromkeys(
        ("lowerAscii", "upperAscii", "substring", "trim", "url"), _looked_at(sized=True)
    ),
    **dict.fromkeys(("startsWith", "endsWith", "cidr", "isIP", "isCIDR"), _argument),
    **dict.fromkeys(("quantity", "isQuantity", "semver", "isSemver"), _argument),
    "ip.isCanonical": _looked_at(2 * CHARACTER),
    "format": _looked_at(),
    "strings.quote": _quote,
    "replace": _replace,
    "split": _split,
    "join": _join,
    "find": _find,
    "findAll": _find,
    "matches": _matches,
    "contains": _contains,
    "ip": _ip,
    "containsIP": _contains_address,
    "containsCIDR": _contains_address,
    "validate": _validate,
}
