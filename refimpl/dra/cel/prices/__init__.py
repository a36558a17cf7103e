"""What one call costs beside its arguments, and how large its result is.

Source: cel-go's cost estimator with its extensions lists (version 3) and sets, and Kubernetes 1.37
apiserver/pkg/cel/library. Rules are by function; what has none costs one.
"""

from __future__ import annotations

from refimpl.dra.cel.functions.tables import Overload
from refimpl.dra.cel.nodes import Call
from refimpl.dra.cel.prices.asked import Asked, Price, Rule
from refimpl.dra.cel.prices.lists import LISTS
from refimpl.dra.cel.prices.operators import OPERATORS, WITH_ARGUMENTS
from refimpl.dra.cel.prices.texts import TEXTS
from refimpl.dra.cel.ranges import ONE
from refimpl.dra.cel.sizes import Arg, Sizes

__all__ = ["price"]

_RULES: dict[str, Rule] = {**OPERATORS, **TEXTS, **LISTS}


def price(
    sizes: Sizes, node: Call, overload: Overload, target: Arg | None, args: list[Arg]
) -> Price:
    """The cost of the call with that of its arguments, and the size of the result where it is
    known."""
    asked = Asked(sizes, node, overload, target, args)
    whole = WITH_ARGUMENTS.get(overload.function)
    if whole is not None:
        return whole(asked)
    rule = _RULES.get(overload.function)
    found = rule(asked) if rule else None
    cost, size = found or (ONE, None)
    for each in args:
        cost += each.cost
    return cost, size
