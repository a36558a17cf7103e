"""A device as expressions see it.

Source: Kubernetes 1.37 dynamic-resource-allocation/cel; resource.k8s.io/v1 DeviceAttribute,
DeviceCapacity.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import attrs

from refimpl.dra.cel.values import Domains
from refimpl.dra.quantity import Quantity
from refimpl.dra.semver import Semver

__all__ = ["Device", "attribute_value"]

_READ: dict[str, Callable[[Any], Any]] = {
    "string": str,
    "int": int,
    "bool": bool,
    "version": Semver.parse,
    "strings": list,
    "ints": list,
    "bools": list,
    "versions": lambda texts: [Semver.parse(text) for text in texts],
}


@attrs.frozen(eq=False)
class Device:
    """attributes and capacity by domain and name; names without a domain have the driver's.

    The fields are named as in an expression.
    """

    cel_type: ClassVar = "kubernetes.DRADevice"

    driver: str
    attributes: Domains
    capacity: Domains
    allowMultipleAllocations: bool = False  # noqa: N815

    @classmethod
    def of(cls, driver: str, device: Mapping[str, Any]) -> Device:
        """A device of a ResourceSlice of v1, as JSON has it. Raises ValueError for an attribute
        without a value, and for what is no version or quantity."""
        attributes = device.get("attributes") or {}
        capacity = device.get("capacity") or {}
        return cls(
            driver,
            _by_domain(driver, {name: attribute_value(each) for name, each in attributes.items()}),
            _by_domain(
                driver,
                {name: Quantity.parse(str(each["value"])) for name, each in capacity.items()},
            ),
            bool(device.get("allowMultipleAllocations")),
        )


def attribute_value(attribute: Mapping[str, Any]) -> Any:
    """The one value of an attribute. Raises ValueError."""
    for name, read in _READ.items():
        if attribute.get(name) is not None:
            return read(attribute[name])
    raise ValueError(f"an attribute has one of {', '.join(_READ)}, not {dict(attribute)}")


def _by_domain(driver: str, values: Mapping[str, Any]) -> Domains:
    domains = Domains()
    for name, value in values.items():
        domain, slash, id = name.partition("/")
        within, key = (domain, id) if slash else (driver, name)
        domains.setdefault(within, {})[key] = value
    return domains
