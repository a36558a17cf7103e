"""A call whose price is asked for."""

from __future__ import annotations

from collections.abc import Callable

import attrs

from refimpl.dra.cel.functions.tables import Overload
from refimpl.dra.cel.nodes import Call, Literal
from refimpl.dra.cel.ranges import UNKNOWN, Range
from refimpl.dra.cel.sizes import Arg, Sizes

__all__ = ["CHARACTER", "REGEX_CHARACTER", "Asked", "Price", "Rule"]

CHARACTER, REGEX_CHARACTER = 0.1, 0.25
"""What a character costs that is looked at, and one of a regular expression."""

Price = tuple[Range, Range | None]
"""The cost, and the size of the result; None where that is not known."""


@attrs.frozen(eq=False)
class Asked:
    """One overload of a call."""

    sizes: Sizes
    node: Call
    overload: Overload
    target: Arg | None
    args: list[Arg]

    @property
    def subject(self) -> Arg:
        """The target of a method, or the first argument."""
        return self.target or self.args[0]

    def size(self, arg: Arg) -> Range:
        """The size of an argument."""
        return self.sizes.size_of(arg)

    def known(self, index: int) -> Range:
        """The size of an argument as far as its node tells."""
        return self.args[index].size or UNKNOWN

    def takes(self, index: int, *names: str) -> bool:
        """Whether this overload takes one of these types there, the target counted."""
        return self.overload.args[index].name in names

    def whole(self, index: int, unknown: int) -> int:
        """The value of an integer that is written there."""
        node = self.args[index].node
        if isinstance(node, Literal) and type(node.value) is int:
            return max(node.value, 0)
        return unknown


Rule = Callable[[Asked], Price | None]
"""None: it costs one, as any other call."""
