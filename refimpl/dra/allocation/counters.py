"""Counters that the partitions of a device share, and which partitions go together.

Source: resource.k8s.io/v1 CounterSet, DeviceCounterConsumption.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from refimpl.dra.allocation.model import Taken
from refimpl.dra.allocation.pools import Pool
from refimpl.dra.quantity import Quantity

__all__ = ["Counters"]


class Counters:
    """What is left of the counters of a pool."""

    def __init__(self, pool: Pool, taken: Taken) -> None:
        self._left: dict[str, dict[str, int]] = {
            each["name"]: {
                name: Quantity.parse(str(counter["value"])).nano
                for name, counter in each["counters"].items()
            }
            for spec in pool.everything
            for each in spec.get("sharedCounters") or ()
        }
        self._groups: dict[str, list[frozenset[str]]] = defaultdict(list)
        busy = taken.devices
        for spec in pool.everything:
            for device in spec.get("devices") or ():
                if (*pool.id, device["name"]) in busy:
                    self.add(device, 1)

    def add(self, device: Mapping[str, Any], sign: int) -> None:
        """Takes what a device consumes, or gives it back."""
        for used in device.get("consumesCounters") or ():
            left = self._left[used["counterSet"]]
            for name, counter in used["counters"].items():
                left[name] -= sign * Quantity.parse(str(counter["value"])).nano
            groups = self._groups[used["counterSet"]]
            own = frozenset(used.get("compatibilityGroups") or ())
            if sign > 0:
                groups.append(own)
            else:
                groups.remove(own)

    def why_short(self, device: Mapping[str, Any]) -> str:
        """Which counter has too little left."""
        for used in device.get("consumesCounters") or ():
            for name, counter in used["counters"].items():
                left = self._left[used["counterSet"]][name]
                wanted = Quantity.parse(str(counter["value"]))
                if wanted.nano > left:
                    shown = Quantity(max(left, 0))
                    counter_name = f"{used['counterSet']}/{name}"
                    return f"{wanted} of counter {counter_name} are more than is left: {shown}"
        return ""

    def why_incompatible(self, device: Mapping[str, Any]) -> str:
        """Which devices on a counter set have no group in common with it."""
        for used in device.get("consumesCounters") or ():
            others = self._groups[used["counterSet"]]
            own = frozenset(used.get("compatibilityGroups") or ())
            if not others:
                continue
            if own and not own.intersection(*others):
                return (
                    f"no group of {', '.join(sorted(own))} is one of all others on the counter set"
                )
            if not own and any(others):
                return "it has no compatibility group, and others on the counter set have"
        return ""
