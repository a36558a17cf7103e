"""Numbers and texts as they are written in an expression. Source: CEL language definition,
"Syntax"."""

from __future__ import annotations

import re

from refimpl.dra.cel.errors import ExpressionError
from refimpl.dra.cel.values import INT_MAX, INT_MIN, Uint, unsigned

__all__ = ["number", "text", "uint"]

_ESCAPE = re.compile(
    r"\\(?:([abfnrtv\"'`?\\])|([xX][0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})"
    r"|([0-3][0-7]{2})|(.?))",
    re.S,
)
_SIMPLE = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


def number(text: str, at: int) -> int | float:
    """An integer or double. Raises ExpressionError."""
    if "x" not in text and any(char in text for char in ".eE"):
        return float(text)
    value = int(text, 16 if "0x" in text else 10)
    if not INT_MIN <= value <= INT_MAX:
        raise ExpressionError(f"{text} is no integer of 64 bits", at)
    return value


def uint(text: str, at: int) -> Uint:
    """An unsigned integer, without its letter. Raises ExpressionError."""
    value = int(text, 16 if "0x" in text else 10)
    if value >= 1 << 64:
        raise ExpressionError(f"{text}u is no unsigned integer of 64 bits", at)
    return unsigned(value)


def text(token: str, at: int) -> str | bytes:
    """What stands in quotes. Raises ExpressionError."""
    quote = token.index(token[-1])
    marks = token[:quote].lower()
    around = 3 if token[quote : quote + 3] == token[-1] * 3 and len(token) - quote >= 6 else 1
    content = token[quote + around : -around]
    if "r" in marks:
        return content.encode() if "b" in marks else content

    def plain(match: re.Match[str]) -> str:
        simple, hexed, small, large, octal, wrong = match.groups()
        if wrong is not None:
            raise ExpressionError(f"unknown escape in a text: {match[0]!r}", at)
        if simple:
            return _SIMPLE.get(simple, simple)
        code = int(octal, 8) if octal else int((hexed or small or large).lstrip("xX"), 16)
        if code > 0x10FFFF or 0xD800 <= code < 0xE000 or ("b" in marks and (small or large)):
            raise ExpressionError(f"{match[0]!r} is no character", at)
        return chr(code)

    if "b" not in marks:
        return _ESCAPE.sub(plain, content)
    pieces, end = b"", 0
    for match in _ESCAPE.finditer(content):
        pieces += content[end : match.start()].encode() + plain(match).encode("latin-1")
        end = match.end()
    return pieces + content[end:].encode()
