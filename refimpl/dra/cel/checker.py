"""Types of all parts of an expression before it is evaluated; what cannot be is refused.

Source: CEL language definition, "Gradual Type Checking". Besides, as Kubernetes does: lists and
maps of one type, and literals of regular expressions, durations and timestamps that are valid.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from refimpl.dra.cel import types
from refimpl.dra.cel.constants import check_constant, check_literals
from refimpl.dra.cel.environment import Environment
from refimpl.dra.cel.errors import ExpressionError
from refimpl.dra.cel.functions.tables import Overload
from refimpl.dra.cel.nodes import Call, Ident, ListOf, Literal, Loop, MapOf, Node, Select
from refimpl.dra.cel.types import BOOL, DYN, INT, Bindings, Type
from refimpl.dra.cel.values import kind

__all__ = ["check"]


def check(node: Node, environment: Environment) -> Type:
    """The type of the whole; writes types and overloads into all nodes. Raises ExpressionError."""
    return _Checker(environment).whole(node)


class _Checker:
    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._bindings = Bindings()
        self._scopes: list[dict[str, Type]] = []
        self._checked: list[Node] = []
        self._uniform: list[list[tuple[Node, bool]]] = []
        self._formatting = 0

    def whole(self, node: Node) -> Type:
        """Checks all of it."""
        self._check(node)
        for each in self._checked:
            each.type = self._bindings.resolve(each.type, final=True)
        for each in self._checked:
            check_constant(each)
        for nodes in self._uniform:
            wanted = _element(*nodes[0])
            for each, optional in nodes[1:]:
                found = _element(each, optional)
                if found != wanted:
                    raise ExpressionError(
                        f"expected type {str(wanted)!r} but found {str(found)!r}: all elements are"
                        " of one type",
                        each.at,
                    )
        return node.type

    def _check(self, node: Node) -> Type:
        node.type = _CHECKS[type(node)](self, node)
        self._checked.append(node)
        return node.type

    def literal(self, node: Literal) -> Type:
        return Type(kind(node.value))

    def ident(self, node: Ident) -> Type:
        for scope in reversed(self._scopes):
            if node.name in scope:
                return scope[node.name]
        found = self._environment.variables.get(node.name)
        if found is None:
            raise ExpressionError(f"undeclared reference to {node.name!r}", node.at)
        return found

    def select(self, node: Select) -> Type:
        whole = _dotted(node)
        if whole in self._environment.variables and not (node.test or node.optional):
            return self._environment.variables[whole]
        operand = self._bindings.resolve(self._check(node.operand))
        wrapped = operand.name == "optional_type"
        inside = operand.params[0] if wrapped else operand
        field = self._field(node, inside)
        if node.test:
            return BOOL
        return types.optional_of(field) if wrapped or node.optional else field

    def _field(self, node: Select, inside: Type) -> Type:
        if inside.name == "map":
            return inside.params[1]
        fields = self._environment.fields.get(inside.name)
        if fields is not None:
            if node.field not in fields:
                raise ExpressionError(f"undefined field {node.field!r}", node.at)
            return fields[node.field]
        if inside.is_variable:
            self._bindings.match([DYN], [inside])
        elif not inside.is_dyn:
            raise ExpressionError(f"type {str(inside)!r} does not support field selection", node.at)
        return DYN

    def call(self, node: Call) -> Type:
        formatting = node.function == "format"
        self._formatting += formatting
        for each in node.args:
            self._check(each)
        self._formatting -= formatting
        if node.target is not None:
            name = f"{_dotted(node.target)}.{node.function}"
            if name in self._environment.functions:
                node.function, node.target = name, None
            else:
                self._check(node.target)
        given = [each.type for each in ([node.target] if node.target else []) + node.args]
        declared = self._environment.functions.get(node.function)
        if declared is None:
            raise ExpressionError(f"undeclared reference to {node.function!r}", node.at)
        check_literals(node)
        found: Type | None = None
        for overload in declared:
            if overload.method == (node.target is not None):
                result = self._result(overload, given)
                if result is None:
                    continue
                node.overloads.append(overload)
                found = result if found in (None, result) else DYN
        if found is None:
            shown = ", ".join(str(self._bindings.resolve(each, final=True)) for each in given)
            raise ExpressionError(f"no overload of {node.function!r} for ({shown})", node.at)
        return found

    def _result(self, overload: Overload, given: list[Type]) -> Type | None:
        """The type that a call gives, if the overload takes what is given."""
        fresh = {each: self._bindings.fresh() for each in overload.variables}
        args = [_renamed(each, fresh) for each in overload.args]
        if not self._bindings.match(given, args):
            return None
        return self._bindings.resolve(_renamed(overload.result, fresh))

    def list_of(self, node: ListOf) -> Type:
        item: Type | None = None
        for index, each in enumerate(node.items):
            item = self._joined(each, item, index in node.optional)
        self._alike([(each, index in node.optional) for index, each in enumerate(node.items)])
        return types.list_of(item or self._bindings.fresh())

    def map_of(self, node: MapOf) -> Type:
        key: Type | None = None
        value: Type | None = None
        for name, each, optional in node.entries:
            key, value = self._joined(name, key, False), self._joined(each, value, optional)
        self._alike([(name, False) for name, _, _ in node.entries])
        self._alike([(each, optional) for _, each, optional in node.entries])
        return types.map_of(key or self._bindings.fresh(), value or self._bindings.fresh())

    def _alike(self, nodes: list[tuple[Node, bool]]) -> None:
        if nodes and not self._formatting:
            self._uniform.append(nodes)

    def _joined(self, node: Node, before: Type | None, optional: bool) -> Type:
        """The type of all elements so far."""
        given = self._check(node)
        if optional:
            if given.name != "optional_type" and not given.is_dyn:
                raise ExpressionError(f"expected an optional value, found {given}", node.at)
            given = given.params[0] if given.params else given
        if before is None:
            return given
        if not self._bindings.match([before], [given]):
            return DYN
        return before if types.less_specific(before, given) else given

    def loop(self, node: Loop) -> Type:
        over = self._bindings.resolve(self._check(node.range))
        accu = self._check(node.init)
        first, second = self._elements(node, over)
        with self._scope({node.accu: accu}):
            with self._scope({node.var: first} | ({node.second: second} if node.second else {})):
                for part, wanted in ((node.condition, BOOL), (node.step, accu)):
                    if not self._bindings.match([wanted], [self._check(part)]):
                        raise ExpressionError(f"expected {wanted}, found {part.type}", node.at)
            return self._bindings.resolve(self._check(node.result))

    def _elements(self, node: Loop, over: Type) -> tuple[Type, Type]:
        """The types of the one or two variables."""
        if over.name == "list":
            return (INT, over.params[0]) if node.second else (over.params[0], DYN)
        if over.name == "map":
            return over.params[0], over.params[1]
        if over.is_variable:
            self._bindings.match([DYN], [over])
        elif over != DYN:
            raise ExpressionError(f"a loop goes over a list, map or dyn, not {over}", node.at)
        return DYN, DYN

    @contextmanager
    def _scope(self, names: dict[str, Type]) -> Iterator[None]:
        self._scopes.append(names)
        yield
        self._scopes.pop()


def _element(node: Node, optional: bool) -> Type:
    """The type of an element; optional: with a question mark."""
    return node.type.params[0] if optional and node.type.params else node.type


def _dotted(node: Node) -> str:
    """a.b.c as it is written; "" for what is more than names."""
    if isinstance(node, Ident):
        return node.name
    if isinstance(node, Select) and not (node.test or node.optional):
        before = _dotted(node.operand)
        return f"{before}.{node.field}" if before else ""
    return ""


def _renamed(type: Type, names: dict[Type, Type]) -> Type:
    if type in names:
        return names[type]
    return Type(type.name, tuple(_renamed(each, names) for each in type.params))


_CHECKS: dict[type, Callable[[Any, Any], Type]] = {
    Literal: _Checker.literal,
    Ident: _Checker.ident,
    Select: _Checker.select,
    Call: _Checker.call,
    ListOf: _Checker.list_of,
    MapOf: _Checker.map_of,
    Loop: _Checker.loop,
}
