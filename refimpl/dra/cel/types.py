"""Types of CEL as the checker sees them, and when one fits where another is asked for.

Source: CEL language definition, "Gradual Type Checking"; Kubernetes' own types are opaque or
objects.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import attrs

__all__ = [
    "ANY", "BOOL", "BYTES", "DOUBLE", "DURATION", "DYN", "ERROR", "INT", "NULL", "STRING",
    "TIMESTAMP", "UINT", "Bindings", "Type", "list_of", "map_of", "optional_of", "parse",
    "variable",
]  # fmt: skip


@attrs.frozen(cache_hash=True)
class Type:
    """A type by its name, with the types that it is made of: list(int), map(string, dyn)."""

    name: str
    params: tuple[Type, ...] = ()

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(str, self.params))})" if self.params else self.name

    @property
    def is_variable(self) -> bool:
        """Whether it stands for a type that is still to be found."""
        return self.name[0] == "?"

    @property
    def is_dyn(self) -> bool:
        """Whether nothing is known of it before the evaluation."""
        return self.name in ("dyn", "any")


ANY, DYN, ERROR, NULL = Type("any"), Type("dyn"), Type("error"), Type("null_type")
BOOL, INT, UINT, DOUBLE = Type("bool"), Type("int"), Type("uint"), Type("double")
STRING, BYTES, DURATION, TIMESTAMP = map(Type, ("string", "bytes", "duration", "timestamp"))

# What null may stand for besides itself.
_NULLABLE = ("duration", "timestamp", "optional_type", "any")
_TOKEN = re.compile(r"[\w.@]+|[(),]")


def variable(name: str) -> Type:
    """A type that is still to be found."""
    return Type(f"?{name}")


def list_of(item: Type) -> Type:
    """list(item)"""
    return Type("list", (item,))


def map_of(key: Type, value: Type) -> Type:
    """map(key, value)"""
    return Type("map", (key, value))


def optional_of(value: Type) -> Type:
    """optional_type(value)"""
    return Type("optional_type", (value,))


def parse(text: str) -> Type:
    """The type that is written so; a single capital letter is a variable."""
    tokens = iter(_TOKEN.findall(text))
    return _parsed(next(tokens), tokens)[0]


def _parsed(name: str, tokens: Iterator[str]) -> tuple[Type, str]:
    """A type that begins with `name`, and the token after it."""
    name = f"?{name}" if len(name) == 1 and name.isupper() else name
    after = next(tokens, "")
    if after != "(":
        return Type(name), after
    params = []
    while after != ")":
        param, after = _parsed(next(tokens), tokens)
        params.append(param)
    return Type(name, tuple(params)), next(tokens, "")


class Bindings:
    """What the variables of one expression have been found to be. A failed match binds nothing."""

    def __init__(self) -> None:
        self._bound: dict[Type, Type] = {}
        self._fresh = 0

    def fresh(self) -> Type:
        """A variable that is used nowhere yet."""
        self._fresh += 1
        return variable(f"_{self._fresh}")

    def match(self, given: Sequence[Type], wanted: Sequence[Type]) -> bool:
        """Whether each given type fits the wanted one, and binds what has to be bound for that."""
        before = dict(self._bound)
        fits = len(given) == len(wanted) and all(map(self._fits, given, wanted))
        if not fits:
            self._bound = before
        return fits

    def resolve(self, type: Type, *, final: bool = False) -> Type:
        """The type with all that is known of its variables; final: what nothing is known of is
        dyn."""
        if type in self._bound:
            return self.resolve(self._bound[type], final=final)
        if type.is_variable:
            return DYN if final else type
        if not type.params:
            return type
        return Type(type.name, tuple(self.resolve(each, final=final) for each in type.params))

    def _fits(self, given: Type, wanted: Type) -> bool:
        if wanted.is_variable:
            fits = self._bind(given, wanted)
            if fits is not None:
                return fits
        if given.is_variable:
            return bool(self._bind(wanted, given))
        if given.is_dyn or wanted.is_dyn or ERROR in (given, wanted):
            return True
        for one, other in ((given, wanted), (wanted, given)):
            if one == NULL:
                return other == NULL or other.name in _NULLABLE or "." in other.name
        if given.name == "type" == wanted.name:
            return True
        return (
            given.name == wanted.name
            and len(given.params) == len(wanted.params)
            and all(map(self._fits, given.params, wanted.params))
        )

    def _bind(self, type: Type, var: Type) -> bool | None:
        """Whether the variable may stand for the type; None where it cannot, but is free."""
        if type == var:
            return True
        known = self._bound.get(var)
        if known is None:
            if self._occurs(var, type):
                return None
            self._bound[var] = type
            return True
        if type == known:
            return True
        if not self._fits(type, known):
            return False
        general = type if less_specific(type, known) else known
        if not self._occurs(var, general):
            self._bound[var] = general
        return True

    def _occurs(self, var: Type, within: Type) -> bool:
        if var == within:
            return True
        if within.is_variable:
            return within in self._bound and self._occurs(var, self._bound[within])
        return any(self._occurs(var, each) for each in within.params)


def less_specific(one: Type, other: Type) -> bool:
    """Whether the first type says no more than the second."""
    if one.is_dyn or one.is_variable:
        return True
    if other.is_dyn or other.is_variable or one.name != other.name:
        return False
    if len(one.params) != len(other.params):
        return False
    return one.name == "type" or all(map(less_specific, one.params, other.params))
