"""How large the parts of an expression can be: elements of lists and maps, characters of texts.

Source: the cost model of cel-go; the sizes of what a device has are declared in its environment.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import attrs

from refimpl.dra.cel.environment import Environment
from refimpl.dra.cel.nodes import ACCUMULATOR, Ident, ListOf, Literal, MapOf, Node
from refimpl.dra.cel.ranges import FREE, ONE, UNKNOWN, Range, exactly
from refimpl.dra.cel.types import Type

__all__ = ["Arg", "Entries", "Sizes", "Variable"]

_FIXED = frozenset({"bool", "double", "duration", "int", "timestamp", "uint"})

Entries = tuple[Range, Range]
"""The sizes of keys, and of values or elements."""


@attrs.frozen
class Arg:
    """What is known of an argument, or of what stands in it. path: how it comes from the device."""

    node: Node | None
    type: Type
    path: tuple[str, ...]
    size: Range | None
    cost: Range = FREE


@attrs.frozen
class Variable:
    """What is known of a variable of a macro."""

    path: tuple[str, ...]
    size: Range | None = None
    entries: Entries | None = None


class Sizes:
    """What has been found out of the nodes of one expression."""

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._paths: dict[Node, tuple[str, ...]] = {}
        self._sizes: dict[Node, Range] = {}
        self._entries: dict[Node, Entries] = {}
        self._variables: dict[str, list[Variable]] = {}

    @contextmanager
    def within(self, variables: Mapping[str, Variable]) -> Iterator[None]:
        """While variables of a macro stand for something."""
        for name, variable in variables.items():
            self._variables.setdefault(name, []).append(variable)
        yield
        for name in variables:
            self._variables[name].pop()

    def keep(
        self,
        node: Node,
        *,
        path: tuple[str, ...] = (),
        size: Range | None = None,
        entries: Entries | None = None,
    ) -> None:
        """Remembers what is given."""
        if path:
            self._paths[node] = path
        if size is not None:
            self._sizes[node] = size
        if entries is not None:
            self._entries[node] = entries

    def known(self, node: Node) -> Range:
        """The size of a node; of an unknown one anything."""
        return self.size(node) or UNKNOWN

    def size(self, node: Node) -> Range | None:
        """The size of a node; None where it is not known."""
        if node in self._sizes:
            return self._sizes[node]
        exact = _exact(node)
        if exact is not None:
            return exact
        most = self._environment.size(self.path(node))
        if most is not None:
            self._sizes[node] = Range(0, most)
            return self._sizes[node]
        if _is_fixed(node.type):
            return ONE
        variable = self._variable(node)
        return variable.size if variable else None

    def size_of(self, arg: Arg) -> Range:
        """The size of an argument, or of what stands in it."""
        if arg.size is not None:
            return arg.size
        most = self._environment.size(arg.path)
        return UNKNOWN if most is None else Range(0, most)

    def items(self, arg: Arg) -> Arg | None:
        """What stands in a list; None for what is none."""
        if not arg.type.params:
            return None
        path = (*arg.path, "@items") if arg.path else ()
        return Arg(None, arg.type.params[0], path, None)

    def arg(self, node: Node, cost: Range = FREE) -> Arg:
        """A node as an argument."""
        path = self.path(node)
        return Arg(
            node, node.type, () if path[:1] == (ACCUMULATOR,) else path, self.size(node), cost
        )

    def union(self, nodes: Sequence[Node]) -> Range:
        """The size of any of them."""
        total = self.known(nodes[0]) if nodes else FREE
        for each in nodes[1:]:
            total |= self.known(each)
        return total

    def entries(self, node: Node) -> Entries | None:
        """The sizes of what stands in a list or map; None where they are not known."""
        if node in self._entries:
            return self._entries[node]
        variable = self._variable(node)
        return variable.entries if variable else None

    def joined_entries(self, one: Node, other: Node) -> Entries | None:
        """The sizes of what stands in one or the other."""
        first, second = self.entries(one), self.entries(other)
        if first is None or second is None:
            return None
        return first[0] | second[0], first[1] | second[1]

    def path(self, node: Node) -> tuple[str, ...]:
        """How a node comes from a variable; empty for what is computed."""
        variable = self._variable(node)
        return variable.path if variable else self._paths.get(node, ())

    def _variable(self, node: Node) -> Variable | None:
        if not isinstance(node, Ident) or not self._variables.get(node.name):
            return None
        return self._variables[node.name][-1]


def _exact(node: Node) -> Range | None:
    if isinstance(node, Literal):
        return exactly(len(node.value) if isinstance(node.value, str | bytes) else 1)
    if isinstance(node, ListOf):
        return exactly(len(node.items))
    return exactly(len(node.entries)) if isinstance(node, MapOf) else None


def _is_fixed(type: Type) -> bool:
    if type.name == "optional_type":
        return _is_fixed(type.params[0])
    return type.name in _FIXED
