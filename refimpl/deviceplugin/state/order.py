"""In which order what has none is taken: resources of a container, ids of a set.

kubelet iterates over maps, so nothing may depend on it; a seed makes a failure come back.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable

Order = Callable[[Iterable[str]], list[str]]
"""Some names, each once -> the same names in the order in which they are taken."""


def in_order(names: Iterable[str]) -> list[str]:
    """By name."""
    return sorted(names)


def shuffled(seed: int) -> Order:
    """At random, the same for each run with one seed."""
    source = random.Random(seed)

    def shuffle(names: Iterable[str]) -> list[str]:
        taken = sorted(names)
        source.shuffle(taken)
        return taken

    return shuffle


def adversarial(names: Iterable[str]) -> list[str]:
    """Last, first, last but one, second ...: never rising, and neighbours stay apart."""
    left = sorted(names)
    taken: list[str] = []
    while left:
        taken.append(left.pop())
        left.reverse()
    return taken


def order_of(text: str) -> Order:
    """`sorted`, `adversarial` or `shuffled:SEED`; ValueError names these three."""
    name, _, seed = text.partition(":")
    if name == "shuffled" and seed.isdecimal():
        return shuffled(int(seed))
    if text in _NAMED:
        return _NAMED[text]
    raise ValueError(f"there is no order {text!r}; known are sorted, adversarial, shuffled:SEED")


_NAMED: dict[str, Order] = {"sorted": in_order, "adversarial": adversarial}
