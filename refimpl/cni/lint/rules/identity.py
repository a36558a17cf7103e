"""Names: of the network, and what plugin objects say about it."""

from __future__ import annotations

from collections.abc import Iterator

from refimpl.cni.contract.problem import describe
from refimpl.cni.lint.finding import Hit, Severity
from refimpl.cni.lint.rule import about_networks
from refimpl.cni.lint.subject import Network

# libcni caches under <network>-<container id>-<interface>: 255 bytes minus "-", 64 hex digits,
# "-" and 15 bytes of interface name.
LONGEST_NAME = 174
OVERWRITTEN = ("name", "cniVersion")


@about_networks("CNI-CFG-003", "practice: the cache file's name has at most 255 bytes")
def long_name(network: Network) -> Iterator[Hit]:
    """A name that makes the runtime's cache file impossible."""
    length = len(network.name.encode(errors="replace"))
    if length > LONGEST_NAME:
        message = f"the network name has {length} bytes: no cache file can be made for a container"
        fix = f"use at most {LONGEST_NAME}"
        yield Hit(("name",), message, fix, Severity.WARNING)


@about_networks("CNI-CFG-021", "CNI 1.1, request: name and cniVersion come from the list")
def overwritten(network: Network) -> Iterator[Hit]:
    """A plugin object that says another name or version than its list."""
    if network.single:
        return
    for plugin in network.plugins:
        for key in OVERWRITTEN:
            own, lists = plugin.value.get(key), network.value.get(key)
            # Of texts only: anything else is a defect, and may be too deep to compare.
            if isinstance(own, str) and not (isinstance(lists, str) and own == lists):
                message = (
                    f'"{key}" of the plugin is {describe(own)}, '
                    f"that of the network {describe(lists)}: the network's is sent"
                )
                pointer = (*plugin.pointer, key)
                fix = "remove it from the plugin"
                yield Hit(pointer, message, fix, Severity.WARNING, plugin.source)
