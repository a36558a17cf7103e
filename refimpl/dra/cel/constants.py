"""What constants in an expression tell before it is evaluated.

Source: cel-go validators of literals and of format(), and its constant folding of conversions, as
Kubernetes 1.37 has them on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from refimpl.dra.cel.errors import EvaluationError, ExpressionError
from refimpl.dra.cel.functions.strings import pattern
from refimpl.dra.cel.functions.text import CLAUSE, KINDS
from refimpl.dra.cel.functions.times import duration, timestamp
from refimpl.dra.cel.nodes import Call, ListOf, Literal, Node
from refimpl.dra.cel.types import DYN
from refimpl.dra.cel.values import kind

__all__ = ["check_constant", "check_literals"]

_LITERALS: dict[str, Callable[[Any], object]] = {
    "matches": pattern,
    "duration": duration,
    "timestamp": timestamp,
}
_FOLDED = (
    "bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "uint",
)  # fmt: skip


def check_literals(node: Call) -> None:
    """Raises ExpressionError for a regular expression, duration or timestamp that is written there
    and is none."""
    check = _LITERALS.get(node.function)
    for each in node.args if check else ():
        if check and isinstance(each, Literal) and isinstance(each.value, str):
            try:
                check(each.value)
            except EvaluationError as error:
                raise ExpressionError(str(error), each.at) from None


def check_constant(node: Node) -> None:
    """Raises ExpressionError for a conversion of a constant that fails, and for a format() whose
    clauses do not fit its list."""
    if isinstance(node, Call) and node.function in _FOLDED:
        try:
            _constant(node)
        except EvaluationError as error:
            raise ExpressionError(str(error), node.at) from None
    if isinstance(node, Call) and node.function == "format":
        text, values = node.target, node.args[0]
        if isinstance(text, Literal) and isinstance(values, ListOf):
            _check_format(str(text.value), values)


def _constant(node: Node) -> tuple[Any] | None:
    """The value of a constant, or of conversions of one; None for anything else."""
    if isinstance(node, Literal):
        return (node.value,)
    if not isinstance(node, Call) or node.function not in _FOLDED or len(node.args) != 1:
        return None
    inner = _constant(node.args[0])
    if inner is None:
        return None
    for overload in node.overloads:
        if overload.args[0].is_variable or overload.args[0].name == kind(inner[0]):
            return (overload.compute(inner[0]),)
    return None


def _check_format(text: str, values: ListOf) -> None:
    letters = [match[3] for match in CLAUSE.finditer(text) if not match[1]]
    if len(letters) != len(values.items):
        raise ExpressionError(
            f"format has {len(letters)} clauses and {len(values.items)} values", values.at
        )
    for letter, value in zip(letters, values.items, strict=True):
        name = value.type.name
        if letter not in KINDS or not (value.type == DYN or name in KINDS[letter]):
            raise ExpressionError(f"%{letter} is not for {name}", value.at)
