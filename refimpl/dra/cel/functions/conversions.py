"""Conversions between types. Source: CEL language definition, "Standard Definitions"."""

from __future__ import annotations

import math
import re
from typing import Any

from refimpl.dra.cel.errors import EvaluationError
from refimpl.dra.cel.functions.tables import Table
from refimpl.dra.cel.functions.text import double_text
from refimpl.dra.cel.functions.times import duration, duration_text, timestamp, timestamp_text
from refimpl.dra.cel.types import Type
from refimpl.dra.cel.values import SECOND, Timestamp, Uint, integer, kind, unsigned

__all__ = ["CONVERSIONS"]

_WHOLE = re.compile(r"[+-]?[0-9]+", re.ASCII)
_DOUBLE = re.compile(
    r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[+-]?(?:inf|infinity)|nan", re.I
)
_TRUE, _FALSE = ("1", "t", "T", "TRUE", "true", "True"), ("0", "f", "F", "FALSE", "false", "False")


def _bool(text: str) -> bool:
    if text in _TRUE or text in _FALSE:
        return text in _TRUE
    raise EvaluationError(f"{text!r} is no bool")


def _int(text: str) -> int:
    if not _WHOLE.fullmatch(text):
        raise EvaluationError(f"{text!r} is no integer")
    return integer(int(text))


def _uint(text: str) -> Uint:
    if not text.isascii() or not text.isdigit():
        raise EvaluationError(f"{text!r} is no unsigned integer")
    return unsigned(int(text))


def _double(text: str) -> float:
    if not _DOUBLE.fullmatch(text):
        raise EvaluationError(f"{text!r} is no number")
    return float(text)


def _cut(value: float) -> int:
    if not math.isfinite(value):
        raise EvaluationError("integer overflow")
    return int(value)


def _cut_int(value: float) -> int:
    # cel-go refuses the limits themselves, too: as doubles they are not exact.
    if not -(2.0**63) < value < 2.0**63:
        raise EvaluationError("integer overflow")
    return int(value)


def _text(content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise EvaluationError("the bytes are no UTF-8 text") from None


def _type(value: Any) -> Type:
    return Type(kind(value))


CONVERSIONS: Table = {
    "type(A) type(A)": _type,
    "dyn(A) dyn": lambda value: value,
    "bool(bool) bool": bool,
    "bool(string) bool": _bool,
    "bytes(bytes) bytes": bytes,
    "bytes(string) bytes": str.encode,
    "double(double) double": float,
    "double(int) double": float,
    "double(string) double": _double,
    "double(uint) double": float,
    "duration(duration) duration": lambda value: value,
    "duration(string) duration": duration,
    "int(int) int": int,
    "int(double) int": _cut_int,
    "int(duration) int": lambda value: value.ns,
    "int(string) int": _int,
    "int(timestamp) int": lambda value: value.ns // SECOND,
    "int(uint) int": lambda value: integer(int(value)),
    "string(string) string": str,
    "string(bool) string": lambda value: "true" if value else "false",
    "string(bytes) string": _text,
    "string(double) string": double_text,
    "string(duration) string": duration_text,
    "string(int) string": str,
    "string(timestamp) string": timestamp_text,
    "string(uint) string": lambda value: str(int(value)),
    "timestamp(timestamp) timestamp": lambda value: value,
    "timestamp(int) timestamp": lambda value: Timestamp(value * SECOND),
    "timestamp(string) timestamp": timestamp,
    "uint(uint) uint": lambda value: value,
    "uint(double) uint": lambda value: unsigned(_cut(value)),
    "uint(int) uint": unsigned,
    "uint(string) uint": _uint,
}
