"""Feature gates that decide which fields there are; fields of those that are off are dropped.

Source: Kubernetes 1.37.2, DRA gates; all that are not here are on.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

import attrs

__all__ = ["ALPHA", "Gates", "without_disabled"]


@attrs.frozen
class Gates:
    """The defaults are those of 1.37.2."""

    list_attributes: bool = False
    node_allocatable: bool = False
    optional_operations: bool = False
    compatibility_groups: bool = False
    derived_attributes: bool = False
    partition_type: bool = False
    fractional_range: bool = False


ALPHA = Gates(**{each.name: True for each in attrs.fields(Gates)})
"""All on."""

_LISTS = ("ints", "bools", "strings", "versions")

Objects = list[tuple[dict[str, Any], str]]


def _devices(spec: Mapping[str, Any]) -> list[dict[str, Any]]:
    found = spec.get("devices")
    return found if isinstance(found, list) else []  # of a claim it is an object


def _list_values(spec: Mapping[str, Any]) -> Objects:
    attributes = [
        each for device in _devices(spec) for each in (device.get("attributes") or {}).values()
    ]
    return [(each, name) for each in attributes for name in _LISTS]


def _groups(spec: Mapping[str, Any]) -> Objects:
    used = [each for device in _devices(spec) for each in device.get("consumesCounters") or ()]
    return [(each, "compatibilityGroups") for each in used]


def _derived(spec: Mapping[str, Any]) -> Objects:
    claim = spec.get("spec", spec)
    devices = claim.get("devices")
    requests = devices.get("requests") or () if isinstance(devices, dict) else ()
    askers = [each["exactly"] for each in requests if each.get("exactly")]
    askers += [each for request in requests for each in request.get("firstAvailable") or ()]
    return [(each, "derivedAttributes") for each in askers]


# Where the fields of a gate stand: objects and names of their fields.
_FIELDS: dict[str, Callable[[dict[str, Any]], Objects]] = {
    "list_attributes": _list_values,
    "node_allocatable": lambda spec: [
        (each, "nodeAllocatableResources") for each in _devices(spec)
    ],
    "optional_operations": lambda spec: [(spec, "skipNodeOperations")],
    "compatibility_groups": _groups,
    "partition_type": lambda spec: [(spec, "partitionTypeAttribute")],
    "derived_attributes": _derived,
}


def without_disabled(
    object: Mapping[str, Any], before: Mapping[str, Any] | None, gates: Gates
) -> dict[str, Any]:
    """The object without fields of gates that are off, unless the stored one uses the gate."""
    left = copy.deepcopy(dict(object))
    spec, old = left.get("spec") or {}, (before or {}).get("spec") or {}
    for gate, fields in _FIELDS.items():
        used = any(owner.get(name) for owner, name in fields(dict(old)))
        if not getattr(gates, gate) and not used:
            for owner, name in fields(spec):
                owner.pop(name, None)
    return left
