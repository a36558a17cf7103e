"""Placement against a second computation that shares nothing with the first but the rules.

Sets instead of masks, every combination walked, and the best picked by going through the widths in
the order in which they are wanted.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import chain, combinations, product
from typing import Any

import attrs
import pytest

from refimpl.deviceplugin.state import bitmask
from refimpl.deviceplugin.state.hints import Hint, generate
from refimpl.deviceplugin.state.merge import JUDGED, TopologyPolicy
from refimpl.deviceplugin.state.models import Device

Place = frozenset[int]
Wish = tuple[Place | None, bool]
LAYOUTS = 1000


@attrs.define
class Layout:
    """A machine, the devices of a few resources, and what is asked of each."""

    nodes: list[int]
    distances: dict[int, list[int]]
    resources: list[tuple[dict[str, Device], set[str], set[str], int]]


def _layout(source: random.Random) -> Layout:
    nodes = sorted(source.sample(range(6), source.randint(1, 4)))
    distances = {node: [source.choice((10, 11, 20, 21, 30)) for _ in range(6)] for node in nodes}
    resources = [_resource(source, nodes) for _ in range(source.randint(1, 3))]
    return Layout(nodes, distances, resources)


def _resource(
    source: random.Random, nodes: list[int]
) -> tuple[dict[str, Device], set[str], set[str], int]:
    places = [*nodes, *nodes, source.choice((7, 63, 64, -1))]
    devices = {}
    for number in range(source.randint(1, 8)):
        count = source.choice((0, 1, 1, 1, 1, 2))
        chosen = tuple(source.sample(sorted({*places}), min(count, len({*places}))))
        # Kubelet tells "no topology" from "topology without nodes" for devices in reuse.
        devices[f"d{number}"] = Device(f"d{number}", nodes=chosen or source.choice((None, ())))
    free = {name for name in devices if source.random() < 0.7}
    reusable = {name for name in devices if name not in free and source.random() < 0.3}
    return devices, free, reusable, source.randint(1, len(devices))


def _subsets(nodes: Iterable[int]) -> Iterator[Place]:
    pool = [*nodes]
    sizes = range(len(pool), 0, -1)
    return map(frozenset, chain.from_iterable(combinations(pool, size) for size in sizes))


def _expected_hints(layout: Layout, index: int, bearing: bool) -> set[tuple[Place, bool]]:
    devices, free, reusable, request = layout.resources[index]
    touched = {
        node for node in layout.nodes for device in devices.values() if node in (device.nodes or ())
    }
    nodes = touched if bearing and touched else {*layout.nodes}

    def inside(place: Place, names: Iterable[str]) -> list[str]:
        return [name for name in names if place.intersection(devices[name].nodes or ())]

    enough = [len(place) for place in _subsets(nodes) if len(inside(place, devices)) >= request]
    best = min(enough, default=len(nodes))
    placed = {name for name in reusable if devices[name].nodes is not None}
    return {
        (place, len(place) == best)
        for place in _subsets(nodes)
        if len(inside(place, placed)) == len(placed)
        and len(placed) + len(inside(place, free)) >= request
    }


def _expected_merge(layout: Layout, lists: list[list[Wish]], policy: str, closest: bool) -> Wish:
    everything = frozenset(layout.nodes)
    if policy == "single-numa-node":
        closest = False
        lists = [
            [w for w in wishes if w[1] and (w[0] is None or len(w[0]) == 1)] for wishes in lists
        ]
    outcomes: set[tuple[Place, bool]] = set()
    for choice in product(*lists):
        places = [place for place, _ in choice if place is not None]
        common = everything.intersection(*places)
        if common:
            outcomes.add((common, all(good for _, good in choice) and len({*places}) <= 1))
    place, good = _best(layout, outcomes, lists, closest)
    if policy == "single-numa-node" and place == everything:
        return None, good
    return place, good


def _best(
    layout: Layout, outcomes: set[tuple[Place, bool]], lists: list[list[Wish]], closest: bool
) -> tuple[Place, bool]:
    widest = len(layout.nodes)
    needs = [min((len(p) for p, _ in wishes if p is not None), default=0) for wishes in lists]
    target = max(needs, default=0)
    order = [(True, size) for size in range(1, widest + 1)]
    order += [(False, size) for size in range(target, 0, -1)]
    order += [(False, size) for size in range(target + 1, widest + 1)]
    for good, size in order:
        candidates = [p for p, preferred in outcomes if (preferred, len(p)) == (good, size)]
        if closest and candidates:
            near = min(_mean(layout, place) for place in candidates)
            candidates = [place for place in candidates if _mean(layout, place) == near]
        if candidates:
            return min(candidates, key=lambda place: sum(2**node for node in place)), good
    return frozenset(layout.nodes), False


def _mean(layout: Layout, place: Place) -> Fraction:
    pairs = [layout.distances[a][b] for a, b in product(place, repeat=2)]
    return Fraction(sum(pairs), len(pairs))


def _plain(hint: Hint) -> Wish:
    place = None if hint.mask is None else frozenset(bitmask.nodes_of(hint.mask))
    return place, hint.preferred


def _providers(layout: Layout, bearing: str, source: random.Random) -> list[dict[str, Any]]:
    """Hints of the resources, and now and then a provider that does not care or cannot."""
    providers: list[dict[str, Any]] = [
        {f"r{i}": generate(known, layout.nodes, request, free, reusable, bearing=bearing)}
        for i, (known, free, reusable, request) in enumerate(layout.resources)
    ]
    return [*providers, *source.choice(([], [{}], [{"x": None}], [{"y": ()}]))]


@pytest.mark.parametrize("bearing", ["bearing", "machine"])
def test_hints_agree_with_a_walk_over_all_subsets(bearing: str) -> None:
    """1,000 machines at random, of up to four nodes that need not be numbered without gaps."""
    for seed in range(LAYOUTS):
        layout = _layout(random.Random(seed))
        for index, (known, free, reusable, request) in enumerate(layout.resources):
            hints = generate(known, layout.nodes, request, free, reusable, bearing=bearing)
            assert len({*hints}) == len(hints)
            expected = _expected_hints(layout, index, bearing == "bearing")
            assert {_plain(hint) for hint in hints} == expected, f"seed {seed}"


@pytest.mark.parametrize("closest", [False, True])
def test_merging_agrees_with_a_walk_over_all_combinations(closest: bool) -> None:
    """The same machines, all policies."""
    for seed in range(LAYOUTS):
        source = random.Random(seed)
        layout = _layout(source)
        providers = _providers(layout, source.choice(("bearing", "machine")), source)
        lists = [[_plain(hint) for hint in hints] for hints in _lists(providers)]
        for name in JUDGED:
            policy = TopologyPolicy(name, tuple(layout.nodes), layout.distances, closest)
            merged = policy.merge(providers)
            expected = _expected_merge(layout, lists, name, closest)
            assert _plain(merged.hint) == expected, f"seed {seed}, {name}"
            assert merged.admitted == (expected[1] or name == "best-effort")


def _lists(providers: list[dict[str, Any]]) -> Iterator[list[Hint]]:
    for provider in providers:
        if not provider:
            yield [Hint(None, True)]
        for hints in provider.values():
            yield [Hint(None, True)] if hints is None else [*hints] or [Hint(None, False)]
