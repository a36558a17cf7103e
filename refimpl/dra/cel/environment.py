"""What an expression about a device may name: `device`, its fields and their sizes, the types.

Source: Kubernetes 1.37 dynamic-resource-allocation/cel; limits of resource.k8s.io/v1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

import attrs

from refimpl.dra.cel.functions import FUNCTIONS, WITH_INCLUDES
from refimpl.dra.cel.functions.tables import Functions
from refimpl.dra.cel.types import ANY, BOOL, DYN, STRING, Type, map_of
from refimpl.dra.quantity import Quantity

__all__ = ["COST_LIMIT", "LONGEST", "Environment", "device_environment"]

COST_LIMIT = 1_000_000
"""What an expression may cost in its worst case, and when it is evaluated."""
LONGEST = 10 * 1024
"""Bytes of an expression."""

_DEVICE = Type("kubernetes.DRADevice")
_PER_DEVICE, _DOMAIN, _ID, _DRIVER, _VALUE = 32, 63, 32, 63, 64
_NAMES = (
    "bool", "int", "uint", "double", "string", "bytes", "list", "map", "null_type", "type",
    "net.IP", "net.CIDR", "kubernetes.Quantity", "kubernetes.Semver", "kubernetes.URL",
    "optional_type",
)  # fmt: skip


# The most that stands at a path: elements of a map, characters of a text. A step into a map is
# @keys, @values, or the name of a field, which only maps of attributes know the size of.
_MAPS = {
    "attributes": (_PER_DEVICE, _PER_DEVICE, _VALUE),
    "capacity": (_PER_DEVICE, _PER_DEVICE, 0),
}
_KEYS = (_DOMAIN, _ID)
_PLAIN = {"driver": _DRIVER, "allowMultipleAllocations": 1}


@attrs.frozen(eq=False)
class Environment:
    """fields: of the objects, by the name of their type. unknown: the type of an attribute, which
    may also be the result of a selector."""

    functions: Functions
    variables: Mapping[str, Type]
    fields: Mapping[str, Mapping[str, Type]]
    unknown: Type

    def size(self, path: Sequence[str]) -> int | None:
        """The most elements or characters of what stands there; None where that is not known."""
        match path:
            case ["device"]:
                return 0
            case ["device", field, *rest] if field in self.fields[_DEVICE.name]:
                return self._inside(field, rest)
        return None

    def _inside(self, field: str, steps: Sequence[str]) -> int | None:
        if field in _PLAIN:
            return None if steps else _PLAIN[field]
        for depth, step in enumerate(steps):
            if step == "@keys" and depth < len(_KEYS):
                return _KEYS[depth] if len(steps) == depth + 1 else None
            by_name = field == "attributes" and depth == 1
            if depth >= len(_KEYS) or (step not in ("@values", "@items") and not by_name):
                return None
        return _MAPS[field][len(steps)]


@cache
def device_environment(*, list_attributes: bool, multiple_allocations: bool = True) -> Environment:
    """list_attributes: the gate DRAListTypeAttributes is on, or the expression was stored before;
    multiple_allocations: DRAConsumableCapacity is."""
    unknown = DYN if list_attributes else ANY
    fields = {
        "driver": STRING,
        "attributes": map_of(STRING, map_of(STRING, unknown)),
        "capacity": map_of(STRING, map_of(STRING, Type(Quantity.cel_type))),
    }
    if multiple_allocations:
        fields["allowMultipleAllocations"] = BOOL
    types = {name: Type("type", (Type(name),)) for name in _NAMES}
    return Environment(
        functions=WITH_INCLUDES if list_attributes else FUNCTIONS,
        variables={"device": _DEVICE, **types},
        fields={_DEVICE.name: fields},
        unknown=unknown,
    )
