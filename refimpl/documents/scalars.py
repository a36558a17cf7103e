"""What the plain scalars of YAML mean: the core schema of YAML 1.2, where 1.1 differs noted."""

from __future__ import annotations

import re
from decimal import Decimal

from refimpl.documents.numbers import number, oddity, shown

Scalar = str | int | Decimal | bool | None

CONSTANTS: dict[str, bool | None] = {
    "": None,
    "~": None,
    **dict.fromkeys(("null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
# Booleans of YAML 1.1, strings of YAML 1.2; readers are divided.
_WORDS = ("yes", "no", "on", "off")
DIVIDED = {spell(word) for word in _WORDS for spell in (str, str.title, str.upper)}
DECIMAL = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|(?:0|[1-9][0-9]*)(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
# Digits of an octal or hexadecimal number: far more than 64 bits need.
LONGEST = 100
RADIX = (
    (re.compile(r"0o([0-7]+)"), 8),
    (re.compile(r"0([0-7]+)"), 8),
    (re.compile(r"0x([0-9a-fA-F]+)"), 16),
)


def resolve(text: str) -> tuple[Scalar, str]:
    """(value of a plain scalar, what is odd about it or ""). Dates and sexagesimals are strings,
    a leading zero means octal. Raises ValueError for numbers that no JSON has, or too large ones.
    """
    if text in CONSTANTS:
        return CONSTANTS[text], ""
    if text in DIVIDED:
        return text, f"{text} is a string here, but a boolean for readers of YAML 1.1: quote it"
    if NOT_FINITE.fullmatch(text):
        raise ValueError(f"{text} is not a number that JSON has")
    if DECIMAL.fullmatch(text) or FLOAT.fullmatch(text):
        plain = text.removeprefix("+")
        value = number(plain)
        return value, oddity(plain, value)
    return _radix(text)


def _radix(text: str) -> tuple[Scalar, str]:
    for pattern, base in RADIX:
        match = pattern.fullmatch(text)
        if match and len(match[1]) > LONGEST:
            raise ValueError(f"the number {shown(text)} is out of range")
        if match:
            value = int(match[1], base)
            odd = base == 8 and not text.startswith("0o")
            return value, f"{text} is read as octal, {value}; YAML 1.2 says decimal" * odd
    return text, ""
