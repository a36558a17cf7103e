"""The folder named like a network, whose plugins are appended (CNI 1.1 as of 2025)."""

from __future__ import annotations

from collections.abc import Iterator

from refimpl.cni.config.shape import plugin_problems
from refimpl.cni.lint.finding import Hit, Severity
from refimpl.cni.lint.rule import about_networks
from refimpl.cni.lint.rules.folders import SAME_DIGITS, out_of_order
from refimpl.cni.lint.subject import Network, Source

SOURCE = "CNI 1.1, configuration format: loadOnlyInlinedPlugins and the network's folder"


@about_networks("CNI-CFG-013", SOURCE)
def ignored(network: Network) -> Iterator[Hit]:
    """Files that lie where plugins are looked for and are none."""
    folder = network.subdirectory
    if folder is None:
        return
    if folder.defect:
        yield Hit((), folder.defect, "make the folder readable", source=Source(folder.path))
    fix = "remove it, or move what is meant as a plugin into a *.conf file here"
    for path in folder.others:
        message = f'not a plugin of network "{network.name}": only files *.conf are read here'
        yield Hit((), message, fix, Severity.WARNING, Source(path))
    for source in folder.sources if not network.merges else ():
        message = f'ignored: network "{network.name}" has loadOnlyInlinedPlugins'
        fix = "remove the file, or the flag"
        yield Hit((), message, fix, Severity.WARNING, source)


@about_networks("CNI-CFG-013", SOURCE)
def unsound(network: Network) -> Iterator[Hit]:
    """A plugin document here that is none keeps the whole network from being loaded."""
    if network.subdirectory is None or not network.merges:
        return
    for source in network.subdirectory.sources:
        if source.document is None:
            message = f'network "{network.name}" is not loaded: a plugin of it is no document'
            yield Hit((), message, "correct or remove the file", source=source)
        for problem in plugin_problems(source.value, ()) if source.document else ():
            yield Hit(problem.pointer, problem.text, problem.fix, source=source)


@about_networks("CNI-CFG-014", SOURCE)
def effective(network: Network) -> Iterator[Hit]:
    """The list as a runtime runs it, where it is not the one in the file."""
    added = network.plugins[len(network.inlined) :]
    if added:
        order = [plugin.type or "?" for plugin in network.inlined]
        order += [f"{plugin.type or '?'} ({plugin.source.path.name})" for plugin in added]
        message = f"the effective plugins are {', '.join(order)}"
        fix = "names of files decide the order; older runtimes see the inlined ones only"
        yield Hit((), message, fix, Severity.INFO)


@about_networks("CNI-CFG-014", SOURCE)
def disorder(network: Network) -> Iterator[Hit]:
    """Numbers in names that the order does not follow: it is that of the names' bytes."""
    if network.subdirectory is None or not network.merges:
        return
    sources = network.subdirectory.sources
    pair = out_of_order([source.path.name for source in sources])
    if pair:
        message = f"{pair[0]} is run before {pair[1]}: names sort as text"
        first = next(source for source in sources if source.path.name == pair[0])
        yield Hit((), message, SAME_DIGITS, Severity.WARNING, first)
