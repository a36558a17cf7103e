"""What an evaluation costs, for expressions whose worst case is above the limit.

An approximation: a unit a name, field and call, ten a list, thirty a map, a tenth a character that
a call looks at. Expressions within the limit cannot exceed it and are not metered.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from refimpl.dra.cel.errors import EvaluationError
from refimpl.dra.cel.nodes import Call, Ident, ListOf, MapOf, Node, Select
from refimpl.dra.cel.runs import Run

__all__ = ["metered"]

_COST: dict[type, float] = {Ident: 1, Select: 1, Call: 1, ListOf: 10, MapOf: 30}
_CHARACTER = 0.1


class _Exceeded(EvaluationError):
    """Nothing gets over it."""


def metered(limit: int) -> Callable[[Node, Run], Run]:
    """What wraps each part of an expression. The evaluation ends with EvaluationError above the
    limit."""

    def charge(node: Node, run: Run) -> Run:
        cost = _COST.get(type(node), 0.0)

        def counted(frame: list[Any]) -> Any:
            frame[1] += cost
            if frame[1] > limit:
                raise _Exceeded("actual cost limit exceeded")
            value = run(frame)
            if isinstance(value, str):
                frame[1] += len(value) * _CHARACTER
            return value

        return counted

    return charge
