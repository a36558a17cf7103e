"""The plugins a network names against those that are there."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from refimpl.cni.contract import at_least
from refimpl.cni.lint.finding import Hit, Severity
from refimpl.cni.lint.rule import Installed, Unanswered, about_installed, about_networks
from refimpl.cni.lint.subject import Network, Plugin
from refimpl.documents import Pointer

# Reference plugins that never spoke the oldest versions.
OLDEST = {"firewall": "0.4.0", "bandwidth": "0.3.0", "vrf": "0.3.1"}
SOURCE = "CNI 1.1, version considerations: a plugin refuses a version it does not list"


@about_networks("CNI-CFG-017", SOURCE)
def too_old(network: Network) -> Iterator[Hit]:
    """Known from the plugins' documentation, without asking them."""
    for plugin in network.plugins:
        oldest = OLDEST.get(plugin.type)
        if oldest and network.version and not at_least(network.version, oldest):
            message = f'"{plugin.type}" needs version {oldest}, the network has {network.version}'
            pointer = (*plugin.pointer, "type")
            yield Hit(pointer, message, 'raise "cniVersion"', source=plugin.source)


@about_installed("CNI-CFG-016", "CNI 1.1, execution: a plugin is a file in a directory of CNI_PATH")
def missing(installed: Installed) -> Iterator[Hit]:
    """ADD fails on this node."""
    for plugin, pointer, name in _named(installed.network):
        program = locate(name, installed.folders)
        if program is None:
            searched = os.pathsep.join(str(path) for path in installed.folders)
            message = f'there is no plugin "{name[:60]}" in {searched}'
            yield Hit(pointer, message, "install it, or correct the type", source=plugin.source)
        elif not os.access(program, os.X_OK):
            message = f"{program} is not executable"
            yield Hit(pointer, message, f"chmod a+x {program}", source=plugin.source)


@about_installed("CNI-CFG-017", SOURCE)
def unsupported(installed: Installed) -> Iterator[Hit]:
    """What the plugin itself answers to VERSION."""
    version = installed.network.version
    for plugin, pointer, name in _named(installed.network):
        program = locate(name, installed.folders)
        if program is None or installed.versions_of is None or not os.access(program, os.X_OK):
            continue
        try:
            supported = installed.versions_of(program)
        except (Unanswered, OSError, ValueError) as error:
            message = f"{program} does not tell its versions: {error}"
            fix = "run it with CNI_COMMAND=VERSION"
            yield Hit(pointer, message, fix, Severity.WARNING, plugin.source)
            continue
        if version and version not in supported:
            message = f"{program} supports {', '.join(supported)}, the network needs {version}"
            fix = 'update the plugin, or change "cniVersion"'
            yield Hit(pointer, message, fix, source=plugin.source)


def locate(name: str, folders: tuple[Path, ...]) -> Path | None:
    """The first regular file of that name, as runtimes find it."""
    for folder in folders:
        try:
            if stat.S_ISREG(os.stat(folder / name).st_mode):
                return folder / name
        except (OSError, ValueError):
            continue
    return None


def _named(network: Network) -> Iterator[tuple[Plugin, Pointer, str]]:
    """Every file name that a type or an ipam type asks for."""
    for plugin in network.plugins:
        for value, pointer in ((plugin.value, ()), (plugin.ipam, ("ipam",))):
            name = value.get("type")
            if isinstance(name, str) and name and "/" not in name:
                yield plugin, (*plugin.pointer, *pointer, "type"), name
