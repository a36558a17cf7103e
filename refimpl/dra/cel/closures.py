"""A checked expression as nested Python functions, each of which takes the frame.

The frame is a list: the device first, then what was spent, then the variables of macros. An error
is an exception; in the accumulator of a loop it is a value, which `&&` and `||` may get over.
Source: CEL language definition, "Evaluation".
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any

from refimpl.dra.cel import runs
from refimpl.dra.cel.errors import EvaluationError
from refimpl.dra.cel.functions.operators import maybe_at
from refimpl.dra.cel.nodes import (
    ACCUMULATOR,
    Call,
    Ident,
    ListOf,
    Literal,
    Loop,
    MapOf,
    Node,
    Select,
)
from refimpl.dra.cel.runs import Run
from refimpl.dra.cel.types import Type
from refimpl.dra.cel.values import Optional, kind

__all__ = ["FRAME", "closure"]

FRAME = 2
"""What stands in a frame before the variables: the device, and the cost so far."""


def closure(node: Node, charge: Callable[[Node, Run], Run] | None = None) -> tuple[Run, int]:
    """What evaluates the expression, and how long its frame is. charge: wraps each part, to count
    what it costs."""
    compiler = _Compiler(charge or (lambda _, run: run))
    return compiler.run(node), compiler.length


class _Compiler:
    def __init__(self, charge: Callable[[Node, Run], Run]) -> None:
        self._charge = charge
        self._slots: list[tuple[str, int]] = []
        # Variables that may hold an error, which counts when they are read.
        self._failing = {ACCUMULATOR}
        self.length = FRAME

    def run(self, node: Node) -> Run:
        return self._charge(node, _RUNS[type(node)](self, node))

    def literal(self, node: Literal) -> Run:
        value = node.value
        return lambda _: value

    def ident(self, node: Ident) -> Run:
        slot = next((slot for name, slot in reversed(self._slots) if name == node.name), None)
        if slot is None:
            if node.name == "device":
                return lambda frame: frame[0]
            named = node.type.params[0] if node.type.params else node.type
            return lambda _: Type(named.name)
        if node.name not in self._failing:
            return lambda frame: frame[slot]

        def certain(frame: list[Any]) -> Any:
            value = frame[slot]
            if isinstance(value, EvaluationError):
                raise value
            return value

        return certain

    def select(self, node: Select) -> Run:
        operand, field = self.run(node.operand), node.field
        if node.test:
            return runs.tested(operand, field, of_object="." in node.operand.type.name)
        if node.operand.type.name == "kubernetes.DRADevice":
            if node.optional:
                return lambda frame: Optional(getattr(operand(frame), field))
            get = attrgetter(field)
            if isinstance(node.operand, Ident):
                return lambda frame: get(frame[0])
            return lambda frame: get(operand(frame))
        if node.optional or node.operand.type.name == "optional_type":
            return lambda frame: maybe_at(operand(frame), field)
        return runs.field(operand, field)

    def list_of(self, node: ListOf) -> Run:
        parts = [self.run(each) for each in node.items]
        if not node.optional:
            return lambda frame: [run(frame) for run in parts]
        marked = [(run, place in node.optional) for place, run in enumerate(parts)]

        def items(frame: list[Any]) -> list[Any]:
            values = []
            for run, optional in marked:
                value = run(frame)
                if not optional:
                    values.append(value)
                elif runs.filled(value):
                    values.append(value.value)
            return values

        return items

    def map_of(self, node: MapOf) -> Run:
        parts = [(self.run(key), self.run(value), marked) for key, value, marked in node.entries]

        def entries(frame: list[Any]) -> dict[Any, Any]:
            found: dict[Any, Any] = {}
            for key_of, value_of, optional in parts:
                key, value = key_of(frame), value_of(frame)
                if kind(key) not in ("string", "int", "uint", "bool", "double"):
                    raise EvaluationError(f"unsupported key type: {kind(key)}")
                if not optional:
                    found[key] = value
                elif runs.filled(value):
                    found[key] = value.value
            return found

        return entries

    def call(self, node: Call) -> Run:
        parts = [self.run(each) for each in ([node.target] if node.target else []) + node.args]
        special = runs.SPECIAL.get(node.function)
        if special is not None:
            return special(*parts)
        if node.function == "@in" and isinstance(node.args[1], ListOf) and not node.args[1].items:
            return lambda _: False  # as cel-go: whatever is looked for, nothing is in there
        last = node.args[-1] if node.args else None
        if isinstance(last, Literal) and isinstance(last.value, str):
            if node.function == "_==_":
                return runs.equal_to_text(parts[0], last.value)
            if node.function == "_[_]" and node.args[0].type.name == "map":
                return runs.field(parts[0], last.value)
        return runs.guarded(node.function, node.overloads, parts)

    def loop(self, node: Loop) -> Run:
        over, init = self.run(node.range), self.run(node.init)
        accu = self._slot(node.accu)
        if node.bind:
            self._failing.add(node.accu)
            body = self.run(node.result)
            self._slots.pop()
            return runs.bound(init, accu, body)
        first = self._slot(node.var)
        second = self._slot(node.second) if node.second else -1
        condition, step = self.run(node.condition), self.run(node.step)
        del self._slots[-2 if node.second else -1 :]
        result = self.run(node.result)
        self._slots.pop()
        go_on = None if isinstance(node.condition, Literal) else condition

        def looped(frame: list[Any]) -> Any:
            elements = runs.elements(over(frame), pairs=bool(node.second))
            frame[accu] = init(frame)
            for element in elements:
                if go_on is not None and not go_on(frame):
                    break
                if second >= 0:
                    frame[first], frame[second] = element
                else:
                    frame[first] = element
                try:
                    frame[accu] = step(frame)
                except EvaluationError as error:
                    frame[accu] = error
            return result(frame)

        return looped

    def _slot(self, name: str) -> int:
        slot = FRAME + len(self._slots)
        self._slots.append((name, slot))
        self.length = max(self.length, slot + 1)
        return slot


_RUNS: dict[type, Callable[[_Compiler, Any], Run]] = {
    Literal: _Compiler.literal,
    Ident: _Compiler.ident,
    Select: _Compiler.select,
    Call: _Compiler.call,
    ListOf: _Compiler.list_of,
    MapOf: _Compiler.map_of,
    Loop: _Compiler.loop,
}
