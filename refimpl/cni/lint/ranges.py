"""Address ranges of an ipam object in the form of host-local, read as far as they make sense."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from typing import Any

import attrs

from refimpl.cni.lint.subject import Plugin, text
from refimpl.documents import Pointer

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Subnet = ipaddress.IPv4Network | ipaddress.IPv6Network

# Some plugins replace these by the node's own range before they call host-local.
PLACEHOLDERS = ("usePodCidr",)
MEMBERS = ("subnet", "rangeStart", "rangeEnd", "gateway")


@attrs.frozen
class Range:
    """One range object of set number `set`, at `pointer` of its document."""

    pointer: Pointer
    value: dict[str, Any]
    set: int

    @property
    def subnet(self) -> Subnet | None:
        """The subnet, host bits cleared; None where there is no sound one."""
        return network(self.value.get("subnet"))

    @property
    def bounds(self) -> tuple[Address, Address] | None:
        """First and last address that may be given out, None where that cannot be told."""
        subnet = self.subnet
        if subnet is None:
            return None
        first = address(self.value.get("rangeStart")) or subnet.network_address
        last = address(self.value.get("rangeEnd")) or subnet.broadcast_address
        same = first.version == last.version == subnet.version
        return (first, last) if same and int(first) <= int(last) else None


def is_placeholder(value: Any) -> bool:
    """Whether a plugin fills the subnet in."""
    return isinstance(value, str) and value.startswith(PLACEHOLDERS)


def uses_ranges(plugin: Plugin) -> bool:
    """Whether the ipam object has ranges as host-local has them."""
    listed = plugin.ipam.get("ranges")
    nested = isinstance(listed, list) and all(isinstance(item, list) for item in listed)
    return text(plugin.ipam.get("type")).endswith("host-local") or (nested and bool(listed))


def ranges(plugin: Plugin) -> Iterator[Range]:
    """Every range object, that of the ipam object's own members first."""
    if not uses_ranges(plugin):
        return
    at: Pointer = (*plugin.pointer, "ipam")
    if "subnet" in plugin.ipam:
        yield Range(at, plugin.ipam, 0)
    listed = plugin.ipam.get("ranges")
    for outer, group in enumerate(listed if isinstance(listed, list) else ()):
        for inner, value in enumerate(group if isinstance(group, list) else ()):
            if isinstance(value, dict):
                yield Range((*at, "ranges", outer, inner), value, outer + 1)


def bounded(plugin: Plugin) -> list[tuple[int, int, int, Range]]:
    """(family, first, last address as numbers, range) of every range that is sound enough."""
    known: list[tuple[int, int, int, Range]] = []
    for each in ranges(plugin):
        if each.subnet is not None and (bounds := each.bounds) is not None:
            known.append((each.subnet.version, int(bounds[0]), int(bounds[1]), each))
    return known


def address(value: Any) -> Address | None:
    """The bare address a text holds, None for anything else."""
    try:
        return ipaddress.ip_address(value) if isinstance(value, str) else None
    except ValueError:
        return None


def network(value: Any) -> Subnet | None:
    """The network of a text in CIDR form, host bits cleared, None for anything else."""
    if not isinstance(value, str) or "/" not in value or not value.rpartition("/")[2].isdigit():
        return None
    try:
        return ipaddress.ip_network(value, strict=False)
    except ValueError:
        return None
