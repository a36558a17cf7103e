"""What is wrong with a document: one sentence for each place, and the errors that carry them."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from decimal import Decimal
from typing import TypeGuard

import attrs

__all__ = [
    "ConversionError",
    "Kind",
    "Problem",
    "ShapeError",
    "describe",
    "is_integer",
    "pointer",
    "wanted",
]

_SHOWN = 10


class Kind(enum.StrEnum):
    """The sort of a problem, for a rule that is about some sorts only."""

    TYPE = "type"  # another JSON type than the member has
    MISSING = "missing"  # a member that must be there is not
    NULL = "null"  # null where the member should have been left out
    FOREIGN = "foreign"  # a member that only other versions, or other documents, have
    SPELLING = "spelling"  # a member whose name is right but for upper and lower case
    VERSION = "version"  # cniVersion is not the one that was asked for
    VALUE = "value"  # right type, value outside the allowed ones
    FORMAT = "format"  # text that is no address, no path, no name
    FAMILY = "family"  # IPv4 and IPv6 where both must be the same
    INDEX = "index"  # points to an interface that is not there
    NORMAL = "normal"  # a destination with host bits set
    CODE = "code"  # an error code that must not be used


@attrs.frozen
class Problem:
    """One breach: where (JSON pointer, RFC 6901; "" is the whole document) and a sentence.

    Problems of an environment point to the variable: "/CNI_IFNAME".
    """

    pointer: str
    text: str
    kind: Kind = Kind.VALUE

    def __str__(self) -> str:
        return f"{self.pointer or 'the document'}: {self.text}"


class ShapeError(ValueError):
    """A document, or an environment, that is not what it should be.

    `problems` has every breach found.
    """

    def __init__(self, what: str, problems: Iterable[Problem]) -> None:
        self.what = what
        self.problems = tuple(problems)
        super().__init__(what, self.problems)

    def __str__(self) -> str:
        shown = "; ".join(str(problem) for problem in self.problems[:_SHOWN])
        more = len(self.problems) - _SHOWN
        return f"not {self.what}: {shown}" + (f" (and {more} more)" if more > 0 else "")


class ConversionError(ValueError):
    """A result that cannot be told in the wanted version."""


def is_integer(value: object) -> TypeGuard[int]:
    """A JSON integer: in Python true and false are integers too, here they are not."""
    return isinstance(value, int) and not isinstance(value, bool)


def pointer(parent: str, step: str | int) -> str:
    """The JSON pointer of a member or element below `parent`."""
    return f"{parent}/{str(step).replace('~', '~0').replace('/', '~1')}"


def wanted(what: str, value: object) -> str:
    """The sentence of a problem: what should be there and what is."""
    return f"wanted {what}, got {describe(value)}"


def describe(value: object) -> str:
    """A JSON value in a few words; never long, whatever the size of the value."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            return _integer(value)
        case Decimal() | float():
            return f"the number {str(value)[:40]}"
        case str():
            return f"the string {value[:60]!r}" + ("..." if len(value) > 60 else "")
        case list():
            return f"an array of {len(value)}" if value else "an empty array"
        case dict():
            return "an object" if value else "an empty object"
    return f"a Python {type(value).__name__}, which is no JSON"


def _integer(value: int) -> str:
    # Python refuses to print an integer of more than 4300 digits.
    bits = value.bit_length()
    return f"the integer {value}" if bits <= 128 else f"an integer of {bits} bits"
