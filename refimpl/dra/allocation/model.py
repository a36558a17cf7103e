"""What an allocation is asked for and what comes of it, as plain data.

Source: contract of structured allocation, as kube-scheduler 1.37.2 does it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from refimpl.dra.quantity import Quantity

__all__ = [
    "AllocationError", "DeviceId", "Features", "NoSuchClass", "Node", "Outcome", "Refusal", "Taken",
    "taken_by",
]  # fmt: skip

DeviceId = tuple[str, str, str]
"""Driver, pool, device."""


class AllocationError(Exception):
    """The pod cannot be scheduled on any node until somebody changes something."""


class NoSuchClass(AllocationError):
    """A request names a DeviceClass that there is not."""


@attrs.frozen
class Features:
    """What a scheduler can do; the defaults are those of 1.37.2. experimental: one alpha gate is
    on, which brings lists as attributes, derived attributes, compatibility groups and skipped node
    operations. fractional: thousandths of a capacity count."""

    experimental: bool = False
    fractional: bool = False


@attrs.frozen
class Node:
    """labels: of the node. declares: whether it declares that it skips operations of drivers."""

    name: str
    labels: Mapping[str, str] = attrs.field(factory=dict)
    declares: bool = False


@attrs.frozen
class Taken:
    """What other claims have: whole devices, and of shared ones how much of each capacity."""

    whole: frozenset[DeviceId] = frozenset()
    shared: Mapping[DeviceId, Mapping[str, Quantity]] = attrs.field(factory=dict)

    @property
    def devices(self) -> set[DeviceId]:
        """All of them."""
        return {*self.whole, *self.shared}


@attrs.frozen
class Refusal:
    """Why a device was not taken for a request: the first rule that refused it. request: claim and
    request, or subrequest."""

    request: str
    device: DeviceId
    rule: str
    why: str


@attrs.frozen
class Outcome:
    """allocations: of each claim the AllocationResult, as JSON has it; None: it does not fit here.
    refusals: of each request and device that was looked at the first. pools: of those that were
    left out, why. short: of requests that were not satisfied how many devices were found at most,
    and how many they ask for."""

    allocations: list[dict[str, Any]] | None
    refusals: list[Refusal]
    pools: dict[tuple[str, str], str]
    short: dict[str, tuple[int, int]]


def taken_by(allocations: list[Mapping[str, Any]]) -> Taken:
    """What stored AllocationResults take; admin access takes nothing."""
    whole: set[DeviceId] = set()
    shared: dict[DeviceId, dict[str, Quantity]] = {}
    for allocation in allocations:
        for result in (allocation.get("devices") or {}).get("results") or ():
            if result.get("adminAccess"):
                continue
            id = (result["driver"], result["pool"], result["device"])
            if result.get("shareID") is None:
                whole.add(id)
                continue
            used = shared.setdefault(id, {})
            for name, amount in (result.get("consumedCapacity") or {}).items():
                before = used.get(name, Quantity(0))
                used[name] = Quantity(before.nano + Quantity.parse(str(amount)).nano)
    return Taken(frozenset(whole), shared)
