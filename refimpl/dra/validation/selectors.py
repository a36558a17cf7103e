"""Expressions of selectors and of derived attributes. Source: resource.k8s.io/v1, CEL of 1.37."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from refimpl.dra.cel import ExpressionError, TooExpensive, compiled, selector
from refimpl.dra.cel.environment import COST_LIMIT, LONGEST
from refimpl.dra.validation import names
from refimpl.dra.validation.gates import Gates
from refimpl.dra.validation.problems import At, Reason, at_most, required, unique

__all__ = ["costs_of_all", "derived_attributes", "selectors"]

_MOST_SELECTORS, _MOST_DERIVED = 32, 32
_SCALARS = ("bool", "int", "string", "any", "dyn", "kubernetes.Semver")


def selectors(at: At, values: list[Mapping[str, Any]] | None, gates: Gates, *, fresh: bool) -> None:
    """fresh: they are new or changed; stored ones are not looked at again."""
    at_most(at, values, _MOST_SELECTORS)
    for place, each in at.items(values):
        cel = each.get("cel")
        if cel is None:
            place.field("cel").note(Reason.REQUIRED, "has to be given")
        elif fresh:
            _selector(place.field("cel", "expression"), str(cel.get("expression", "")), gates)


def _selector(at: At, text: str, gates: Gates) -> None:
    if not _short(at, text):
        return
    try:
        selector(text, list_attributes=gates.list_attributes)
    except TooExpensive as error:
        at.note(Reason.FORBIDDEN, str(error))
    except ExpressionError as error:
        at.invalid(str(error))


def _short(at: At, text: str) -> bool:
    size = len(text.encode())
    if size > LONGEST:
        at.note(Reason.TOO_LONG, f"has {size} bytes; {LONGEST} are allowed")
    return size <= LONGEST


def derived_attributes(
    at: At, values: list[Mapping[str, Any]] | None, used: set[Any], gates: Gates
) -> int:
    """used: the names that constraints on the request look up. Gives what the expressions cost."""
    at_most(at, values, _MOST_DERIVED)
    unique(at, values, lambda each: each.get("name"))
    costs = 0
    for place, each in at.items(values):
        name = str(each.get("name", ""))
        names.full_name(place.field("name"), name)
        if name and name not in used:
            place.field("name").invalid(f"{name!r} is named by no constraint on this request")
        costs += _derived(place.field("expression"), str(each.get("expression", "")), gates)
    return costs


def _derived(at: At, text: str, gates: Gates) -> int:
    if not required(at, text):
        return 0
    if not _short(at, text):
        return 0
    try:
        expression = compiled(text, list_attributes=gates.list_attributes)
    except ExpressionError as error:
        at.invalid(str(error))
        return 0
    type = expression.type
    if gates.list_attributes and type.name == "list":
        type = type.params[0]
    if type.name not in _SCALARS:
        at.invalid(f"{expression.type} is no value of an attribute")
    return expression.cost


def costs_of_all(at: At, costs: int) -> None:
    """All derived attributes of a claim together have one limit."""
    if costs > COST_LIMIT:
        at.note(
            Reason.FORBIDDEN,
            f"its derived attributes cost {costs} at most; {COST_LIMIT} together are allowed",
        )
