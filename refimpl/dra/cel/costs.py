"""What an expression costs in its worst case, in the units of CEL.

Source: the cost model of cel-go with the estimates of Kubernetes 1.37 (apiserver/pkg/cel/library):
the numbers decide what an API server takes, so they are its numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from refimpl.dra.cel.environment import Environment
from refimpl.dra.cel.nodes import Call, Ident, ListOf, Literal, Loop, MapOf, Node, Select
from refimpl.dra.cel.prices import price
from refimpl.dra.cel.ranges import FREE, ONE, Range, exactly
from refimpl.dra.cel.sizes import Sizes, Variable

__all__ = ["worst"]

_LIST, _MAP = 10, 30


def worst(node: Node, environment: Environment) -> int:
    """The most that a checked expression costs; 2^64-1 stands for anything above."""
    return _Costs(environment).of(node).most


class _Costs:
    def __init__(self, environment: Environment) -> None:
        self._sizes = Sizes(environment)

    def of(self, node: Node) -> Range:
        """The cost of a node and all below it."""
        return _NODES[type(node)](self, node)

    def literal(self, _: Literal) -> Range:
        return FREE

    def ident(self, node: Ident) -> Range:
        self._sizes.keep(node, path=self._sizes.path(node) or (node.name,))
        return ONE

    def select(self, node: Select) -> Range:
        operand = self.of(node.operand)
        if node.test:
            return operand
        if node.optional:
            return operand + ONE
        self._sizes.keep(node, path=(*self._sizes.path(node.operand), node.field))
        inside = node.operand.type
        return operand + (ONE if inside.name == "map" or "." in inside.name else FREE)

    def list_of(self, node: ListOf) -> Range:
        total = exactly(_LIST)
        for each in node.items:
            total += self.of(each)
        self._sizes.keep(node, entries=(ONE, self._sizes.union(node.items)))
        return total

    def map_of(self, node: MapOf) -> Range:
        total = exactly(_MAP)
        for key, value, _ in node.entries:
            total += self.of(key) + self.of(value)
        keys = self._sizes.union([key for key, _, _ in node.entries])
        values = self._sizes.union([value for _, value, _ in node.entries])
        self._sizes.keep(node, entries=(keys, values))
        return total

    def loop(self, node: Loop) -> Range:
        sizes = self._sizes
        total = self.of(node.range) + self.of(node.init)
        accu = Variable(sizes.path(node.init), sizes.size(node.init), sizes.entries(node.init))
        with sizes.within({node.accu: accu}):
            if node.bind:
                total += self.of(node.result)
                sizes.keep(node, size=sizes.size(node.result), entries=sizes.entries(node.result))
                return total
            with sizes.within(self._iterated(node)):
                turn = self.of(node.condition) + self.of(node.step)
            total += self.of(node.result)
            turns = sizes.known(node.range)
            if isinstance(node.init, Literal):
                sizes.keep(node, size=sizes.size(node.init))
            else:
                sizes.keep(node, size=turns, entries=sizes.entries(node.step))
        return total + turns * turn

    def _iterated(self, node: Loop) -> dict[str, Variable]:
        path = self._sizes.path(node.range)
        keys, values = self._sizes.entries(node.range) or (None, None)
        of_list = node.range.type.name == "list"
        if node.second:
            index, item = ("@indices", "@items") if of_list else ("@keys", "@values")
            # cel-go 0.29 writes the second path over the first one where a slice has room for it.
            first = item if len(path) == 3 else index
            return {
                node.var: Variable((*path, first), keys),
                node.second: Variable((*path, item), values),
            }
        if of_list:
            return {node.var: Variable((*path, "@items"), values)}
        return {node.var: Variable((*path, "@keys"), keys)}

    def call(self, node: Call) -> Range:
        sizes = self._sizes
        if node.function == "dyn":
            (inner,) = node.args
            cost = self.of(inner) + ONE
            sizes.keep(node, size=sizes.size(inner), entries=sizes.entries(inner))
            return cost
        costs = [self.of(each) for each in node.args]
        total = self.of(node.target) if node.target is not None else FREE
        args = [sizes.arg(each, cost) for each, cost in zip(node.args, costs, strict=True)]
        target = sizes.arg(node.target) if node.target is not None else None
        called: Range | None = None
        size: Range | None = None
        for overload in node.overloads:
            cost, result = price(sizes, node, overload, target, args)
            called = cost if called is None else called | cost
            size = result if size is None else size | result if result is not None else size
            container = overload.args[0].name if overload.function == "_[_]" else ""
            if container in ("list", "map"):
                size = (sizes.entries(node.args[0]) or (None, None))[1]
                step = "@items" if container == "list" else "@values"
                sizes.keep(node, path=(*sizes.path(node.args[0]), step))
            size = sizes.size(node) if size is None else size
        sizes.keep(node, size=size)
        return total + (called or FREE)


_NODES: dict[type, Callable[[_Costs, Any], Range]] = {
    Literal: _Costs.literal,
    Ident: _Costs.ident,
    Select: _Costs.select,
    Call: _Costs.call,
    ListOf: _Costs.list_of,
    MapOf: _Costs.map_of,
    Loop: _Costs.loop,
}
