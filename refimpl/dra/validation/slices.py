"""ResourceSlices. Source: resource.k8s.io/v1 ResourceSliceSpec, limits of 1.37."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from refimpl.dra.validation import devices, names, taints
from refimpl.dra.validation.gates import Gates
from refimpl.dra.validation.problems import At, Reason, at_most, exactly_one, unique

__all__ = ["slice_spec", "slice_update"]

_MOST_DEVICES, _MOST_SPECIAL, _MOST_SETS = 128, 64, 8
_NODES = ("nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection")
_LISTS = ("ints", "bools", "strings", "versions")


def slice_spec(at: At, spec: Mapping[str, Any], gates: Gates) -> None:
    """The spec of a ResourceSlice."""
    names.driver(at.field("driver"), spec.get("driver", ""))
    pool, pool_at = spec.get("pool") or {}, at.field("pool")
    names.pool(pool_at.field("name"), pool.get("name", ""))
    if pool.get("generation", 0) < 0:
        pool_at.field("generation").invalid(f"{pool['generation']} is below zero")
    if pool.get("resourceSliceCount", 0) <= 0:
        count = pool.get("resourceSliceCount", 0)
        pool_at.field("resourceSliceCount").invalid(f"{count} is not above zero")
    _nodes(at, spec)
    found, sets = spec.get("devices"), spec.get("sharedCounters")
    if found is not None and sets is not None:
        at.invalid("has devices or sharedCounters, not both; an empty list counts")
    special = [name for each in found or () for name in _special(each)]
    most = _MOST_SPECIAL if special else _MOST_DEVICES
    if at_most(at.field("devices"), found, most):
        unique(at.field("devices"), found, lambda each: each.get("name"))
    per_device = bool(spec.get("perDeviceNodeSelection"))
    for place, device in at.field("devices").items(found):
        devices.device(place, device, per_device=per_device, gates=gates)
    at_most(at.field("sharedCounters"), sets, _MOST_SETS)
    unique(at.field("sharedCounters"), sets, lambda each: each.get("name"))
    for place, each in at.field("sharedCounters").items(sets):
        names.label(place.field("name"), each.get("name", ""))
        devices.counters(place, each)
    taints.operations(at.field("skipNodeOperations"), spec.get("skipNodeOperations"))
    if spec.get("partitionTypeAttribute") is not None:
        _partition_type(at, spec)


def _special(device: Mapping[str, Any]) -> list[str]:
    """What makes a device count double."""
    found = [name for name in ("taints", "consumesCounters") if device.get(name)]
    attributes = (device.get("attributes") or {}).values()
    return found + [name for each in attributes for name in _LISTS if each.get(name)]


def _nodes(at: At, spec: Mapping[str, Any]) -> None:
    exactly_one(at, spec, _NODES)
    if spec.get("nodeName"):
        names.subdomain(at.field("nodeName"), spec["nodeName"])
    if spec.get("nodeSelector") is not None:
        taints.node_selector(at.field("nodeSelector"), spec["nodeSelector"], one_term=True)


def _partition_type(at: At, spec: Mapping[str, Any]) -> None:
    name, place = str(spec["partitionTypeAttribute"]), at.field("partitionTypeAttribute")
    before = len(at.problems)
    names.full_name(place, name)
    if len(at.problems) > before:
        return
    users = [
        (each_at, each)
        for each_at, each in at.field("devices").items(spec.get("devices"))
        if each.get("consumesCounters")
    ]
    if not users:
        place.invalid("is only for slices with a device that consumes counters")
    domain, _, id = name.partition("/")
    for each_at, each in users:
        attributes = each.get("attributes") or {}
        own = attributes.get(id) if domain == spec.get("driver") else None
        value, value_at = attributes.get(name, own), each_at.field("attributes").key(name)
        if value is None:
            value_at.note(Reason.REQUIRED, "has to be given: it is the type of the partition")
        elif value.get("string") is None:
            value_at.invalid("is the type of the partition, and has to be a string")


def slice_update(at: At, spec: Mapping[str, Any], before: Mapping[str, Any]) -> None:
    """What may not change."""
    pool, old_pool = spec.get("pool") or {}, before.get("pool") or {}
    for place, now, old in (
        (at.field("driver"), spec.get("driver"), before.get("driver")),
        (at.field("pool", "name"), pool.get("name"), old_pool.get("name")),
        (at.field("nodeName"), spec.get("nodeName"), before.get("nodeName")),
    ):
        if now != old:
            place.invalid(f"may not change: it was {old!r}")
