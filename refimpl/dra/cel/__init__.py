"""CEL, the expression language, as Kubernetes 1.37 has it for devices; built on cel-python's
grammar and RE2.

`selector(text).matches(device)`; `compiled(text).evaluate(device)`.
"""

from refimpl.dra.cel.devices import Device
from refimpl.dra.cel.errors import EvaluationError, ExpressionError, TooExpensive
from refimpl.dra.cel.expressions import Expression, compiled, selector

__all__ = [
    "Device",
    "EvaluationError",
    "Expression",
    "ExpressionError",
    "TooExpensive",
    "compiled",
    "selector",
]
