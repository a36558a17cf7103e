"""Macros written out as loops: all, exists, map, bind and the like.

Source: CEL language definition, "Macros"; cel-go extensions bindings, two-variable comprehensions,
lists (sortBy) and optional types.
"""

from __future__ import annotations

import copy
from collections.abc import Callable

from refimpl.dra.cel.errors import ExpressionError
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

__all__ = ["expanded"]

_UNUSED = "#unused"
_SORTED = "@sorted"

Macro = Callable[[Call], Node]


def expanded(call: Call) -> Node:
    """The call, or what it stands for. Raises ExpressionError for a macro with wrong arguments."""
    if call.target is None:
        return _has(call) if call.function == "has" and len(call.args) == 1 else call
    if call.function == "bind" and len(call.args) == 3:
        return _bind(call) if _is_ident(call.target, "cel") else call
    macro = _MACROS.get((call.function, len(call.args)))
    return macro(call) if macro else call


def _is_ident(node: Node, name: str) -> bool:
    return isinstance(node, Ident) and node.name == name


def _name(node: Node) -> str:
    if not isinstance(node, Ident):
        raise ExpressionError("a variable of a macro has to be a simple name", node.at)
    return node.name


def _has(call: Call) -> Node:
    field = call.args[0]
    if not isinstance(field, Select) or field.test:
        raise ExpressionError("has() asks for a field: has(a.b)", call.at)
    if field.optional:
        raise ExpressionError("has() asks for a field, not for an optional one", call.at)
    return Select(field.operand, field.field, test=True, at=call.at)


def _accu() -> Ident:
    return Ident(ACCUMULATOR)


def _loop(
    call: Call, variables: int, init: Node, condition: Node, step: Node, result: Node | None = None
) -> Loop:
    names = [_name(each) for each in call.args[:variables]]
    if len(set(names)) < len(names):
        raise ExpressionError(f"duplicate variable name: {names[0]}", call.at)
    assert call.target is not None
    return Loop(
        call.target, names[0], names[1] if variables == 2 else "", ACCUMULATOR, init, condition,
        step, result or _accu(), at=call.at,
    )  # fmt: skip


def _all(variables: int) -> Macro:
    def macro(call: Call) -> Node:
        go_on = Call("@not_strictly_false", [_accu()])
        step = Call("_&&_", [_accu(), call.args[-1]])
        return _loop(call, variables, Literal(True), go_on, step)

    return macro


def _exists(variables: int) -> Macro:
    def macro(call: Call) -> Node:
        go_on = Call("@not_strictly_false", [Call("!_", [_accu()])])
        step = Call("_||_", [_accu(), call.args[-1]])
        return _loop(call, variables, Literal(False), go_on, step)

    return macro


def _exists_one(variables: int) -> Macro:
    def macro(call: Call) -> Node:
        counted = Call("_+_", [_accu(), Literal(1)])
        step = Call("_?_:_", [call.args[-1], counted, _accu()])
        result = Call("_==_", [_accu(), Literal(1)])
        return _loop(call, variables, Literal(0), Literal(True), step, result)

    return macro


def _gathered(variables: int, init: Callable[[], Node], step: Callable[[Call], Node]) -> Macro:
    """What gathers a list or map; one argument more is a filter before the last one."""

    def macro(call: Call) -> Node:
        gathered = step(call)
        if len(call.args) == variables + 2:
            gathered = Call("_?_:_", [call.args[variables], gathered, _accu()])
        return _loop(call, variables, init(), Literal(True), gathered)

    return macro


def _listed(call: Call) -> Node:
    return Call("_+_", [_accu(), ListOf([call.args[-1]])])


def _filter(call: Call) -> Node:
    kept = Call("_+_", [_accu(), ListOf([copy.copy(call.args[0])])])
    step = Call("_?_:_", [call.args[1], kept, _accu()])
    return _loop(call, 1, ListOf([]), Literal(True), step)


def _keyed(call: Call) -> Node:
    return Call("cel.@mapInsert", [_accu(), Ident(_name(call.args[0])), call.args[-1]])


def _entered(call: Call) -> Node:
    return Call("cel.@mapInsert", [_accu(), call.args[-1]])


def _bound(name: str, value: Node, body: Node, at: int) -> Loop:
    return Loop(
        ListOf([]), _UNUSED, "", name, value, Literal(False), Ident(name), body, bind=True, at=at
    )


def _bind(call: Call) -> Node:
    return _bound(_name(call.args[0]), call.args[1], call.args[2], call.at)


def _opt_map(call: Call) -> Node:
    return _on_value(call, lambda body: Call("of", [body], Ident("optional")))


def _opt_flat_map(call: Call) -> Node:
    return _on_value(call, lambda body: body)


def _on_value(call: Call, wrapped: Callable[[Node], Node]) -> Node:
    value = Call("value", [], copy.deepcopy(call.target))
    body = _bound(_name(call.args[0]), value, call.args[1], call.at)
    has_value = Call("hasValue", [], call.target)
    none = Call("none", [], Ident("optional"))
    return Call("_?_:_", [has_value, wrapped(body), none], at=call.at)


def _sort_by(call: Call) -> Node:
    assert call.target is not None
    keys = _MACROS["map", 2](Call("map", call.args, Ident(_SORTED), at=call.at))
    ordered = Call("@sortByAssociatedKeys", [keys], Ident(_SORTED))
    return _bound(_SORTED, call.target, ordered, call.at)


def _empty_list() -> Node:
    return ListOf([])


def _empty_map() -> Node:
    return MapOf([])


_MACROS: dict[tuple[str, int], Macro] = {
    ("all", 2): _all(1),
    ("exists", 2): _exists(1),
    ("exists_one", 2): _exists_one(1),
    ("map", 2): _gathered(1, _empty_list, _listed),
    ("map", 3): _gathered(1, _empty_list, _listed),
    ("filter", 2): _filter,
    ("all", 3): _all(2),
    ("exists", 3): _exists(2),
    ("existsOne", 3): _exists_one(2),
    ("transformList", 3): _gathered(2, _empty_list, _listed),
    ("transformList", 4): _gathered(2, _empty_list, _listed),
    ("transformMap", 3): _gathered(2, _empty_map, _keyed),
    ("transformMap", 4): _gathered(2, _empty_map, _keyed),
    ("transformMapEntry", 3): _gathered(2, _empty_map, _entered),
    ("transformMapEntry", 4): _gathered(2, _empty_map, _entered),
    ("optMap", 2): _opt_map,
    ("optFlatMap", 2): _opt_flat_map,
    ("sortBy", 2): _sort_by,
}
