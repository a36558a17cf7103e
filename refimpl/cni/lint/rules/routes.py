"""Routes an ipam object asks for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from refimpl.cni.contract import at_least
from refimpl.cni.contract.problem import describe
from refimpl.cni.lint.finding import Hit, Severity
from refimpl.cni.lint.ranges import address, network
from refimpl.cni.lint.rule import about_networks
from refimpl.cni.lint.subject import Network, Plugin
from refimpl.documents import Pointer

NEWER = ("mtu", "advmss", "priority", "table", "scope")
SOURCE = "CNI 1.1, result: routes have a destination in CIDR form and a bare gateway"


def _routes(plugin: Plugin) -> Iterator[tuple[Pointer, dict[str, Any]]]:
    """Every route object and its place."""
    listed = plugin.ipam.get("routes")
    for index, route in enumerate(listed if isinstance(listed, list) else ()):
        if isinstance(route, dict):
            yield (*plugin.pointer, "ipam", "routes", index), route


@about_networks("CNI-CFG-025", SOURCE)
def route_form(subject: Network) -> Iterator[Hit]:
    """`routes` is a list of objects."""
    for plugin in subject.plugins:
        listed = plugin.ipam.get("routes")
        at, fix = (*plugin.pointer, "ipam", "routes"), 'write [{"dst": "0.0.0.0/0"}]'
        if listed is not None and not isinstance(listed, list):
            message = f'"routes" is {describe(listed)}, not a list'
            yield Hit(at, message, fix, source=plugin.source)
            continue
        for index, route in enumerate(listed or ()):
            if not isinstance(route, dict):
                message = f"a route is {describe(route)}, not an object"
                yield Hit((*at, index), message, fix, source=plugin.source)


@about_networks("CNI-CFG-025", SOURCE)
def route_addresses(subject: Network) -> Iterator[Hit]:
    """Destination and gateway, and both of one family."""
    for plugin in subject.plugins:
        for at, route in _routes(plugin):
            target, gateway = network(route.get("dst")), address(route.get("gw"))
            if target is None:
                message = f'"dst" of a route is {describe(route.get("dst"))}, not in CIDR form'
                fix = "write for example 0.0.0.0/0"
                yield Hit((*at, "dst"), message, fix, source=plugin.source)
            if gateway is None and route.get("gw") not in (None, ""):
                message = f'"gw" of a route is {describe(route["gw"])}, no address'
                fix = "write a bare address, without a prefix length"
                yield Hit((*at, "gw"), message, fix, source=plugin.source)
            elif gateway and target and gateway.version != target.version:
                message = f"gateway {gateway} and destination {target} are of two families"
                fix = "use a gateway of the destination's family"
                yield Hit((*at, "gw"), message, fix, source=plugin.source)


@about_networks("CNI-CFG-041", "practice: Linux takes an IPv4 route to a network only")
def host_bits(subject: Network) -> Iterator[Hit]:
    """Bits behind the prefix: Linux refuses them for IPv4 and clears them for IPv6."""
    for plugin in subject.plugins:
        for at, route in _routes(plugin):
            target = network(route.get("dst"))
            if target is None or address(route["dst"].partition("/")[0]) == target.network_address:
                continue
            refused = target.version == 4
            effect = "the kernel refuses the route" if refused else "the kernel clears them"
            message = f'"dst" {route["dst"]} has bits behind its prefix length: {effect}'
            severity = Severity.ERROR if refused else Severity.WARNING
            yield Hit((*at, "dst"), message, f"write {target}", severity, plugin.source)


@about_networks("CNI-CFG-025", SOURCE)
def repeated(subject: Network) -> Iterator[Hit]:
    """The kernel takes one route per destination, table and priority."""
    for plugin in subject.plugins:
        seen = set()
        for at, route in _routes(plugin):
            target = network(route.get("dst"))
            key = (target, describe(route.get("table")), describe(route.get("priority")))
            if target is not None and key in seen:
                message = f"there are two routes to {target}"
                fix = "keep one, or give them priorities"
                yield Hit((*at, "dst"), message, fix, Severity.WARNING, plugin.source)
            seen.add(key)


@about_networks("CNI-CFG-026", "CNI 1.1, result: these members of routes are new in 1.1.0")
def newer_members(subject: Network) -> Iterator[Hit]:
    """Older versions lose them, or carry them although nobody expects them there."""
    if not subject.version or at_least(subject.version, "1.1.0"):
        return
    for plugin in subject.plugins:
        for at, route in _routes(plugin):
            for key in NEWER:
                if key in route:
                    message = f'"{key}" of a route is not known in version {subject.version}'
                    fix = 'raise "cniVersion" to 1.1.0, or remove it'
                    yield Hit((*at, key), message, fix, Severity.WARNING, plugin.source, True)
