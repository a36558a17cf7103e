"""JSON as a Go program turns it around: decoded into maps, encoded again (package encoding/json).

Runtimes on top of libcni send their plugins such documents: numbers have become float64, members
are sorted, `<`, `>` and `&` are escaped. The text here is the same, byte for byte.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from refimpl import documents
from refimpl.documents import json as strict

__all__ = ["Struct", "as_map", "exact", "marshal", "unmarshal"]

_ESCAPES = str.maketrans(
    {mark: f"\\u{ord(mark):04x}" for mark in "<>&\N{LINE SEPARATOR}\N{PARAGRAPH SEPARATOR}"}
)


class Struct(dict[str, Any]):
    """An object that keeps the order of its members, as a Go struct does; a plain dict is a map."""


def unmarshal(data: bytes, *, name: str = "") -> Any:
    """One JSON value as Go decodes it into an interface: numbers are floats.

    Raises documents.DocumentError, and ValueError as `as_map` does.
    """
    return as_map(exact(data, name=name))


def exact(data: bytes, *, name: str = "") -> Any:
    """The value before its numbers become floats: what Go decodes into types of its own.

    Bytes that are no UTF-8 become U+FFFD. Raises documents.DocumentError.
    """
    if data[:3] == b"\xef\xbb\xbf":
        hint = "Go readers refuse a byte order mark: save the file without"
        raise documents.DocumentError(name, 1, 1, "a byte order mark", hint)
    text = data.decode(errors="replace").encode()
    return strict.parse(text, name=name).value


def as_map(value: Any) -> Any:
    """The value after a turn through Go's maps: a copy, numbers float64, structs forgotten.

    Raises ValueError for a number that float64 cannot hold, and for nesting beyond some hundreds.
    """
    try:
        return _as_map(value)
    except RecursionError:
        raise ValueError("nested too deeply to be turned around") from None


def _as_map(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _as_map(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_as_map(item) for item in value]
    if isinstance(value, int | Decimal) and not isinstance(value, bool):
        return _float(value)
    return value


def _float(value: int | Decimal) -> float:
    try:
        number = float(value)
    except OverflowError:
        number = float("inf")
    if number in (float("inf"), float("-inf")):
        raise ValueError(f"number {str(value)[:40]} is beyond float64, which Go decodes it into")
    return number


def marshal(value: Any) -> bytes:
    """The text that Go's Marshal makes of maps, structs, lists, strings and numbers."""
    return "".join(_pieces(value)).encode()


def _pieces(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        items = value.items() if isinstance(value, Struct) else sorted(value.items())
        yield "{"
        for index, (key, item) in enumerate(items):
            yield f"{',' * bool(index)}{_text(key)}:"
            yield from _pieces(item)
        yield "}"
    elif isinstance(value, list | tuple):
        yield "["
        for index, item in enumerate(value):
            yield "," * bool(index)
            yield from _pieces(item)
        yield "]"
    elif isinstance(value, float | Decimal):
        yield _number(float(value))
    elif isinstance(value, str):
        yield _text(value)
    else:
        yield json.dumps(value)


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False).translate(_ESCAPES)


def _number(value: float) -> str:
    """The shortest decimal text of a float64, in the two notations that Go chooses between."""
    exact = Decimal(repr(value))
    if value == 0 or 1e-6 <= abs(value) < 1e21:
        text = f"{exact:f}"
        return text[:-2] if text.endswith(".0") else text
    sign, digits, _ = exact.normalize().as_tuple()
    power = exact.adjusted()
    fraction = "".join(map(str, digits[1:]))
    exponent = f"{'-' if power < 0 else '+'}{abs(power)}"
    return f"{'-' * sign}{digits[0]}{'.' * bool(fraction)}{fraction}e{exponent}"
