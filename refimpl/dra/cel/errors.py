"""What can be wrong with an expression, before and while it is evaluated."""

from __future__ import annotations

__all__ = ["EvaluationError", "ExpressionError", "TooExpensive"]


class ExpressionError(ValueError):
    """The expression is refused; at: the offset in the text, -1 where none is to blame."""

    def __init__(self, message: str, at: int = -1) -> None:
        super().__init__(message)
        self.at = at


class TooExpensive(ExpressionError):
    """The worst case of the expression, or its length, is above the limit."""


class EvaluationError(Exception):
    """The expression has no value for this device. In `&&` and `||` the other side may decide."""
