"""Values as text: format(), string(), strings.quote().

Source: cel-go strings extension version 2; numbers are written as its message printer does in
English.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from refimpl.dra.cel.errors import EvaluationError
from refimpl.dra.cel.functions.times import duration_text, timestamp_text
from refimpl.dra.cel.values import kind

__all__ = ["CLAUSE", "KINDS", "double_text", "formatted", "quoted"]

CLAUSE = re.compile(r"%(?:(%)|(?:\.([0-9]+))?(.))", re.S)
KINDS = {
    "s": frozenset(
        {"string", "bool", "int", "uint", "double", "bytes", "null_type", "duration", "timestamp"}
        | {"type", "list", "map"}
    ),
    "d": frozenset({"int", "uint"}),
    "o": frozenset({"int", "uint"}),
    "f": frozenset({"double"}),
    "e": frozenset({"double"}),
    "x": frozenset({"int", "uint", "string", "bytes"}),
    "X": frozenset({"int", "uint", "string", "bytes"}),
    "b": frozenset({"int", "uint", "bool"}),
}
"""What each clause of format() is for."""
_ESCAPES = {
    "\a": r"\a", "\b": r"\b", "\f": r"\f", "\n": r"\n", "\r": r"\r", "\t": r"\t", "\v": r"\v",
    "\\": r"\\", '"': r"\"",
}  # fmt: skip
_PRECISION = 6
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def quoted(text: str) -> str:
    """The text in quotes, with escapes."""
    return '"' + "".join(_ESCAPES.get(char, char) for char in text) + '"'


def double_text(value: float) -> str:
    """The shortest that reads back, as Go's %g: with an exponent below 1e-4 and from 1e6 on."""
    if not math.isfinite(value):
        return "NaN" if value != value else "+Inf" if value > 0 else "-Inf"
    if not value:
        return "-0" if math.copysign(1.0, value) < 0 else "0"
    shortest = Decimal(repr(value)).normalize()
    power = shortest.adjusted()
    if -4 <= power < 6:
        return f"{shortest:f}"
    digits = "".join(map(str, shortest.as_tuple().digits))
    mantissa = digits[0] + (f".{digits[1:]}" if digits[1:] else "")
    return f"{'-' if value < 0 else ''}{mantissa}e{power:+03d}"


def formatted(text: str, values: list[Any]) -> str:
    """string.format: %s %d %f %e %b %x %X %o. Raises EvaluationError."""
    left = list(values)

    def filled(match: re.Match[str]) -> str:
        percent, precision, letter = match.groups()
        if percent:
            return "%"
        if not left:
            raise EvaluationError(f"index {len(values)} out of range: {text!r} has more clauses")
        if letter not in KINDS:
            raise EvaluationError(f"could not parse formatting clause: unrecognized %{letter}")
        value = left.pop(0)
        if kind(value) not in KINDS[letter]:
            raise _wrong(letter, value)
        return _CLAUSES[letter](value, int(precision or _PRECISION))

    done = CLAUSE.sub(filled, text)
    if text.replace("%%", "").endswith("%"):
        raise EvaluationError("could not parse formatting clause: unexpected end of string")
    return done


def _wrong(letter: str, value: Any) -> EvaluationError:
    return EvaluationError(f"error during formatting: %{letter} is not for {kind(value)}")


def _string(value: Any, _: int = 0) -> str:
    write = _WORDS.get(kind(value))
    if write is None:
        raise _wrong("s", value)
    return write(value)


def _inside(value: Any) -> str:
    """A value in a list or map."""
    match kind(value):
        case "string":
            return quoted(value)
        case "bytes":
            return f'b"{value.decode(errors="replace")}"'
        case "double":
            return f"{value:.6f}" if math.isfinite(value) else f'"{double_text(value)}"'
        case "duration" | "timestamp" as name:
            return f'{name}("{_string(value)}")'
    return _string(value)


def _list(items: list[Any]) -> str:
    return f"[{', '.join(map(_inside, items))}]"


def _map(entries: dict[Any, Any]) -> str:
    for key in entries:
        if kind(key) not in ("string", "int", "uint", "bool"):
            raise _wrong("s", key)
    return "{" + ", ".join(sorted(f"{_string(k)}:{_inside(v)}" for k, v in entries.items())) + "}"


_WORDS: dict[str, Callable[[Any], str]] = {
    "string": str,
    "bool": lambda value: "true" if value else "false",
    "int": lambda value: str(int(value)),
    "uint": lambda value: str(int(value)),
    "double": double_text,
    "bytes": lambda value: value.decode(errors="replace"),
    "null_type": lambda _: "null",
    "duration": duration_text,
    "timestamp": timestamp_text,
    "type": lambda value: value.name,
    "list": _list,
    "map": _map,
}


def _fraction(value: float, precision: int) -> str:
    return f"{value:,.{precision}f}" if math.isfinite(value) else _infinite(value)


def _scientific(value: float, _: int) -> str:
    """Whatever precision is asked for, there are six decimals; what is no number is as long as the
    shortest."""
    if not math.isfinite(value):
        return _infinite(value).rjust(6)
    mantissa, power = f"{value:.6e}".split("e")
    return f"{mantissa}×10{power.removeprefix('+').translate(_RAISED)}"


def _infinite(value: float) -> str:
    return "NaN" if value != value else "∞" if value > 0 else "-∞"


def _integer(letter: str) -> Callable[[Any, int], str]:
    return lambda value, _: format(int(value), letter)


def _hex(letter: str) -> Callable[[Any, int], str]:
    def clause(value: Any, _: int) -> str:
        if kind(value) in ("int", "uint"):
            return format(int(value), letter)
        content: str = (value if isinstance(value, bytes) else value.encode()).hex()
        return content.upper() if letter == "X" else content

    return clause


_CLAUSES: dict[str, Callable[[Any, int], str]] = {
    "s": _string,
    "d": _integer("d"),
    "o": _integer("o"),
    "f": _fraction,
    "e": _scientific,
    "x": _hex("x"),
    "X": _hex("X"),
    "b": _integer("b"),
}
