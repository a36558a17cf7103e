"""The text of an expression as nodes.

The grammar is cel-python's, with what Kubernetes adds to it: a?.b, a[?b], [?a] and {?k: v}, and
without signs that are part of a number. Source: CEL language definition, "Syntax"; cel-go,
"Optional syntax".
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import Any, NoReturn

from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedInput

from refimpl.dra.cel import macros
from refimpl.dra.cel.errors import ExpressionError
from refimpl.dra.cel.literals import number, text, uint
from refimpl.dra.cel.nodes import Call, Ident, ListOf, Literal, MapOf, Node, Select

__all__ = ["parsed"]

# What is replaced in cel-python's grammar, by the beginning of the line.
_RULES = {
    "member         :": "member : member_dot | member_dot_arg | member_opt | member_index"
    " | member_opt_index | member_object | primary",
    "member_dot     :": 'member_dot : member "." IDENT\nmember_opt : member "." "?" IDENT\n'
    'member_opt_index : member "[" "?" expr "]"',
    "list_lit       :": 'list_lit : "[" [items [","]] "]"\nitems : item ("," item)*\n'
    'item : expr | opt_item\nopt_item : "?" expr',
    "map_lit        :": 'map_lit : "{" [entries [","]] "}"\nentries : entry ("," entry)*\n'
    'entry : expr ":" expr | opt_entry\nopt_entry : "?" expr ":" expr',
    "INT_LIT        :": "INT_LIT : /0x/ HEXDIGIT+ | DIGIT+",
    "FLOAT_LIT      :": 'FLOAT_LIT : DIGIT+ "." DIGIT+ EXPONENT? | DIGIT+ EXPONENT'
    ' | "." DIGIT+ EXPONENT?',
}
_RESERVED = re.compile(
    "as|break|const|continue|else|for|function|if|import|in|let|loop|package|namespace|return|var"
    "|void|while"
)
_CONSTANTS = {"true": True, "false": False, "null": None}
_BINARY = {
    "relation_lt": "_<_", "relation_le": "_<=_", "relation_gt": "_>_", "relation_ge": "_>=_",
    "relation_eq": "_==_", "relation_ne": "_!=_", "relation_in": "@in",
    "addition_add": "_+_", "addition_sub": "_-_",
    "multiplication_mul": "_*_", "multiplication_div": "_/_", "multiplication_mod": "_%_",
}  # fmt: skip


@cache
def _parser() -> Lark:
    lines = files("celpy").joinpath("cel.lark").read_text().splitlines()
    grammar = []
    for line in lines:
        begin = next((each for each in _RULES if line.startswith(each)), None)
        grammar.append(_RULES[begin] if begin else line)
    return Lark("\n".join(grammar), start="expr", parser="lalr", propagate_positions=True)


def parsed(expression: str) -> Node:
    """The expression with its macros written out. Raises ExpressionError."""
    try:
        return _node(_parser().parse(expression))
    except UnexpectedInput as error:
        at = error.pos_in_stream if error.pos_in_stream is not None else len(expression)
        shown = expression[at : at + 20] or "the end"
        raise ExpressionError(f"syntax error at {shown!r}", at) from None
    except RecursionError:
        raise ExpressionError("the expression is nested too deeply") from None


def _node(tree: Any) -> Node:
    """What one rule of the grammar stands for."""
    at = getattr(tree.meta, "start_pos", -1)
    parts = [each for each in tree.children if each is not None]
    make = _MAKERS.get(str(tree.data))
    if make is not None:
        node: Node = make(at, parts)
        return node
    # A rule that passes on what is below it, or an operator with its left side.
    if len(parts) == 1:
        return _node(parts[0])
    left, right = parts
    return Call(_BINARY[str(left.data)], [_node(left.children[0]), _node(right)], at=at)


def _logical(function: str) -> Any:
    def make(at: int, parts: list[Any]) -> Node:
        nodes = [_node(each) for each in parts]
        return nodes[0] if len(nodes) == 1 else Call(function, nodes, at=at)

    return make


def _ternary(at: int, parts: list[Any]) -> Node:
    nodes = [_node(each) for each in parts]
    return nodes[0] if len(nodes) == 1 else Call("_?_:_", nodes, at=at)


def _unary(at: int, parts: list[Any]) -> Node:
    """One sign of an odd number of them, none of an even one."""
    if len(parts) == 1:
        return _node(parts[0])
    sign, below, signs = str(parts[0].data), parts[1], 1
    while len(below.children) == 2 and str(below.children[0].data) == sign:
        below, signs = below.children[1], signs + 1
    plain = _plain_number(below) if sign == "unary_neg" and signs == 1 else None
    if plain is not None:
        return Literal(number(f"-{plain}", at), at=at)
    operand = _node(below)
    return Call("!_" if sign == "unary_not" else "-_", [operand], at=at) if signs % 2 else operand


def _plain_number(tree: Any) -> str | None:
    """The digits of a number that nothing stands around; a sign before it is part of it."""
    while isinstance(tree, Tree) and len(tree.children) == 1 and tree.data != "paren_expr":
        tree = tree.children[0]
    number = isinstance(tree, Token) and tree.type in ("INT_LIT", "FLOAT_LIT")
    return str(tree) if number else None


def _dot(at: int, parts: list[Any]) -> Node:
    return Select(_node(parts[0]), str(parts[1]), at=at)


def _opt(at: int, parts: list[Any]) -> Node:
    return Select(_node(parts[0]), str(parts[1]), optional=True, at=at)


def _method(at: int, parts: list[Any]) -> Node:
    target, name, *rest = parts
    return macros.expanded(Call(str(name), _arguments(rest), _node(target), at=at))


def _function(at: int, parts: list[Any]) -> Node:
    name, *rest = parts
    return macros.expanded(Call(_name(name, at), _arguments(rest), at=at))


def _arguments(parts: list[Any]) -> list[Node]:
    return [_node(each) for part in parts for each in part.children]


def _index(function: str) -> Any:
    return lambda at, parts: Call(function, [_node(each) for each in parts], at=at)


def _ident(at: int, parts: list[Any]) -> Node:
    if str(parts[0]) in _CONSTANTS:
        return Literal(_CONSTANTS[str(parts[0])], at=at)
    return Ident(_name(parts[0], at), at=at)


def _name(token: Any, at: int) -> str:
    if _RESERVED.fullmatch(str(token)):
        raise ExpressionError(f"reserved identifier: {token}", at)
    return str(token)


def _marked(parts: list[Any]) -> list[tuple[Any, bool]]:
    """Items or entries: their rule, and whether a question mark is before them."""
    found = []
    for each in (item for part in parts for item in part.children):
        inner = each.children[0]
        optional = isinstance(inner, Tree) and inner.data in ("opt_item", "opt_entry")
        found.append((inner if optional else each, optional))
    return found


def _list(at: int, parts: list[Any]) -> Node:
    items = _marked(parts)
    optional = frozenset(index for index, (_, marked) in enumerate(items) if marked)
    return ListOf([_node(item.children[0]) for item, _ in items], optional, at=at)


def _map(at: int, parts: list[Any]) -> Node:
    pairs = [(entry.children, marked) for entry, marked in _marked(parts)]
    return MapOf([(_node(k), _node(v), marked) for (k, v), marked in pairs], at=at)


def _object(at: int, _: list[Any]) -> NoReturn:
    raise ExpressionError("objects cannot be made in an expression", at)


def _literal(at: int, parts: list[Any]) -> Node:
    token = parts[0]
    match token.type:
        case "INT_LIT" | "FLOAT_LIT":
            return Literal(number(str(token), at), at=at)
        case "UINT_LIT":
            return Literal(uint(str(token)[:-1], at), at=at)
        case "BOOL_LIT" | "NULL_LIT":
            return Literal(_CONSTANTS[str(token)], at=at)
    return Literal(text(str(token), at), at=at)


_MAKERS: dict[str, Any] = {
    "expr": _ternary,
    "conditionalor": _logical("_||_"),
    "conditionaland": _logical("_&&_"),
    "unary": _unary,
    "member_dot": _dot,
    "member_opt": _opt,
    "member_dot_arg": _method,
    "member_index": _index("_[_]"),
    "member_opt_index": _index("_[?_]"),
    "member_object": _object,
    "dot_ident": _ident,
    "dot_ident_arg": _function,
    "ident": _ident,
    "ident_arg": _function,
    "list_lit": _list,
    "map_lit": _map,
    "literal": _literal,
}
