"""Constraints between the devices of a claim: attributes that match, or that differ.

A constraint holds what was picked as a tuple that is never changed; undoing a pick is going back to
the tuple before.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from refimpl.dra.allocation.model import AllocationError, Features
from refimpl.dra.allocation.pools import Candidate
from refimpl.dra.allocation.requests import Alternative
from refimpl.dra.cel import EvaluationError
from refimpl.dra.semver import Semver

__all__ = ["Constraint", "Values", "constraints_of", "values_of"]

Values = tuple[str, frozenset[Any]]
"""The type of an attribute, and its values: of a scalar one."""


@attrs.frozen(eq=False)
class Constraint:
    """requests: names it is for, requests or subrequests; none for all."""

    attribute: str
    distinct: bool
    requests: frozenset[str]

    def covers(self, alternative: Alternative) -> bool:
        """Whether the devices of an alternative count."""
        return not self.requests or bool(self.requests & {alternative.request, alternative.name})

    def added(
        self, picked: tuple[Values, ...], values: Values | None
    ) -> tuple[tuple[Values, ...], str]:
        """What is picked with one device more, and why it may not be, "" if it may."""
        if values is None:
            return picked, f"it has no attribute {self.attribute}"
        type, own = values
        if self.distinct:
            for other, theirs in picked:
                if other == type and own & theirs:
                    return picked, f"{self.attribute} is {_shown(own)}, as of another device"
            return (*picked, values), ""
        if not own:
            return picked, f"{self.attribute} has no value that could match"
        common = own
        for other, theirs in picked:
            common &= theirs
            if other != type or not common:
                return picked, f"{self.attribute} is {_shown(own)}, not as of the devices before"
        return (*picked, values), ""


def _shown(values: frozenset[Any]) -> str:
    return ", ".join(sorted(map(str, values))) or "nothing"


def constraints_of(claim: Mapping[str, Any]) -> list[Constraint]:
    """Those of a claim. With both attributes only matchAttribute counts. Raises AllocationError."""
    found = []
    for each in (claim["spec"].get("devices") or {}).get("constraints") or ():
        match, distinct = each.get("matchAttribute"), each.get("distinctAttribute")
        if not match and not distinct:
            raise AllocationError("a constraint of a kind that is not known")
        requests = frozenset(each.get("requests") or ())
        found.append(Constraint(match or distinct, not match, requests))
    return found


_KINDS = {
    "int": "int", "ints": "int", "bool": "bool", "bools": "bool", "string": "string",
    "strings": "string", "version": "version", "versions": "version",
}  # fmt: skip


def values_of(
    attribute: str, candidate: Candidate, alternative: Alternative, features: Features
) -> Values | None:
    """What a device has there; an attribute that the request derives comes first. Raises
    AllocationError."""
    if attribute in alternative.derived:
        return _derived(attribute, candidate, alternative)
    published = candidate.device.get("attributes") or {}
    domain, _, id = attribute.partition("/")
    value = published.get(attribute)
    if value is None and domain == candidate.id[0]:
        value = published.get(id)
    if value is None:
        return None
    for name, kind in _KINDS.items():
        if value.get(name) is not None:
            listed = name != kind
            if listed and not features.experimental:
                return None
            return kind, frozenset(value[name] if listed else [value[name]])
    raise AllocationError(f"device {'/'.join(candidate.id)}: attribute {attribute} has no value")


_DERIVED: dict[type, str] = {bool: "bool", int: "int", str: "string", Semver: "version"}


def _derived(attribute: str, candidate: Candidate, alternative: Alternative) -> Values:
    where = f"claim {alternative.claim}, request {alternative.name}: {attribute}"
    try:
        value = alternative.derived[attribute].evaluate(candidate.seen())
    except EvaluationError as error:
        device = "/".join(candidate.id)
        raise AllocationError(f"{where} fails on device {device}: {error}") from None
    items = value if isinstance(value, list) else [value]
    kinds = {type(each) for each in items}
    if len(kinds) > 1 or not kinds <= _DERIVED.keys():
        raise AllocationError(f"{where} is no value of an attribute on {'/'.join(candidate.id)}")
    kind = _DERIVED[kinds.pop()] if kinds else "string"
    return kind, frozenset(str(each) if kind == "version" else each for each in items)
