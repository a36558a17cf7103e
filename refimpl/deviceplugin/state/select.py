"""Which devices of a resource a container gets (2.7)."""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable, Mapping

import attrs

from refimpl.deviceplugin.state.models import NO_NODE, Device
from refimpl.deviceplugin.state.order import Order


@attrs.frozen
class Question:
    """The plugin may say which it prefers. `size` counts the chosen ones, too, and `available`
    holds them. Answer: ids; unknown, surplus and missing ones do no harm."""

    available: frozenset[str]
    chosen: frozenset[str]
    size: int


@attrs.frozen
class DeviceBuckets:
    """Devices on the nodes of the placement, on others, and on none."""

    aligned: frozenset[str]
    unaligned: frozenset[str] = frozenset()
    unplaced: frozenset[str] = frozenset()


class TooFew(Exception):
    """There are fewer free devices than wanted: `wanted` in all, `missing` not covered by reuse,
    of which `available` are to be had."""

    def __init__(self, wanted: int, missing: int, available: int) -> None:
        super().__init__(f"{wanted} wanted, {missing} to be found, {available} available")
        self.wanted = wanted
        self.missing = missing
        self.available = available


def split(known: Mapping[str, Device], names: Iterable[str], affinity: int | None) -> DeviceBuckets:
    """Sort devices by placement. Without affinity, or if no device of the resource has a node at
    all, nothing is aligned and all are unplaced."""
    if affinity is None or not any(device.nodes for device in known.values()):
        return DeviceBuckets(frozenset(), frozenset(), frozenset(names))
    buckets: dict[str, set[str]] = {"aligned": set(), "unaligned": set(), "unplaced": set()}
    for name in names:
        buckets[_bucket(known.get(name), affinity)].add(name)
    return DeviceBuckets(*map(frozenset, buckets.values()))


def _bucket(device: Device | None, affinity: int) -> str:
    nodes = (device.nodes if device else None) or (NO_NODE,)
    # kubelet walks nodes in the order inside, outside, none, and takes the first that fits.
    if any(node >= 0 and affinity >> node & 1 for node in nodes):
        return "aligned"
    # A plugin that reports node -1 means what kubelet's own marker means.
    return "unplaced" if set(nodes) == {NO_NODE} else "unaligned"


def select(
    count: int,
    known: Mapping[str, Device],
    free: Collection[str],
    reusable: Iterable[str],
    affinity: int | None,
    order: Order,
) -> Generator[Question, Iterable[str], list[str]]:
    """Choose `count` ids, all different. `free`: healthy and not in use. TooFew if there are not
    enough of them, and nobody is asked then."""
    chosen = order(reusable)[:count]
    if len(chosen) == count:
        return chosen
    unused = frozenset(free) - {*chosen}
    if len(unused) < count - len(chosen):
        raise TooFew(count, count - len(chosen), len(unused))
    buckets = split(known, unused, affinity)
    ask_among = buckets.aligned
    if count - len(chosen) >= len(buckets.aligned):
        _fill(chosen, count, buckets.aligned, order)
        ask_among = unused
    if len(chosen) == count:
        return chosen
    answer = yield Question(ask_among | {*chosen}, frozenset(chosen), count)
    for names in (ask_among & {*answer}, buckets.aligned, buckets.unaligned, buckets.unplaced):
        _fill(chosen, count, names, order)
    return chosen


def _fill(chosen: list[str], count: int, names: Iterable[str], order: Order) -> None:
    left = order({*names} - {*chosen})
    chosen += left[: count - len(chosen)]
