"""Members of one plugin object."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from typing import Any

from refimpl.cni.config.shape import dns_problems
from refimpl.cni.contract.problem import describe
from refimpl.cni.lint.finding import Hit, Severity
from refimpl.cni.lint.rule import about_networks
from refimpl.cni.lint.rules.chain import INTERFACES
from refimpl.cni.lint.subject import Network, Plugin
from refimpl.documents import Pointer

RESERVED = ("runtimeConfig", "args", "prevResult")
PREFIX = "cni.dev/"


@about_networks("CNI-CFG-011", "CNI 1.1, configuration format: plugins")
def no_plugins(network: Network) -> Iterator[Hit]:
    """A list without plugins whose sub-directory has none either."""
    value = network.source.value
    if not isinstance(value, dict) or network.single or "plugins" in value:
        return
    if not network.merges or network.plugins:
        return
    sources = network.subdirectory.sources if network.subdirectory else ()
    if not sources:
        message = 'the network has no "plugins", and no sub-directory supplies any'
        yield Hit((), message, 'add "plugins" or put *.conf files into a folder of its name')


@about_networks("CNI-CFG-018", "CNI 1.1, plugin configuration objects: reserved keys")
def reserved(network: Network) -> Iterator[Hit]:
    """Members that only the runtime may set; it overwrites, drops or passes them on blindly."""
    for plugin in network.plugins:
        for key in plugin.value:
            if key in RESERVED or key.startswith(PREFIX):
                message = f'"{key[:60]}" is reserved for the runtime'
                pointer = (*plugin.pointer, key)
                fix = "remove it; runtimes treat it differently"
                yield Hit(pointer, message, fix, source=plugin.source, at_name=True)


@about_networks("CNI-CFG-022", "CNI 1.1, plugin configuration objects: ipam")
def ipam_without_type(network: Network) -> Iterator[Hit]:
    """An empty object is what no ipam is: an interface without addresses. Other members are in
    vain where the plugin runs an IPAM plugin, and a matter of its own where it does not.
    """
    for plugin in network.plugins:
        ipam = plugin.value.get("ipam")
        if not isinstance(ipam, dict) or "type" in ipam:
            continue
        message, severity = '"ipam" is empty: it has no type', Severity.INFO
        if ipam:
            message = 'the ipam has no "type"'
            severity = Severity.ERROR if plugin.type in INTERFACES else Severity.WARNING
        message += ", so nobody is asked for addresses"
        if severity is Severity.WARNING:
            message += ", unless the plugin has a way of its own"
        fix = 'name a "type", or remove it'
        yield Hit((*plugin.pointer, "ipam"), message, fix, severity, plugin.source)


@about_networks("CNI-CFG-027", "CNI 1.1, DNS: nameservers are addresses")
def nameservers(network: Network) -> Iterator[Hit]:
    """dns of a plugin, and of its ipam, which the static plugin reads."""
    for plugin in network.plugins:
        at = (*plugin.pointer, "ipam", "dns")
        for problem in dns_problems(plugin.ipam.get("dns"), at):
            yield Hit(problem.pointer, problem.text, problem.fix, source=plugin.source)
        yield from _nameservers(plugin, plugin.value.get("dns"), (*plugin.pointer, "dns"))
        yield from _nameservers(plugin, plugin.ipam.get("dns"), at)


def _nameservers(plugin: Plugin, dns: Any, at: Pointer) -> Iterator[Hit]:
    listed = dns.get("nameservers") if isinstance(dns, dict) else None
    for index, server in enumerate(listed if isinstance(listed, list) else ()):
        try:
            ipaddress.ip_address(server if isinstance(server, str) else "0.0.0.0")
        except ValueError:
            message = f"nameserver {describe(server)} is no address"
            fix = "write an IPv4 or IPv6 address"
            yield Hit((*at, "nameservers", index), message, fix, source=plugin.source)


@about_networks("CNI-CFG-028", "CNI 1.1, plugin configuration objects: ipMasq is a boolean")
def ip_masq(network: Network) -> Iterator[Hit]:
    """Plugins refuse the whole document over this."""
    for plugin in network.plugins:
        value = plugin.value.get("ipMasq", False)
        if not isinstance(value, bool):
            message = f'"ipMasq" is {describe(value)}, not a boolean'
            pointer = (*plugin.pointer, "ipMasq")
            yield Hit(pointer, message, "write true or false", source=plugin.source)
