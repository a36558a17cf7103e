"""cniVersion and cniVersions, and flags that depend on where they stand."""

from __future__ import annotations

from collections.abc import Iterator

from refimpl.cni.config.shape import FLAGS, is_version
from refimpl.cni.contract import LATEST, VERSIONS, at_least
from refimpl.cni.contract.problem import describe
from refimpl.cni.lint.finding import Hit, Severity
from refimpl.cni.lint.rule import about_networks
from refimpl.cni.lint.subject import Network


@about_networks("CNI-CFG-005", "CNI 0.1.0: a document without cniVersion is of version 0.1.0")
def unsaid(network: Network) -> Iterator[Hit]:
    """No version is the oldest version."""
    if network.value and "cniVersions" not in network.value and not _said(network):
        message = '"cniVersion" is missing: plugins are called with 0.1.0'
        yield Hit((), message, f'add "cniVersion": "{LATEST}"', Severity.WARNING)


def _said(network: Network) -> bool:
    return bool(network.value.get("cniVersion", "") != "")


@about_networks("CNI-CFG-006", "CNI 1.1, versions: 0.1.0 to 1.1.0")
def unknown(network: Network) -> Iterator[Hit]:
    """A well-formed version that no specification has."""
    version = network.value.get("cniVersion", "")
    if version and is_version(version) and version not in VERSIONS:
        message = f'"cniVersion" is {describe(version)}; there is {", ".join(VERSIONS)}'
        yield Hit(("cniVersion",), message, f'write one of them, for example "{LATEST}"')


@about_networks("CNI-CFG-007", "CNI 1.1, configuration format: cniVersions")
def incomplete(network: Network) -> Iterator[Hit]:
    """A list of versions that does not say what its author most likely meant."""
    offered = network.value.get("cniVersions")
    if not isinstance(offered, list):
        return
    version = network.value.get("cniVersion")
    if not offered:
        message = '"cniVersions" is empty: "cniVersion" alone counts'
        yield Hit(("cniVersions",), message, "list the versions or remove it", Severity.WARNING)
    elif isinstance(version, str) and version not in offered:
        message = f'"cniVersions" lacks "cniVersion" {describe(version)}, which is offered too'
        yield Hit(("cniVersions",), message, "add it to the list", Severity.WARNING)


@about_networks("CNI-CFG-008", "CNI 1.1, configuration format: cniVersions is new in 1.1.0")
def early_list(network: Network) -> Iterator[Hit]:
    """Runtimes that know the member know 1.1.0; all others see cniVersion only."""
    if not isinstance(network.value.get("cniVersions"), list) or not network.value["cniVersions"]:
        return
    if not any(at_least(version, "1.1.0") for version in network.versions):
        message = '"cniVersions" offers nothing from 1.1.0 on; runtimes before 1.1.0 ignore it'
        fix = 'add "1.1.0", or keep "cniVersion" alone'
        yield Hit(("cniVersions",), message, fix, Severity.WARNING, at_name=True)


@about_networks("CNI-CFG-010", "CNI 1.1, configuration format: the flags belong to the list")
def misplaced_flags(network: Network) -> Iterator[Hit]:
    """A flag in a plugin object reaches the plugin and not the runtime."""
    for plugin in network.plugins:
        for flag in FLAGS:
            if flag in plugin.value:
                where = "a single-plugin document" if network.single else "a plugin object"
                fix = "move it to the list, beside name" + (
                    "; write a .conflist for that" if network.single else ""
                )
                pointer = (*plugin.pointer, flag)
                message = f'"{flag}" has no effect in {where}'
                yield Hit(pointer, message, fix, source=plugin.source, at_name=True)
