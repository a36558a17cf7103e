"""Networks that give out the same addresses."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from refimpl.cni.lint.finding import Hit, Severity
from refimpl.cni.lint.ranges import Range, bounded, ranges
from refimpl.cni.lint.rule import about_folders
from refimpl.cni.lint.subject import Folder, Network, Plugin, text

STORE = "/var/lib/cni/networks"
SOURCE = "practice: host-local keeps its reservations in <dataDir>/<network name>"


def _using(folder: Folder) -> Iterator[tuple[Network, Plugin, list[Range]]]:
    for network in folder.networks:
        for plugin in network.plugins:
            used = list(ranges(plugin))
            if used:
                yield network, plugin, used


@about_folders("CNI-CFG-039", SOURCE)
def same_store(folder: Folder) -> Iterator[Hit]:
    """Two that write into one store free each other's addresses."""
    first: dict[tuple[str, str], tuple[Network, Plugin]] = {}
    for network, plugin, _ in _using(folder):
        data = posixpath.normpath(text(plugin.ipam.get("dataDir")) or STORE)
        other, same = first.setdefault((data, network.name), (network, plugin))
        if same is not plugin:
            message = f"keeps its reservations where {_named(other, same)} does: {data}"
            fix = 'give one of them another "dataDir"'
            pointer = (*plugin.pointer, "ipam")
            yield Hit(pointer, message, fix, Severity.WARNING, plugin.source)


@about_folders("CNI-CFG-039", SOURCE)
def same_addresses(folder: Folder) -> Iterator[Hit]:
    """Two networks with a common range give one address to two containers."""
    known = [
        (*one[:3], network, plugin, one[3])
        for network, plugin, _ in _using(folder)
        for one in bounded(plugin)
    ]
    reach: dict[int, tuple[int, Network, Plugin]] = {}
    for family, start, end, network, plugin, each in sorted(known, key=lambda item: item[:3]):
        until, other, owner = reach.get(family, (-1, network, plugin))
        if start <= until and other is not network:
            message = f"the range in {each.subnet} overlaps one of {_named(other, owner)}"
            pointer = (*each.pointer, "subnet")
            fix = "separate them, unless only one of the two is ever used"
            yield Hit(pointer, message, fix, Severity.WARNING, plugin.source)
        if end > until:
            reach[family] = (end, network, plugin)


def _named(network: Network, plugin: Plugin) -> str:
    return f'"{plugin.type}" of network "{network.name[:60]}" in {plugin.source.path.name}'
