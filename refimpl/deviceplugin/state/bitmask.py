"""Sets of NUMA nodes as integers: bit n = node n, at most 64 nodes (0 to 63)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations

NODES = 64


def mask_of(nodes: Iterable[int]) -> int:
    """The mask of some nodes; a node outside of 0 to 63 fits no mask and is left out."""
    mask = 0
    for node in nodes:
        if 0 <= node < NODES:
            mask |= 1 << node
    return mask


def nodes_of(mask: int) -> tuple[int, ...]:
    """The nodes of a mask, rising."""
    return tuple(node for node in range(mask.bit_length()) if mask >> node & 1)


def width(mask: int) -> int:
    """How many nodes a mask has."""
    return mask.bit_count()


def growing(nodes: Sequence[int]) -> Iterator[int]:
    """Every non-empty mask over the nodes, the narrow ones first."""
    for size in range(1, len(nodes) + 1):
        for chosen in combinations(nodes, size):
            yield mask_of(chosen)


def text(mask: int | None) -> str:
    """As messages show it: {0,2}, or `any` for no mask."""
    return "any" if mask is None else "{" + ",".join(map(str, nodes_of(mask))) + "}"
