"""Devices of a ResourceSlice. Source: resource.k8s.io/v1 Device, limits of 1.37."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from refimpl.dra.quantity import Quantity
from refimpl.dra.semver import Semver
from refimpl.dra.validation import names, taints
from refimpl.dra.validation.gates import Gates
from refimpl.dra.validation.policies import request_policy
from refimpl.dra.validation.problems import (
    At,
    Reason,
    at_most,
    exactly_one,
    given,
    required,
    unique,
)

__all__ = ["counters", "device"]

_MOST_VALUES, _MOST_LISTED, _MOST_COUNTERS, _MOST_SETS, _MOST_TAINTS, _MOST_GROUPS = (
    32, 48, 32, 2, 16, 2,
)  # fmt: skip
_LONGEST_TEXT = 64
_SCALARS = ("int", "bool", "string", "version")
_LISTS = ("ints", "bools", "strings", "versions")
_NODES = ("nodeName", "nodeSelector", "allNodes")
_ALLOCATABLE = ("cpu", "memory", "ephemeral-storage")


def device(at: At, value: Mapping[str, Any], *, per_device: bool, gates: Gates) -> None:
    """per_device: the slice leaves it to its devices for which nodes they are."""
    names.label(at.field("name"), value.get("name", ""))
    attributes, capacity = value.get("attributes") or {}, value.get("capacity") or {}
    if len(attributes) + len(capacity) > _MOST_VALUES:
        at.invalid(
            f"has {len(attributes)} attributes and {len(capacity)} capacities;"
            f" {_MOST_VALUES} together are allowed"
        )
    listed = sum(_count(each) for each in attributes.values())
    if listed > _MOST_LISTED:
        at.invalid(f"has {listed} values of attributes; {_MOST_LISTED} are allowed")
    for name, attribute in attributes.items():
        names.attribute_key(at.field("attributes"), name)
        _attribute(at.field("attributes").key(name), attribute)
    for name, amount in capacity.items():
        names.attribute_key(at.field("capacity"), name)
        _capacity(at.field("capacity").key(name), amount, value, gates)
    used = value.get("consumesCounters")
    at_most(at.field("consumesCounters"), used, _MOST_SETS)
    unique(at.field("consumesCounters"), used, lambda each: each.get("counterSet"))
    for place, each in at.field("consumesCounters").items(used):
        _consumption(place, each)
    _nodes(at, value, per_device)
    at_most(at.field("taints"), value.get("taints"), _MOST_TAINTS)
    for place, taint in at.field("taints").items(value.get("taints")):
        taints.taint(place, taint)
    taints.binding(at, value)
    for name, resource in (value.get("nodeAllocatableResources") or {}).items():
        _allocatable(at.field("nodeAllocatableResources").key(name), name, resource, capacity)


def _count(attribute: Mapping[str, Any]) -> int:
    lists = [attribute[name] for name in _LISTS if attribute.get(name)]
    return sum(map(len, lists)) + any(attribute.get(name) is not None for name in _SCALARS)


def _attribute(at: At, value: Mapping[str, Any]) -> None:
    found = given(value, *_SCALARS)
    for name in given(value, *_LISTS):
        if value[name]:
            found.append(name)
        else:
            at.field(name).invalid("may be left out, but not be empty")
    if len(found) != 1:
        shown = " and ".join(found) or "none"
        at.invalid(f"has exactly one of {', '.join(_SCALARS + _LISTS)}, not {shown}")
    for name, check in (("string", _text), ("version", _version)):
        if value.get(name) is not None:
            check(at.field(name), value[name])
        for place, each in at.field(f"{name}s").items(value.get(f"{name}s")):
            check(place, each)


def _text(at: At, value: str) -> bool:
    size = len(value.encode())
    if size > _LONGEST_TEXT:
        at.note(Reason.TOO_LONG, f"has {size} bytes; {_LONGEST_TEXT} are allowed")
    return size <= _LONGEST_TEXT


def _version(at: At, value: str) -> None:
    if _text(at, value):
        try:
            Semver.parse(value)
        except ValueError as error:
            at.invalid(str(error))


def _capacity(at: At, amount: Mapping[str, Any], device: Mapping[str, Any], gates: Gates) -> None:
    policy = amount.get("requestPolicy")
    if not policy:
        return
    if not device.get("allowMultipleAllocations"):
        at.field("requestPolicy").note(
            Reason.FORBIDDEN, "is only for devices with allowMultipleAllocations"
        )
        return
    value = Quantity.parse(str(amount.get("value", "0")))
    request_policy(at.field("requestPolicy"), policy, value, fractional=gates.fractional_range)


def counters(at: At, value: Mapping[str, Any]) -> None:
    """Counters by name, of a set or used of one. Any amount may be there, negative ones too."""
    found = value.get("counters")
    if required(at.field("counters"), found):
        at_most(at.field("counters"), found, _MOST_COUNTERS)
        for name in found or ():
            names.label(at.field("counters"), name)


def _consumption(at: At, value: Mapping[str, Any]) -> None:
    names.label(at.field("counterSet"), value.get("counterSet", ""))
    counters(at, value)
    groups = value.get("compatibilityGroups")
    at_most(at.field("compatibilityGroups"), groups, _MOST_GROUPS)
    unique(at.field("compatibilityGroups"), groups)
    for place, each in at.field("compatibilityGroups").items(groups):
        names.label(place, each)


def _nodes(at: At, value: Mapping[str, Any], per_device: bool) -> None:
    found = given(value, *_NODES)
    if not per_device:
        if found:
            at.invalid(f"{found[0]} is only for slices with perDeviceNodeSelection")
        return
    exactly_one(at, value, _NODES)


def _allocatable(at: At, name: str, value: Mapping[str, Any], capacity: Mapping[str, Any]) -> None:
    if name not in _ALLOCATABLE and not name.startswith("hugepages-"):
        at.invalid(f"{name!r} is not one of {', '.join(_ALLOCATABLE)}, hugepages-…")
    mapping, overhead = value.get("mapping"), value.get("overhead")
    if mapping is None and overhead is None:
        at.invalid("has a mapping or an overhead")
    if mapping is not None:
        _mapping(at.field("mapping"), mapping, capacity)
    if overhead is not None:
        place = at.field("overhead")
        if not given(overhead, "perPod", "perContainer"):
            place.invalid("has perPod or perContainer")
        for each in given(overhead, "perPod", "perContainer"):
            if Quantity.parse(str(overhead[each])).sign < 0:
                place.field(each).invalid(f"{overhead[each]} is below zero")


def _mapping(at: At, value: Mapping[str, Any], capacity: Mapping[str, Any]) -> None:
    key, by_key, by_device = (
        value.get(name) for name in ("capacityKey", "capacityMultiplier", "deviceMultiplier")
    )
    if by_key is not None and not key:
        at.field("capacityKey").note(Reason.REQUIRED, "has to be given with capacityMultiplier")
    if key and by_key is None:
        at.field("capacityMultiplier").note(Reason.REQUIRED, "has to be given with capacityKey")
    if key and key not in capacity:
        at.field("capacityKey").invalid(f"{key!r} is no capacity of the device")
    if bool(key) == (by_device is not None):
        at.invalid("has capacityKey with capacityMultiplier, or deviceMultiplier")
    for name in given(value, "capacityMultiplier", "deviceMultiplier"):
        if Quantity.parse(str(value[name])).sign <= 0:
            at.field(name).invalid(f"{value[name]} is not above zero")
