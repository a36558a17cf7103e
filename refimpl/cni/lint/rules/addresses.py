"""Ranges of addresses (host-local and what is like it)."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator

from refimpl.cni.contract import at_least
from refimpl.cni.contract.problem import describe
from refimpl.cni.lint.finding import Hit
from refimpl.cni.lint.ranges import (
    Range,
    address,
    bounded,
    is_placeholder,
    network,
    ranges,
    uses_ranges,
)
from refimpl.cni.lint.rule import about_networks
from refimpl.cni.lint.subject import Network, Plugin

SOURCE = "practice: what the host-local plugin refuses"


@about_networks("CNI-CFG-023", SOURCE)
def range_form(subject: Network) -> Iterator[Hit]:
    """`ranges` is a list of sets, a set a list of range objects with a subnet."""
    for plugin in subject.plugins:
        listed = plugin.ipam.get("ranges")
        if not uses_ranges(plugin) or listed is None:
            continue
        at = (*plugin.pointer, "ipam", "ranges")
        fix = 'write [[{"subnet": "10.1.0.0/16"}]]'
        if not isinstance(listed, list):
            yield Hit(at, f'"ranges" is {describe(listed)}', fix, source=plugin.source)
            continue
        for outer, group in enumerate(listed):
            if not isinstance(group, list) or not group:
                message = f"a set of ranges is {describe(group)}, not a list of ranges"
                yield Hit((*at, outer), message, fix, source=plugin.source)
                continue
            for inner, value in enumerate(group):
                if not isinstance(value, dict):
                    message = f"a range is {describe(value)}, not an object"
                    yield Hit((*at, outer, inner), message, fix, source=plugin.source)


@about_networks("CNI-CFG-023", SOURCE)
def subnets(subject: Network) -> Iterator[Hit]:
    """A subnet is a network of at least two usable addresses."""
    for plugin in subject.plugins:
        for each in ranges(plugin):
            written = each.value.get("subnet")
            subnet = network(written)
            pointer, shown = (*each.pointer, "subnet"), describe(written)
            if is_placeholder(written):
                continue
            if subnet is None:
                missing = "there is no subnet" if written is None else f"subnet {shown} is no CIDR"
                fix = "write an address and a prefix length, for example 10.1.0.0/16"
                yield Hit(pointer, missing, fix, source=plugin.source)
            elif subnet.prefixlen > subnet.max_prefixlen - 2:
                message = f"subnet {shown} has no address left to give out"
                fix = "use a shorter prefix"
                yield Hit(pointer, message, fix, source=plugin.source)
            elif address(str(written).partition("/")[0]) != subnet.network_address:
                message = f"subnet {shown} has host bits set"
                yield Hit(pointer, message, f"write {subnet}", source=plugin.source)


@about_networks("CNI-CFG-023", SOURCE)
def inside(subject: Network) -> Iterator[Hit]:
    """rangeStart, rangeEnd and gateway are addresses of the subnet, in order."""
    for plugin in subject.plugins:
        for each in ranges(plugin):
            subnet = each.subnet
            for key in ("rangeStart", "rangeEnd", "gateway"):
                written = each.value.get(key)
                if written is None or (key == "gateway" and written == ""):
                    continue
                single, pointer = address(written), (*each.pointer, key)
                if single is None:
                    message = f'"{key}" is {describe(written)}, no address'
                    yield Hit(pointer, message, "write a bare address", source=plugin.source)
                elif subnet is not None and single not in subnet:
                    message = f'"{key}" {single} is outside of subnet {subnet}'
                    yield Hit(pointer, message, "use one of the subnet", source=plugin.source)
            yield from _order(plugin, each)


def _order(plugin: Plugin, each: Range) -> Iterator[Hit]:
    first, last = address(each.value.get("rangeStart")), address(each.value.get("rangeEnd"))
    if first and last and first.version == last.version and int(first) > int(last):
        message = f'"rangeStart" {first} comes after "rangeEnd" {last}'
        pointer = (*each.pointer, "rangeStart")
        yield Hit(pointer, message, "exchange them", source=plugin.source)


@about_networks("CNI-CFG-023", SOURCE)
def one_family(subject: Network) -> Iterator[Hit]:
    """A set gives out one address, so it cannot be of two families."""
    for plugin in subject.plugins:
        families: dict[int, int] = {}
        for each in ranges(plugin):
            if each.subnet and families.setdefault(each.set, each.subnet.version) != (
                each.subnet.version
            ):
                message = f"subnet {each.subnet} is of another family than its set"
                fix = "put it into a set of its own"
                yield Hit((*each.pointer, "subnet"), message, fix, source=plugin.source)


@about_networks("CNI-CFG-023", SOURCE)
def overlaps(subject: Network) -> Iterator[Hit]:
    """Two ranges of one plugin never share an address."""
    for plugin in subject.plugins:
        known = sorted(bounded(plugin), key=lambda item: item[:3])
        for (family, _, end, low), (other, start, _, high) in itertools.pairwise(known):
            if family == other and start <= end:
                message = f"the range in {high.subnet} overlaps that in {low.subnet}"
                pointer = (*high.pointer, "subnet")
                yield Hit(pointer, message, "separate them", source=plugin.source)


@about_networks("CNI-CFG-024", "CNI 0.2.0: a result has one address of each family")
def too_many(subject: Network) -> Iterator[Hit]:
    """More cannot be told in a result of that version, so host-local refuses."""
    if not subject.version or at_least(subject.version, "0.3.0"):
        return
    for plugin in subject.plugins:
        sets = {each.set: each for each in ranges(plugin) if each.subnet}
        count = Counter(each.subnet.version for each in sets.values() if each.subnet)
        for family, number in sorted(count.items()):
            if number > 1:
                message = f"{number} addresses of IPv{family} do not fit version {subject.version}"
                pointer = (*plugin.pointer, "ipam")
                fix = 'raise "cniVersion" to 0.3.0 or later'
                yield Hit(pointer, message, fix, source=plugin.source)
