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
        return cls(
            driver,
            _by_domain(driver, device.get("attributes"), attribute_value),
            _by_domain(driver, device.get("capacity"), _amount),
            bool(device.get("allowMultipleAllocations")),
        )


def _amount(capacity: Mapping[str, Any]) -> Quantity:
    return Quantity.parse(str(capacity["value"]))


def attribute_value(attribute: Mapping[str, Any]) -> Any:
    """The one value of an attribute. Raises ValueError."""
    for name, value in attribute.items():
        read = _READ.get(name)
        if read is not None and value is not None:
            return read(value)
    raise ValueError(f"an attribute has one of {', '.join(_READ)}, not {dict(attribute)}")


def _by_domain(
    driver: str,
    values: Mapping[str, Mapping[str, Any]] | None,
    read: Callable[[Mapping[str, Any]], Any],
) -> Domains:
    domains = Domains()
    own: dict[str, Any] = {}
    for name, value in (values or {}).items():
        if "/" in name:
            domain, _, key = name.partition("/")
            domains.setdefault(domain, {})[key] = read(value)
        else:
            own[name] = read(value)
    if own:
        domains[driver] = {**domains.get(driver, {}), **own}
    return domains
