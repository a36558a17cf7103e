"""What plugins declare to take from the runtime."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from typing import Any

from refimpl.cni.lint.finding import Hit, Severity
from refimpl.cni.lint.rule import about_networks
from refimpl.cni.lint.subject import Network, Plugin

KNOWN = (
    "portMappings",
    "ipRanges",
    "bandwidth",
    "dns",
    "ips",
    "mac",
    "infinibandGUID",
    "deviceID",
    "aliases",
    "cgroupPath",
    "io.kubernetes.cri.pod-annotations",
)
# type -> capabilities it works with, members that make it work without any
SERVED: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "portmap": (("portMappings",), ()),
    "bandwidth": (("bandwidth",), ("ingressRate", "egressRate")),
    "tuning": (("mac",), ("sysctl", "mac", "mtu", "promisc", "allmulti", "txQLen", "dataDir")),
}


@about_networks("CNI-CFG-019", "CNI conventions: well-known capabilities")
def unknown(network: Network) -> Iterator[Hit]:
    """A name no runtime has a value for, most often a slip."""
    for plugin in network.plugins:
        at = (*plugin.pointer, "capabilities")
        for name in plugin.capabilities:
            # Names with a dot or a slash belong to whoever owns the domain in them.
            if name not in KNOWN and not set("./") & set(name):
                close = difflib.get_close_matches(name[:60], KNOWN, 1)
                fix = f'write "{close[0]}"' if close else f"known are {', '.join(KNOWN)}"
                message = f'no convention has a capability "{name[:60]}"'
                yield Hit((*at, name), message, fix, Severity.WARNING, plugin.source, True)
        if "capabilities" in plugin.ipam:
            message = '"capabilities" in an ipam object is not seen by the runtime'
            pointer = (*plugin.pointer, "ipam", "capabilities")
            fix = "declare it in the plugin object; ipam plugins get all of that"
            yield Hit(pointer, message, fix, Severity.WARNING, plugin.source, True)


@about_networks("CNI-CFG-020", "CNI 1.1, request: runtimeConfig has declared capabilities only")
def idle(network: Network) -> Iterator[Hit]:
    """A plugin that waits for values it did not ask for; an idle tuning is in common use."""
    for plugin in network.plugins:
        wanted, own = SERVED.get(plugin.type, ((), ()))
        if not wanted or _declares(plugin, wanted) or any(key in plugin.value for key in own):
            continue
        severity = Severity.INFO if plugin.type == "tuning" else Severity.WARNING
        message = f'"{plugin.type}" does nothing: it declares no capability "{wanted[0]}"'
        fix = f'add "capabilities": {{"{wanted[0]}": true}}, or remove the plugin'
        yield Hit((*plugin.pointer, "type"), message, fix, severity, plugin.source)


def _declares(plugin: Plugin, names: tuple[str, ...]) -> bool:
    declared: dict[str, Any] = plugin.capabilities
    return any(declared.get(name) is True for name in names)
