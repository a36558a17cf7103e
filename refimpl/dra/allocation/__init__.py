"""Which devices a scheduler gives to claims, and why not others.

`allocate(claims, node, Slices(slices), classes)` is a pure function with the order and results of
kube-scheduler 1.37.2.
"""

from refimpl.dra.allocation.explain import Verdict, explained, told
from refimpl.dra.allocation.model import (
    AllocationError,
    Features,
    Node,
    NoSuchClass,
    Outcome,
    Refusal,
    Taken,
    taken_by,
)
from refimpl.dra.allocation.pools import Slices
from refimpl.dra.allocation.search import allocate

__all__ = [
    "AllocationError",
    "Features",
    "NoSuchClass",
    "Node",
    "Outcome",
    "Refusal",
    "Slices",
    "Taken",
    "Verdict",
    "allocate",
    "explained",
    "taken_by",
    "told",
]
