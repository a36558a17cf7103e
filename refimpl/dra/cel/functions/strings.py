"""Texts: the standard methods, cel-go's strings extension as of version 2, and regular expressions.

Positions are code points. Source: CEL language definition; Kubernetes documentation, "CEL in
Kubernetes", string and regex libraries; RE2 syntax.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import re2  # type: ignore[import-untyped]

from refimpl.dra.cel.errors import EvaluationError
from refimpl.dra.cel.functions.tables import Table
from refimpl.dra.cel.functions.text import formatted, quoted

__all__ = ["STRINGS", "pattern"]

_LOWER = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}
_UPPER = {code: code - 32 for code in range(ord("a"), ord("z") + 1)}
_SPACE = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(
    map(chr, range(0x2000, 0x200B))
)
_QUIET = re2.Options()
_QUIET.log_errors = False


@lru_cache(256)
def pattern(text: str) -> Any:
    """A compiled regular expression. Raises EvaluationError."""
    try:
        return re2.compile(text, _QUIET)
    except re2.error as error:
        raise EvaluationError(f"{text!r} is no regular expression: {error}") from None


def _char_at(text: str, place: int) -> str:
    if 0 <= place <= len(text):
        return text[place : place + 1]
    raise EvaluationError(f"index out of range: {place}")


def _index_of(text: str, part: str, start: int = 0) -> int:
    if not part:
        return start
    if not 0 <= start < max(len(text), 1):
        raise EvaluationError(f"index out of range: {start}")
    return text.find(part, start)


def _last_index_of(text: str, part: str, end: int | None = None) -> int:
    if end is None:
        return text.rfind(part) if part else len(text)
    if not part:
        return end
    if not 0 <= end < max(len(text), 1):
        raise EvaluationError(f"index out of range: {end}")
    return text.rfind(part, 0, end + len(part))


def _substring(text: str, start: int, end: int | None = None) -> str:
    last = len(text) if end is None else end
    if not (0 <= start <= len(text) and 0 <= last <= len(text)):
        raise EvaluationError(f"index out of range: {start if end is None else (start, end)}")
    if start > last:
        raise EvaluationError(f"invalid substring range: start {start}, end {last}")
    return text[start:last]


def _split(text: str, separator: str, most: int = -1) -> list[str]:
    if most in (0, 1):
        return [text] if most else []
    if not separator:
        parts = list(text)
        cut = parts if most < 0 or len(parts) <= most else parts[: most - 1]
        return cut + (["".join(parts[most - 1 :])] if len(cut) < len(parts) else [])
    return text.split(separator, most - 1 if most > 0 else -1)


def _found(text: str, regex: str) -> str:
    match = pattern(regex).search(text)
    return match[0] if match else ""


def _all_found(text: str, regex: str, most: int = -1) -> list[str]:
    found: list[str] = []
    end = -1
    for match in pattern(regex).finditer(text):
        if most >= 0 and len(found) >= most:
            break
        # As Go: an empty match right after another one does not count.
        if match.end() != match.start() or match.start() != end:
            found.append(match[0])
        end = match.end()
    return found


def _matches(text: str, regex: str) -> bool:
    return pattern(regex).search(text) is not None


def _join(items: list[str], separator: str = "") -> str:
    if not all(isinstance(item, str) for item in items):
        raise EvaluationError("no such overload: join of a list with other than strings")
    return separator.join(items)


STRINGS: Table = {
    "string::contains(string) bool": str.__contains__,
    "string::startsWith(string) bool": str.startswith,
    "string::endsWith(string) bool": str.endswith,
    "matches(string, string) bool": _matches,
    "string::matches(string) bool": _matches,
    "string::find(string) string": _found,
    "string::findAll(string) list(string)": _all_found,
    "string::findAll(string, int) list(string)": _all_found,
    "string::charAt(int) string": _char_at,
    "string::indexOf(string) int": _index_of,
    "string::indexOf(string, int) int": _index_of,
    "string::lastIndexOf(string) int": _last_index_of,
    "string::lastIndexOf(string, int) int": _last_index_of,
    "string::lowerAscii() string": lambda text: text.translate(_LOWER),
    "string::upperAscii() string": lambda text: text.translate(_UPPER),
    "string::replace(string, string) string": str.replace,
    "string::replace(string, string, int) string": str.replace,
    "string::split(string) list(string)": _split,
    "string::split(string, int) list(string)": _split,
    "string::substring(int) string": _substring,
    "string::substring(int, int) string": _substring,
    "string::trim() string": lambda text: text.strip(_SPACE),
    "string::format(list(dyn)) string": formatted,
    "strings.quote(string) string": quoted,
    "list(string)::join() string": _join,
    "list(string)::join(string) string": _join,
}
