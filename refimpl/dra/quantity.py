"""Quantities of Kubernetes: exact numbers with a suffix, such as 80Gi, 1500m or 2e3.

Source: Kubernetes API conventions, "Quantity"; apimachinery resource.Quantity: more than nine
decimals are rounded up, away from zero; what is larger than 2^63-1 becomes that.
"""

from __future__ import annotations

import re
from decimal import ROUND_UP, Decimal
from functools import lru_cache
from typing import ClassVar

import attrs

__all__ = ["Quantity"]

NANO = 1_000_000_000
_LARGEST = (1 << 63) - 1

_TEXT = re.compile(
    # No digits at all are a zero.
    r"(?P<sign>[+-]?)(?P<whole>[0-9]*)(?:\.(?P<part>[0-9]*))?"
    r"(?:(?P<suffix>[numkMGTPE]|[KMGTPE]i)|[eE](?P<exponent>[+-]?[0-9]+))?"
)
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {
    suffix: 1024**power for power, suffix in enumerate(("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"), 1)
}


@attrs.frozen(order=True)
class Quantity:
    """An amount; `nano` counts billionths of its unit. Two are equal whose amounts are."""

    cel_type: ClassVar = "kubernetes.Quantity"

    nano: int
    computed: bool = attrs.field(default=False, eq=False, order=False)
    """Whether an expression made it with add() or sub(): Kubernetes 1.37 cannot say whether
    anything is equal to such a one."""

    @classmethod
    def parse(cls, text: str) -> Quantity:
        """The quantity that is written so. Raises ValueError."""
        return cls(_nano(text))

    def __str__(self) -> str:
        whole, part = divmod(abs(self.nano), NANO)
        sign = "-" if self.nano < 0 else ""
        return f"{sign}{whole}" + (f".{part:09d}".rstrip("0") if part else "")

    @property
    def sign(self) -> int:
        """-1, 0 or 1."""
        return (self.nano > 0) - (self.nano < 0)

    @property
    def whole(self) -> int | None:
        """The amount as an int of 64 bits; None where it is none."""
        amount, part = divmod(self.nano, NANO)
        return amount if not part and -_LARGEST - 1 <= amount <= _LARGEST else None


@lru_cache(4096)
def _nano(text: str) -> int:
    """Cached, as the same few texts stand in devices without number."""
    match = _TEXT.fullmatch(text)
    if not text or match is None:
        raise ValueError(
            f"{text!r} is no quantity: a number and one of n u m k M G T P E,"
            " Ki Mi Gi Ti Pi Ei, or an exponent such as e3"
        )
    number = Decimal(f"{match['sign']}{match['whole'] or 0}.{match['part'] or 0}")
    suffix = match["suffix"] or ""
    if suffix in _BINARY:
        amount = number * _BINARY[suffix]
    else:
        power = int(match["exponent"] or _DECIMAL[suffix])
        amount = number.scaleb(max(min(power, 400), -400))
    return _rounded(amount)


def _rounded(amount: Decimal) -> int:
    if abs(amount) > _LARGEST:
        return (_LARGEST if amount > 0 else -_LARGEST) * NANO
    nano = amount.scaleb(9)
    return int(nano.to_integral_value(rounding=ROUND_UP))
