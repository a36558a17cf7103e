"""Where a request for devices could be placed: hints for the topology manager (2.11)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

import attrs

from refimpl.deviceplugin.state import bitmask
from refimpl.deviceplugin.state.devices import Devices
from refimpl.deviceplugin.state.models import Device
from refimpl.deviceplugin.state.settings import Settings


@attrs.frozen
class Hint:
    """A set of NUMA nodes (None: any), and whether it is as narrow as an idle node would allow."""

    mask: int | None
    preferred: bool

    def __str__(self) -> str:
        return bitmask.text(self.mask) + ("+" if self.preferred else "-")


Hints = Sequence[Hint] | None
"""None: placement does not matter. Empty: the request cannot be placed."""


def resource_hints(
    devices: Devices,
    settings: Settings,
    machine: Sequence[int],
    resource: str,
    request: int,
    *,
    free: Collection[str],
    reusable: Collection[str] = (),
    allocated: Collection[str] = (),
) -> Hints:
    """Hints of one resource. `allocated`: what the asker holds already; hints are made of it again
    then, unless it is of another count than the request."""
    if not devices.placed(resource):
        return None
    if allocated and len(allocated) != request:
        return ()
    if allocated:
        free, reusable = allocated, ()
    if len({*free, *reusable}) < request:
        return ()
    known = devices.of(resource)
    return generate(known, machine, request, free, reusable, bearing=settings.hint_nodes)


def generate(
    known: Mapping[str, Device],
    machine: Sequence[int],
    request: int,
    free: Iterable[str],
    reusable: Iterable[str] = (),
    *,
    bearing: str = "bearing",
) -> tuple[Hint, ...]:
    """Every mask that holds enough, the narrow ones first.

    Preferred is the width at which all known devices, healthy or not, free or not, would do.
    """
    nodes = _nodes(known, machine) if bearing == "bearing" else sorted(machine)
    everything = _places(known.values())
    open_ = _places(map(known.get, free))
    kept = _reusable(known, reusable)
    smallest = len(nodes)
    masks: list[int] = []
    for mask in bitmask.growing(nodes):
        if _touching(everything, mask) >= request:
            smallest = min(smallest, bitmask.width(mask))
        # A mask that misses a device to be used again would waste it.
        if all(place & mask for place in kept) and (
            kept.total() + _touching(open_, mask) >= request
        ):
            masks.append(mask)
    return tuple(Hint(mask, bitmask.width(mask) == smallest) for mask in masks)


def _nodes(known: Mapping[str, Device], machine: Sequence[int]) -> list[int]:
    """Nodes of the machine with at least one device; all of them if there is none."""
    named = {node for device in known.values() for node in device.nodes or ()}
    return sorted(named & {*machine}) or sorted(machine)


def _places(devices: Iterable[Device | None]) -> Counter[int]:
    """How many devices lie on each mask. Counted by nodes first: those are few, devices many."""
    places: Counter[int] = Counter()
    for nodes, number in Counter(device.nodes if device else None for device in devices).items():
        places[bitmask.mask_of(nodes or ())] += number
    return places


def _reusable(known: Mapping[str, Device], names: Iterable[str]) -> Counter[int]:
    """Places of devices to be used again. One without topology does not count; one with a topology
    of no nodes lies in no mask, and so rules out every one (a quirk of kubelet)."""
    devices = (known.get(name) for name in names)
    return _places(device for device in devices if device and device.nodes is not None)


def _touching(places: Counter[int], mask: int) -> int:
    """How many devices lie on the mask; one of several nodes counts for each mask it touches."""
    return sum(number for place, number in places.items() if place & mask)
