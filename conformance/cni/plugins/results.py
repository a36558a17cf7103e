"""How cases look at a result: by version, by sort of problem, and against the links it tells of."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Collection, Iterator
from typing import Any

from conformance.cni.plugins.attachments import CniAttachment
from conformance.cni.plugins.plugin import PluginUnderTest
from refimpl.cni import contract
from refimpl.cni.contract import Interface, Kind, Problem
from refimpl.cni.host import Link

_SHAPES = (("0.1.0", "0.2.0"), ("0.3.0", "0.3.1", "0.4.0"), ("1.0.0",), ("1.1.0",))


def shapes(plugin: PluginUnderTest) -> list[str]:
    """The newest version that the plugin has of each shape of results; chaining came with 0.3.0."""
    wanted = _SHAPES[1:] if plugin.kind == "chained" else _SHAPES
    known = ([v for v in shape if v in plugin.versions] for shape in wanted)
    return [versions[-1] for versions in known if versions]


def decoded(result: dict[str, Any], version: str) -> contract.Result:
    """The result as far as it can be read."""
    return contract.decode(result, version, lenient=True)


def sentences(
    result: dict[str, Any],
    version: str,
    kinds: Collection[Kind],
    where: Callable[[Problem], bool] | None = None,
) -> list[str]:
    """The problems of these kinds in a result, as sentences."""
    every = contract.problems(result, version)
    return [str(each) for each in every if each.kind in kinds and (not where or where(each))]


def nulls(value: Any, at: str = "") -> Iterator[str]:
    """Where in a document null stands (JSON pointers)."""
    if value is None:
        yield at
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from nulls(inner, f"{at}/{key}")
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from nulls(inner, f"{at}/{number}")


def link_of(plugin: PluginUnderTest, pod: CniAttachment, interface: Interface) -> Link | None:
    """The link that an entry of the result stands for; None where there is none."""
    if interface.sandbox not in ("", pod.netns):
        return None
    return plugin.host.links(interface.sandbox or None).get(interface.name)


def virtual(interface: Interface) -> bool:
    """Whether an entry need not be a link of the kernel: a socket, or a device that it does not
    drive.
    """
    return bool(interface.socket_path or interface.pci_id)


def has_address(link: Link | None, address: str) -> bool:
    """Whether a link has an address, prefix included, however it is written."""
    known = {str(ipaddress.ip_interface(each)) for each in link.addresses} if link else set()
    try:
        return str(ipaddress.ip_interface(address)) in known
    except ValueError:
        return False
