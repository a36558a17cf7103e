"""A file's name against what is in it."""

from __future__ import annotations

from collections.abc import Iterator

from refimpl.cni.config.folder import LISTS, SINGLES, extension
from refimpl.cni.contract import at_least
from refimpl.cni.lint.finding import Hit, Severity
from refimpl.cni.lint.rule import about_folders, about_networks
from refimpl.cni.lint.subject import Folder, Network, Source

EXTENSIONS = (*LISTS, *SINGLES)
# What people call a configuration elsewhere.
MISTAKEN = (".yaml", ".yml", ".config", ".cfg")
BACKUPS = (
    *("~", ".bak", ".old", ".orig", ".save", ".swp", ".tmp", ".disabled", ".cni-bak"),
    *(".dpkg-old", ".dpkg-dist", ".rpmsave", ".rpmnew", ".cilium_bak"),
)


@about_networks("CNI-CFG-032", "practice: loaders go by the extension")
def wrong_extension(network: Network) -> Iterator[Hit]:
    """A list where a single plugin is read, or the other way round, stops the load."""
    suffix = extension(network.source.path.name)
    if suffix in SINGLES and "plugins" in network.value:
        message = f"a network list in a {suffix} file: loaders look for one plugin's type there"
        yield Hit((), message, "rename it to .conflist")
    elif suffix in LISTS and network.single:
        message = "a single plugin's document in a .conflist file: loaders find no plugins in it"
        yield Hit((), message, 'move it into "plugins", or rename the file to .conf')


@about_networks("CNI-CFG-033", "CNI 1.0.0: single-plugin documents are gone from the format")
def deprecated(network: Network) -> Iterator[Hit]:
    """Every runtime still wraps them."""
    if network.single and network.version and at_least(network.version, "1.0.0"):
        message = f"a single plugin's document claims version {network.version}, of lists only"
        fix = 'write a .conflist with "plugins"'
        yield Hit(("cniVersion",), message, fix, Severity.WARNING)


@about_folders("CNI-CFG-034", "practice: loaders read *.conflist, *.conf and *.json, no deeper")
def not_loaded(folder: Folder) -> Iterator[Hit]:
    """What lies in the folder and no loader reads; a warning where a network was meant."""
    for path in folder.strays:
        message = f"no runtime loads this: {_why(path.name)}"
        fix = "rename it if it is meant to be a network, or keep it elsewhere"
        severity = Severity.WARNING if _almost(path.name) else Severity.INFO
        yield Hit((), message, fix, severity, Source(path))
    for network in folder.networks:
        name = network.source.path.name
        if folder.alone and extension(name) not in EXTENSIONS:
            message = f"no runtime would load this from its folder: {_why(name)}"
            fix = "name it *.conflist"
            yield Hit((), message, fix, Severity.INFO, network.source)
        elif name.startswith("."):
            message = "a hidden file, which loaders read all the same, before all others"
            fix = "remove it, or give it a visible name"
            yield Hit((), message, fix, Severity.WARNING, network.source)


def _almost(name: str) -> bool:
    """Whether the name is a slip of that of a configuration. Other files are common here: what
    add-ons keep for themselves, networks that were put aside.
    """
    return extension(name).lower() in (*EXTENSIONS, *MISTAKEN)


def _why(name: str) -> str:
    """The reason in the terms of the name."""
    suffix = extension(name)
    if name.endswith(BACKUPS):
        return "the name is that of a backup"
    if suffix.lower() in EXTENSIONS and suffix not in EXTENSIONS:
        return f"the extension is {suffix}, and letter case counts"
    if suffix in EXTENSIONS:
        return "it is a directory"
    if name.startswith("."):
        return "it is hidden and has no extension of a configuration"
    return f"the extension is {suffix}" if suffix and suffix != name else "it has no extension"
