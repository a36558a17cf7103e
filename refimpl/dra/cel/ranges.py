"""From the least to the most: a size or a cost. What is above 2^64-1 is that."""

from __future__ import annotations

import math

import attrs

__all__ = ["FREE", "ONE", "TOP", "UNKNOWN", "Range", "exactly"]

TOP = (1 << 64) - 1


@attrs.frozen
class Range:
    """Sums, products and unions of ranges are ranges."""

    least: int
    most: int

    def __add__(self, other: Range) -> Range:
        return Range(min(self.least + other.least, TOP), min(self.most + other.most, TOP))

    def __mul__(self, other: Range) -> Range:
        return Range(min(self.least * other.least, TOP), min(self.most * other.most, TOP))

    def __or__(self, other: Range) -> Range:
        return Range(min(self.least, other.least), max(self.most, other.most))

    def times(self, factor: float) -> Range:
        """Each end by a factor, rounded up."""
        return Range(_scaled(self.least, factor), _scaled(self.most, factor))


def _scaled(value: int, factor: float) -> int:
    product = float(value) * factor
    return TOP if product >= 2.0**64 else min(math.ceil(product), TOP)


def exactly(value: int) -> Range:
    """Neither less nor more."""
    return Range(value, value)


FREE, ONE, UNKNOWN = exactly(0), exactly(1), Range(0, TOP)
