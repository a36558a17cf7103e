"""Pools of devices as one node sees them.

Slices are indexed by node once, so that a pass over all nodes looks at each slice of one node once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from refimpl.dra.allocation.model import DeviceId, Features, Node
from refimpl.dra.allocation.nodes import selects
from refimpl.dra.cel import Device

__all__ = ["Candidate", "Pool", "PoolId", "Slices"]

PoolId = tuple[str, str]
Slice = Mapping[str, Any]


@attrs.frozen(eq=False)
class Candidate:
    """A device that a node can have. spec: of its slice."""

    id: DeviceId
    device: Mapping[str, Any]
    spec: Mapping[str, Any]

    @property
    def shared(self) -> bool:
        """Whether several claims may have it at a time."""
        return bool(self.device.get("allowMultipleAllocations"))

    def seen(self) -> Device:
        """The device as expressions see it. Raises ValueError."""
        return Device.of(self.id[0], self.device)


@attrs.frozen(eq=False)
class Pool:
    """candidates: of the slices for the node, in order. everything: all slices of its generation,
    also for other nodes. problem: why it is left out, "" for none; invalid: for good."""

    id: PoolId
    candidates: list[Candidate]
    everything: list[Mapping[str, Any]]
    problem: str = ""
    invalid: bool = False

    @property
    def binds(self) -> bool:
        """Whether a device waits for conditions."""
        return any(each.device.get("bindingConditions") for each in self.candidates)


class Slices:
    """All ResourceSlices, with DeviceTaintRules applied."""

    def __init__(self, slices: Iterable[Slice], rules: Iterable[Mapping[str, Any]] = ()) -> None:
        chosen = [rule["spec"] for rule in rules]
        self._specs = [
            (str((each.get("metadata") or {}).get("name", "")), _tainted(each["spec"], chosen))
            for each in slices
        ]
        self._specs.sort(key=lambda each: each[0])
        self._of_node: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
        self._for_many: list[Mapping[str, Any]] = []
        self._of_pool: dict[PoolId, list[Mapping[str, Any]]] = defaultdict(list)
        for _, spec in self._specs:
            self._of_pool[_pool(spec)].append(spec)
            if spec.get("nodeName"):
                self._of_node[spec["nodeName"]].append(spec)
            else:
                self._for_many.append(spec)

    def pools(self, node: Node, features: Features) -> list[Pool]:
        """Those with a slice for the node, in the order in which their devices are taken."""
        found: dict[PoolId, list[Mapping[str, Any]]] = defaultdict(list)
        for spec in (*self._of_node[node.name], *self._for_many):
            if _is_for(spec, node) and (features.experimental or not _has_groups(spec)):
                found[_pool(spec)].append(spec)
        pools = [self._gathered(id, specs, node, features) for id, specs in found.items()]
        shown = [pool for pool in pools if pool is not None]
        return sorted(shown, key=lambda pool: (pool.binds, pool.id))

    def _gathered(
        self, id: PoolId, specs: list[Mapping[str, Any]], node: Node, features: Features
    ) -> Pool | None:
        newest = max(spec["pool"]["generation"] for spec in specs)
        own = [spec for spec in specs if spec["pool"]["generation"] == newest]
        wanted = own[0]["pool"]["resourceSliceCount"]
        everything = [
            spec
            for spec in self._of_pool[id]
            if spec["pool"]["generation"] == newest
            and (features.experimental or not _has_groups(spec))
        ]
        problem = ""
        if len(own) != wanted:
            if any(spec["pool"]["generation"] > newest for spec in self._of_pool[id]):
                return None  # a newer one is there, for other nodes
            if len(everything) != wanted:
                problem = f"is being updated: {len(everything)} of {wanted} slices are there"
        candidates = [
            Candidate((*id, device["name"]), device, spec)
            for spec in own
            for device in spec.get("devices") or ()
            if not spec.get("perDeviceNodeSelection") or _is_for(device, node)
        ]
        defect = "" if problem else _defect(own, everything)
        return Pool(id, candidates, everything, problem or defect, invalid=bool(defect))


def _pool(spec: Mapping[str, Any]) -> PoolId:
    return spec["driver"], spec["pool"]["name"]


def _is_for(place: Mapping[str, Any], node: Node) -> bool:
    """Whether a slice, or a device of its own, is for the node."""
    if place.get("nodeName"):
        return bool(place["nodeName"] == node.name)
    if place.get("allNodes"):
        return True
    if place.get("nodeSelector"):
        return selects(place["nodeSelector"], node)
    if place.get("perDeviceNodeSelection"):
        devices = place.get("devices") or ()
        return any(_is_for(each, node) for each in devices) or not devices
    return False


def _has_groups(spec: Mapping[str, Any]) -> bool:
    return any(
        used.get("compatibilityGroups")
        for device in spec.get("devices") or ()
        for used in device.get("consumesCounters") or ()
    )


def _defect(own: list[Mapping[str, Any]], everything: list[Mapping[str, Any]]) -> str:
    """What makes a complete pool invalid."""
    names = [device["name"] for spec in own for device in spec.get("devices") or ()]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        return f"device {twice} is there twice"
    sets: dict[str, Mapping[str, Any]] = {}
    for spec in everything:
        for each in spec.get("sharedCounters") or ():
            if each["name"] in sets:
                return f"counter set {each['name']} is there twice"
            sets[each["name"]] = each["counters"]
    for spec in everything:
        for device in spec.get("devices") or ():
            for used in device.get("consumesCounters") or ():
                known = sets.get(used["counterSet"])
                strange = sorted(used["counters"].keys() - (known or {}).keys())
                if known is None or strange:
                    name = "/".join((used["counterSet"], *strange[:1]))
                    return f"device {device['name']} uses counter {name}, and there is none"
    return ""


def _tainted(spec: Mapping[str, Any], rules: list[Mapping[str, Any]]) -> Mapping[str, Any]:
    """The slice with the taints of rules that mean its devices; a rule without a selector means
    none."""
    if not rules or not spec.get("devices"):
        return spec
    devices = []
    for device in spec["devices"]:
        id = {"driver": spec["driver"], "pool": spec["pool"]["name"], "device": device["name"]}
        more = [
            rule["taint"]
            for rule in rules
            if rule.get("deviceSelector") is not None
            and all(rule["deviceSelector"].get(name) in (None, value) for name, value in id.items())
        ]
        devices.append(
            {**device, "taints": [*(device.get("taints") or ()), *more]} if more else device
        )
    return {**spec, "devices": devices}
