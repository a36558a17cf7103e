"""Numbers of a JSON text, kept exactly, and which of them other readers change."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation

# Largest magnitude up to which every integer has a float64 of its own.
EXACT = 2**53
# Python refuses to turn longer texts into an int; a Decimal takes any length.
LONGEST_INT = 4000


class Unrepresentable(ValueError):
    """A number outside of what a decimal can hold."""


def number(text: str) -> int | Decimal:
    """The exact value of a JSON number: an int where it is written as one, else a Decimal.

    Integers of more than 4000 digits come as a Decimal. Raises Unrepresentable.
    """
    if text.lstrip("-").isdigit() and len(text) <= LONGEST_INT:
        return int(text)
    try:
        return Decimal(text)
    except InvalidOperation:
        raise Unrepresentable(f"the number {shown(text)} is out of range") from None


def oddity(text: str, value: int | Decimal) -> str:
    """Why a reader with float64 numbers may see another value or spelling; "" when it cannot."""
    if isinstance(value, int):
        if abs(value) <= EXACT:
            return ""
        return f"integer {shown(text)} is beyond 2^53: readers with float64 numbers change it"
    as_float = float(text)
    if as_float in (float("inf"), float("-inf")):
        return f"number {shown(text)} is beyond float64: most readers refuse the document"
    if Decimal(repr(as_float)) != value:
        return f"number {shown(text)} has more digits than float64 keeps: most readers round it"
    if as_float.is_integer():
        return f"{shown(text)} is an integer written as a float: readers of integers refuse it"
    return ""


def shown(text: str) -> str:
    """The text of a number, shortened where it is long."""
    return text if len(text) <= 40 else f"{text[:20]}... ({len(text)} characters)"
