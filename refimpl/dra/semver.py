"""Semantic versions of device attributes. Source: semver.org 2.0.0; CEL library of Kubernetes 1.33
for the lenient form."""

from __future__ import annotations

import re
from functools import total_ordering
from typing import Any, ClassVar

import attrs

__all__ = ["Semver"]

_NUMBER = r"(?:0|[1-9][0-9]*)"
_WORD = r"[0-9A-Za-z-]+"
_PART = rf"(?:{_NUMBER}|[0-9]*[A-Za-z-][0-9A-Za-z-]*)"
_STRICT = re.compile(
    rf"({_NUMBER})\.({_NUMBER})\.({_NUMBER})"
    rf"(?:-({_PART}(?:\.{_PART})*))?(?:\+({_WORD}(?:\.{_WORD})*))?"
)
_LENIENT = re.compile(r"v?([0-9]+)(?:\.([0-9]+)(?:\.([0-9]+)([-+].*)?)?)?", re.S)
_LARGEST = (1 << 64) - 1


@total_ordering
@attrs.frozen(eq=False)
class Semver:
    """A version; what follows a plus sign says nothing of the order, nor whether two are equal."""

    cel_type: ClassVar = "kubernetes.Semver"

    numbers: tuple[int, int, int]
    pre: tuple[str, ...] = ()
    build: str = ""

    @classmethod
    def parse(cls, text: str, *, lenient: bool = False) -> Semver:
        """The version that is written so; lenient: also v1, 1.2 and 01.2.3. Raises ValueError."""
        strict = _normal(text) if lenient else text
        match = _STRICT.fullmatch(strict)
        if match is None:
            raise ValueError(f"{text!r} is no semantic version: major.minor.patch, such as 1.2.3")
        major, minor, patch = (int(match[n]) for n in (1, 2, 3))
        if max(major, minor, patch) > _LARGEST:
            raise ValueError(f"{text!r} has a number above {_LARGEST}")
        pre = tuple(match[4].split(".")) if match[4] else ()
        return cls((major, minor, patch), pre, match[5] or "")

    def __str__(self) -> str:
        pre = f"-{'.'.join(self.pre)}" if self.pre else ""
        return ".".join(map(str, self.numbers)) + pre + (f"+{self.build}" if self.build else "")

    @property
    def _order(self) -> tuple[Any, ...]:
        parts = [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in self.pre]
        return self.numbers, not self.pre, parts

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Semver) and self._order == other._order

    def __lt__(self, other: Semver) -> bool:
        return self._order < other._order

    def __hash__(self) -> int:
        return hash((self.numbers, self.pre))


def _normal(text: str) -> str:
    match = _LENIENT.fullmatch(text)
    if match is None:
        return text
    numbers = ".".join(str(int(match[n] or 0)) for n in (1, 2, 3))
    return numbers + (match[4] or "")
