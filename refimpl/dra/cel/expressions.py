"""Expressions of selectors and derived attributes: compiled once, evaluated for each device."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import attrs

from refimpl.dra.cel.checker import check
from refimpl.dra.cel.closures import FRAME, closure
from refimpl.dra.cel.costs import worst
from refimpl.dra.cel.devices import Device
from refimpl.dra.cel.environment import COST_LIMIT, LONGEST, device_environment
from refimpl.dra.cel.errors import EvaluationError, ExpressionError, TooExpensive
from refimpl.dra.cel.grammar import parsed
from refimpl.dra.cel.metering import metered
from refimpl.dra.cel.runs import Run
from refimpl.dra.cel.types import BOOL, Type
from refimpl.dra.cel.values import kind

__all__ = ["Expression", "compiled", "selector"]


@attrs.frozen(eq=False)
class Expression:
    """type: of the result as far as it is known beforehand. cost: the worst case."""

    text: str
    type: Type
    cost: int
    _run: Run
    _variables: list[None]

    def evaluate(self, device: Device) -> Any:
        """The value for a device. Raises EvaluationError."""
        try:
            return self._run([device, 0, *self._variables])
        except (RecursionError, OverflowError) as error:
            raise EvaluationError(str(error)) from None

    def matches(self, device: Device) -> bool:
        """Whether a selector takes the device. Raises EvaluationError, also for a result that is
        no bool: Kubernetes does not take that for a no."""
        result = self.evaluate(device)
        if result.__class__ is bool:
            return bool(result)
        raise EvaluationError(f"the result is a {kind(result)}, and has to be a bool")


@lru_cache(1024)
def compiled(
    text: str, *, list_attributes: bool = False, multiple_allocations: bool = True
) -> Expression:
    """The expression, whatever its result and cost are. Raises ExpressionError.

    list_attributes: the gate DRAListTypeAttributes is on, or the expression is stored already.
    """
    environment = device_environment(
        list_attributes=list_attributes, multiple_allocations=multiple_allocations
    )
    node = parsed(text)
    found = check(node, environment)
    cost = worst(node, environment)
    run, length = closure(node, metered(COST_LIMIT) if cost > COST_LIMIT else None)
    return Expression(text, found, cost, run, [None] * (length - FRAME))


def selector(text: str, *, list_attributes: bool = False) -> Expression:
    """The expression of a selector that is new. Raises TooExpensive, and ExpressionError for what
    else an API server refuses."""
    if len(text.encode()) > LONGEST:
        raise TooExpensive(f"the expression is {len(text.encode())} bytes; {LONGEST} are allowed")
    expression = compiled(text, list_attributes=list_attributes)
    unknown = device_environment(list_attributes=list_attributes).unknown
    if expression.type not in (BOOL, unknown):
        raise ExpressionError(f"must evaluate to bool or the unknown type, not {expression.type}")
    if expression.cost > COST_LIMIT:
        raise TooExpensive(
            f"the worst case costs {expression.cost}; {COST_LIMIT} are allowed. Compare fewer"
            " elements, or shorter texts, in fewer loops"
        )
    return expression
