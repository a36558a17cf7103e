"""Texts without known secrets, however these are written: plain, escaped, in URLs, base64, hex.

A program that quotes what it was sent rarely quotes it as it was: a request is logged as JSON, a
URL has it percent-encoded, a header in base64, a dump in hex.
"""

from __future__ import annotations

import base64
import functools
import json
import re
import string
from collections.abc import Collection
from typing import Any

from refimpl.wire.secrets import MASK

__all__ = ["SHORTEST", "hidden"]

SHORTEST = 6
"""As many characters as a secret has at least: shorter words would blot out half of a text, and
guard nothing."""


_SHARED = "[A-Za-z0-9+/_-]?"


def hidden(value: Any, secrets: Collection[str]) -> Any:
    """A value of JSON in whose texts each secret is "***", in whatever of the forms it stands; keys
    stay."""
    return _hidden(value, _pattern(frozenset(secrets))) if secrets else value


def _hidden(value: Any, pattern: re.Pattern[str]) -> Any:
    if isinstance(value, str):
        return pattern.sub(MASK, value)
    if isinstance(value, dict):
        return {key: _hidden(each, pattern) for key, each in value.items()}
    return [_hidden(each, pattern) for each in value] if isinstance(value, list) else value


@functools.lru_cache(maxsize=64)
def _pattern(secrets: frozenset[str]) -> re.Pattern[str]:
    # The longest first: of two secrets that begin alike the shorter would leave the other's end.
    longest_first = sorted(secrets, key=lambda secret: (-len(secret), secret))
    return re.compile("|".join(form for secret in longest_first for form in _forms(secret)))


def _forms(secret: str) -> list[str]:
    data = secret.encode(errors="surrogateescape")
    hexadecimal = "[:, -]?".join(f"{byte:02x}" for byte in data)
    return ["".join(map(_character, secret)), f"(?i:{hexadecimal})", *_base64(data)]


def _character(character: str) -> str:
    """As it is, as its bytes in a URL (RFC 3986, 2.1), or as an escape of JSON or of Python; some
    encoders leave alone what others do not, so each character may differ from the next."""
    digits = [f"{byte:02x}" for byte in character.encode(errors="surrogateescape")]
    ways = [
        re.escape(character),
        re.escape(json.dumps(character)[1:-1]),
        *(f"(?i:{mark}{mark.join(digits)})" for mark in ("%", r"\\x")),
    ]
    if character == " ":
        ways.append(r"\+")  # in a query (application/x-www-form-urlencoded)
    if character in string.punctuation:
        ways.append(r"\\" + re.escape(character))  # quotes, and "/" in some encoders of JSON
    if ord(character) < 0x10000:
        ways.append(rf"(?i:\\u{ord(character):04x})")
    return f"(?:{'|'.join(dict.fromkeys(ways))})"


def _base64(data: bytes) -> list[str]:
    """The secret alone, and inside something longer: there it begins at one of three places within
    a group of characters, and shares the first and the last with what stands beside it."""
    patterns = []
    for before in range(3):
        text = base64.b64encode(bytes(before) + data).decode().rstrip("=")
        shared_start = (0, 2, 3)[before]
        whole = 4 * (before + len(data)) // 3
        core = "".join(map(_digit, text[shared_start:whole]))
        start = _SHARED if before else ""
        end = _SHARED if len(text) > whole else ""
        patterns.append(f"{start}{core}{end}={{0,2}}")
    return patterns


def _digit(character: str) -> str:
    # RFC 4648: two alphabets differ in two digits.
    return {"+": "[+-]", "/": r"(?:\\?/|_)"}.get(character, character)
