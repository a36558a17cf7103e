"""The plugins of a list together: who may come first, who may not come twice."""

from __future__ import annotations

from collections.abc import Iterator

from refimpl.cni.contract import at_least
from refimpl.cni.lint.finding import Hit, Severity
from refimpl.cni.lint.rule import about_networks
from refimpl.cni.lint.subject import Network, Plugin

# Types of the reference plugins; of others nothing is known.
CHAINED = frozenset({"portmap", "tuning", "firewall", "bandwidth", "sbr", "vrf"})
INTERFACES = frozenset(
    {"bridge", "ptp", "macvlan", "ipvlan", "vlan", "host-device", "dummy", "tap"}
)


@about_networks("CNI-CFG-029", "practice: these plugins change an attachment that others made")
def chained_first(network: Network) -> Iterator[Hit]:
    """Without a result of an earlier plugin they fail."""
    for plugin in network.plugins[:1]:
        if plugin.type in CHAINED:
            message = f'"{plugin.type}" comes first, but needs the result of a plugin before it'
            yield _hit(plugin, message, "put a plugin that makes the interface before it")


@about_networks("CNI-CFG-030", "practice: one CNI_IFNAME for the whole list")
def two_interfaces(network: Network) -> Iterator[Hit]:
    """The second one finds the name taken and fails."""
    makers = [plugin for plugin in network.plugins if plugin.type in INTERFACES]
    for plugin in makers[1:]:
        message = (
            f'"{plugin.type}" and "{makers[0].type}" before it both make the container\'s interface'
        )
        fix = "make a network of its own for it"
        yield _hit(plugin, message, fix, Severity.WARNING)


@about_networks("CNI-CFG-031", "practice: sbr moves the routes that the plugin before it checks")
def sbr_and_check(network: Network) -> Iterator[Hit]:
    """CHECK of the earlier plugin looks for routes in the main table."""
    if network.value.get("disableCheck") is True or not at_least(network.version, "0.4.0"):
        return
    routed = False
    for plugin in network.plugins:
        if plugin.type == "sbr" and routed:
            message = '"sbr" moves routes, so that CHECK of the plugin before it fails'
            yield _hit(plugin, message, 'set "disableCheck": true in the list', Severity.WARNING)
        routed = routed or (plugin.type not in CHAINED and bool(plugin.ipam))


def _hit(plugin: Plugin, message: str, fix: str, severity: Severity = Severity.ERROR) -> Hit:
    return Hit((*plugin.pointer, "type"), message, fix, severity, plugin.source)
