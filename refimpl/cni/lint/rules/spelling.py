"""Member names in another letter case: Go readers take them, all others miss them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from refimpl.cni.config.shape import FLAGS
from refimpl.cni.lint.finding import Hit, Severity
from refimpl.cni.lint.ranges import MEMBERS, uses_ranges
from refimpl.cni.lint.rule import about_networks
from refimpl.cni.lint.rules.capabilities import KNOWN as CAPABILITIES
from refimpl.cni.lint.rules.routes import NEWER
from refimpl.cni.lint.subject import Network, Plugin, Source
from refimpl.documents import Pointer

OF_LIST = ("cniVersion", "cniVersions", "name", "plugins", *FLAGS)
OF_PLUGIN = (
    *("type", "name", "cniVersion", "capabilities", "ipam", "dns", "ipMasq"),
    *("runtimeConfig", "args", "prevResult"),
)
OF_RANGE = MEMBERS
OF_IPAM = ("type", "ranges", "routes", "dataDir", "resolvConf", *OF_RANGE)
OF_ROUTE = ("dst", "gw", *NEWER)
OF_DNS = ("nameservers", "domain", "search", "options")
# capability -> members of its value
OF_PAYLOAD: dict[str, tuple[str, ...]] = {
    "portMappings": ("hostPort", "containerPort", "protocol", "hostIP"),
    "bandwidth": ("ingressRate", "ingressBurst", "egressRate", "egressBurst"),
    "dns": ("servers", "searches", "options"),
    "ipRanges": OF_RANGE,
}
# type of a reference plugin -> members of its own
OF_TYPE: dict[str, tuple[str, ...]] = {
    "bridge": ("bridge", "isGateway", "isDefaultGateway", "hairpinMode", "promiscMode", "mtu"),
    "ptp": ("mtu",),
    "macvlan": ("master", "mode", "mtu"),
    "ipvlan": ("master", "mode", "mtu"),
    "portmap": ("snat", "backend", "markMasqBit", "conditionsV4", "conditionsV6"),
    "bandwidth": OF_PAYLOAD["bandwidth"],
}


@about_networks("CNI-CFG-037", "RFC 8259: names are compared exactly; only Go folds letter case")
def letter_case(network: Network) -> Iterator[Hit]:
    """Every place whose members are known."""
    if not network.single:
        yield from _check(network.source, (), network.value, OF_LIST)
    for plugin in network.plugins:
        own = OF_PLUGIN + OF_TYPE.get(plugin.type, ()) + (FLAGS if network.single else ())
        yield from _check(plugin.source, plugin.pointer, plugin.value, own)
        for pointer, names in _places(plugin):
            yield from _below(plugin.source, plugin.value, plugin.pointer, pointer, names)
        if uses_ranges(plugin):
            yield from _below(plugin.source, plugin.value, plugin.pointer, ("ipam",), OF_IPAM)


def _places(plugin: Plugin) -> Iterator[tuple[Pointer, tuple[str, ...]]]:
    """Places below a plugin object, "*" for every element, and the names known there."""
    yield ("ipam", "routes", "*"), OF_ROUTE
    if uses_ranges(plugin):
        yield ("ipam", "ranges", "*", "*"), OF_RANGE
    yield ("ipam", "dns"), OF_DNS
    yield ("dns",), OF_DNS
    yield ("runtimeConfig",), CAPABILITIES
    for name, members in OF_PAYLOAD.items():
        for depth in range(3):
            yield ("runtimeConfig", name, *["*"] * depth), members


def _below(
    source: Source, value: Any, at: Pointer, steps: Pointer, names: Iterable[str]
) -> Iterator[Hit]:
    """Checks the objects that `steps` lead to."""
    if not steps:
        yield from _check(source, at, value, names)
    elif steps[0] == "*":
        for index, item in enumerate(value if isinstance(value, list) else ()):
            yield from _below(source, item, (*at, index), steps[1:], names)
    elif isinstance(value, dict) and steps[0] in value:
        yield from _below(source, value[str(steps[0])], (*at, steps[0]), steps[1:], names)


def _check(source: Source, at: Pointer, value: Any, names: Iterable[str]) -> Iterator[Hit]:
    folded = {name.casefold(): name for name in names}
    for key in value if isinstance(value, dict) else ():
        right = folded.get(key.casefold(), key)
        if right != key and right not in value:
            message = f'"{key}" is "{right}" in another letter case: only readers in Go see it'
            yield Hit((*at, key), message, f'write "{right}"', Severity.WARNING, source, True)
        elif right != key:
            message = f'"{key}" and "{right}" are one member for readers in Go'
            yield Hit((*at, key), message, f'keep "{right}"', Severity.WARNING, source, True)
