"""How functions are declared: a signature as text, and what computes it.

`string::charAt(int) string` is a method, `size(string) int` a function; single capital letters are
types to be found.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import attrs

from refimpl.dra.cel.types import Type, parse

__all__ = ["Functions", "Overload", "Table", "functions"]

Table = Mapping[str, Callable[..., Any]]
Functions = Mapping[str, tuple["Overload", ...]]

_SIGNATURE = re.compile(r"(?:(?P<target>.+?)::)?(?P<name>\S+?)\((?P<args>.*)\) (?P<result>\S.*)")


@attrs.frozen(eq=False)
class Overload:
    """One way to call a function. args: with the target of a method first."""

    function: str
    args: tuple[Type, ...]
    result: Type
    method: bool
    compute: Callable[..., Any]

    @property
    def variables(self) -> set[Type]:
        """The types that are found anew in each call."""

        def of(type: Type) -> Iterable[Type]:
            yield from (type,) if type.is_variable else ()
            for each in type.params:
                yield from of(each)

        return {each for type in (*self.args, self.result) for each in of(type)}


def functions(*tables: Table) -> dict[str, tuple[Overload, ...]]:
    """All overloads by the function's name, in the order of the tables."""
    found: dict[str, tuple[Overload, ...]] = {}
    for table in tables:
        for signature, compute in table.items():
            overload = _overload(signature, compute)
            found[overload.function] = (*found.get(overload.function, ()), overload)
    return found


def _overload(signature: str, compute: Callable[..., Any]) -> Overload:
    match = _SIGNATURE.fullmatch(signature)
    if match is None:
        raise ValueError(f"{signature!r} is no signature: target::name(types) type")
    words = [match["target"]] if match["target"] else []
    words += _split(match["args"])
    args = tuple(map(parse, words))
    return Overload(match["name"], args, parse(match["result"]), bool(match["target"]), compute)


def _split(text: str) -> list[str]:
    """Types between commas that are in no brackets."""
    parts, depth = [""], 0
    for char in text:
        depth += (char == "(") - (char == ")")
        if char == "," and not depth:
            parts.append("")
        else:
            parts[-1] += char
    return [part.strip() for part in parts if part.strip()]
