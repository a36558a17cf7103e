"""JSON that keeps every number as it was written, without the start-up cost of `json`.

The scanner is the interpreter's own; importing the package around it would cost a third of the
time of a whole call.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Scanner = Callable[[str, int], tuple[Any, int]]

__all__ = ["Number", "dumps", "loads", "parse_object"]

DEPTH = 500
"""How deep a document may nest: more is refused, so that no recursion limit is ever met."""

_SPACE = " \t\n\r"


class Number:
    """A number that is no plain integer (1.0, 1e400, five thousand digits), kept as its text."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    def __float__(self) -> float:
        return float(self.text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Number) and other.text == self.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __repr__(self) -> str:
        return self.text


class _Settings:
    """What the interpreter's scanner wants to be told."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = Number
    parse_int: Callable[[str], Any] = int

    def __init__(self) -> None:
        self.memo: dict[str, str] = {}

    @staticmethod
    def parse_constant(name: str) -> Any:
        raise ValueError(f"{name} is no JSON number")


class _LongSettings(_Settings):
    """For documents with integers too long for int(): those stay text."""

    @staticmethod
    def parse_int(text: str) -> Any:
        return int(text) if len(text) < 4000 else Number(text)


def loads(data: bytes) -> Any:
    """The one JSON value in `data` (UTF-8); integers are exact ints, other numbers `Number`, the
    last of two members of one name counts. Raises ValueError with what is wrong."""
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"byte {error.start} is not UTF-8") from None
    if text.startswith("\ufeff"):
        raise ValueError("it begins with a byte order mark, which JSON does not have")
    text = text.strip(_SPACE)
    if not text:
        raise ValueError("it is empty")
    try:
        value, end = _scan(text)
    except SystemError:
        # Older scanners raise an error of this module, which has to be loaded by then.
        import json.decoder  # noqa: F401

        return loads(data)
    except RecursionError:
        raise ValueError(f"it nests deeper than {DEPTH} levels") from None
    except StopIteration as stopped:
        raise ValueError(f"no value at character {stopped.value}") from None
    if end != len(text):
        raise ValueError(f"more follows after the value, at character {end}")
    if text.count("[") + text.count("{") > DEPTH and _deep(value):
        raise ValueError(f"it nests deeper than {DEPTH} levels")
    return value


def _scan(text: str) -> tuple[Any, int]:
    try:
        return _scanner(_Settings())(text, 0)
    except ValueError as error:
        if "digits" not in str(error):  # int() refuses more than 4300 of them
            raise
    return _scanner(_LongSettings())(text, 0)


def _scanner(settings: _Settings) -> Scanner:
    try:
        from _json import make_scanner
    except ImportError:  # an interpreter without the accelerator
        from json.scanner import make_scanner
    scanner: Scanner = make_scanner(settings)  # type: ignore[arg-type]
    return scanner


def _deep(value: object) -> bool:
    level = [value]
    for _ in range(DEPTH):
        level = [inner for outer in level for inner in _inside(outer)]
        if not level:
            return False
    return True


def _inside(value: object) -> list[object]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def parse_object(data: bytes) -> dict[str, Any]:
    """As `loads`, for a document that has to be an object. Raises ValueError."""
    value = loads(data)
    if not isinstance(value, dict):
        raise ValueError(f"it is no object but {_kind(value)}")
    return value


def _kind(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, list):
        return "an array"
    return "a string" if isinstance(value, str) else "a number"


def dumps(value: object) -> bytes:
    """Compact JSON in UTF-8, numbers as they came in. Half a surrogate pair is escaped."""
    try:
        from _json import encode_basestring, encode_basestring_ascii
    except ImportError:
        from json.encoder import encode_basestring, encode_basestring_ascii
    parts: list[str] = []
    _write(value, parts, encode_basestring)
    try:
        return "".join(parts).encode()
    except UnicodeEncodeError:
        parts.clear()
        _write(value, parts, encode_basestring_ascii)
        return "".join(parts).encode()


def _write(value: object, parts: list[str], quote: Callable[[str], str]) -> None:
    if isinstance(value, str):
        parts.append(quote(value))
    elif value is None or isinstance(value, bool):
        parts.append({None: "null", True: "true", False: "false"}[value])
    elif isinstance(value, dict):
        mark = "{"
        for key, item in value.items():
            parts.append(f"{mark}{quote(key)}:")
            _write(item, parts, quote)
            mark = ","
        parts.append("}" if value else "{}")
    elif isinstance(value, list | tuple):
        mark = "["
        for item in value:
            parts.append(mark)
            _write(item, parts, quote)
            mark = ","
        parts.append("]" if value else "[]")
    else:
        parts.append(value.text if isinstance(value, Number) else repr(value))
