"""A revision of a specification: `csi-1.12`, `cni-1.1.0`, `kubernetes-1.30`."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import attrs

from conformance.engine.options import BadOption

__all__ = ["Revision", "numbers", "parse"]


@functools.total_ordering
@attrs.frozen(eq=False)
class Revision:
    """family: whose numbers they are, such as csi. number: such as 1.12."""

    family: str
    number: str

    def __str__(self) -> str:
        return f"{self.family}-{self.number}"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Revision):
            return NotImplemented
        return (self.family, numbers(self.number)) == (other.family, numbers(other.number))

    def __hash__(self) -> int:
        return hash((self.family, numbers(self.number)))

    def __lt__(self, other: Revision) -> bool:
        return numbers(self.number) < numbers(other.number)

    def since(self, number: str) -> bool:
        """Whether it is of that number or newer."""
        return numbers(self.number) >= numbers(number)

    def until(self, number: str) -> bool:
        """Whether it is of that number or older."""
        return numbers(self.number) <= numbers(number)


def numbers(text: str) -> tuple[int, ...]:
    """1.12 as (1, 12); zeros at the end do not count, words do not either."""
    parts = [int(part) for part in text.split(".") if part.isdecimal()]
    while parts and parts[-1] == 0:
        parts.pop()
    return tuple(parts)


def parse(text: str, family: str, known: Sequence[str]) -> Revision | None:
    """What `--revision` names, with its family or without; None for an empty text.

    Raises BadOption for one that is not known.
    """
    number = text.removeprefix(f"{family}-").removeprefix("v")
    if not number:
        return None
    if number not in known:
        choices = ", ".join(f"{family}-{each}" for each in known)
        raise BadOption(f"--revision {text}: there is {choices}")
    return Revision(family, number)
