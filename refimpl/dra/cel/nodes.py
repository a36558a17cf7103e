"""The parts of an expression. The checker writes the type into each, and overloads into calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from refimpl.dra.cel.types import DYN, Type

if TYPE_CHECKING:
    from refimpl.dra.cel.functions.tables import Overload

__all__ = ["ACCUMULATOR", "Call", "Ident", "ListOf", "Literal", "Loop", "MapOf", "Node", "Select"]

ACCUMULATOR = "@result"
"""The variable in which a macro gathers; no name that can be written."""


@attrs.define(eq=False, kw_only=True)
class Node:
    """at: offset in the text. type: what the checker found."""

    at: int = -1
    type: Type = DYN


@attrs.define(eq=False)
class Literal(Node):
    """A constant."""

    value: Any


@attrs.define(eq=False)
class Ident(Node):
    """A variable, or a name of a type."""

    name: str


@attrs.define(eq=False)
class Select(Node):
    """operand.field, operand.?field, or has(operand.field)."""

    operand: Node
    field: str
    optional: bool = False
    test: bool = False


@attrs.define(eq=False)
class Call(Node):
    """A function, a method of `target`, or an operator by its name, `_+_`."""

    function: str
    args: list[Node]
    target: Node | None = None
    overloads: list[Overload] = attrs.field(factory=list, kw_only=True)


@attrs.define(eq=False)
class ListOf(Node):
    """[a, ?b]; optional: the indices of those with a question mark."""

    items: list[Node]
    optional: frozenset[int] = frozenset()


@attrs.define(eq=False)
class MapOf(Node):
    """{k: v, ?k: v}: key, value, whether there is a question mark."""

    entries: list[tuple[Node, Node, bool]]


@attrs.define(eq=False)
class Loop(Node):
    """What all macros over lists and maps are made of (CEL calls it comprehension).

    For each element of `range` while `condition`: `accu` is `step`; then `result`. `second` is the
    variable of the values (of a list: of the elements, `var` has their indices), "" for none.
    bind: no loop, `accu` is `init` in `result`.
    """

    range: Node
    var: str
    second: str
    accu: str
    init: Node
    condition: Node
    step: Node
    result: Node
    bind: bool = False
