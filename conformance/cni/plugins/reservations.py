"""Addresses of an IPAM plugin: ranges as a case wants them, and the store that remembers them.

The store is host-local's, which others share: a directory a network in `ipam.dataDir`, in it a file
an address, named by it, with the container's id and the interface's name on a line each.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from ipaddress import ip_address, ip_interface
from typing import Any

from conformance.cni.plugins.attachments import CniAttachment
from conformance.cni.plugins.outcomes import result_of
from conformance.cni.plugins.plugin import PluginUnderTest
from conformance.engine.verdict import Broken
from refimpl.cni.execute import Outcome

OWN_CODES = 100
"""From here on error codes are the plugin's own (CNI 1.1 "Error")."""

NETWORK = "10.88.7"
"""What `pool` takes its addresses from: the first three bytes of a /24."""

_OLD_STYLE = ("subnet", "rangeStart", "rangeEnd", "gateway")
_ID_AND_NAME = b"\r\n"


def pool(count: int) -> dict[str, str]:
    """A range of so many addresses, from NETWORK.10 on."""
    start, end = f"{NETWORK}.10", f"{NETWORK}.{9 + count}"
    return {"subnet": f"{NETWORK}.0/24", "rangeStart": start, "rangeEnd": end}


def ranged(
    plugin: PluginUnderTest, *sets: Mapping[str, str] | list[dict[str, str]], **ipam: Any
) -> dict[str, Any]:
    """The plugin's document with these range sets in place of its own; a mapping is a set of one
    range. Needs RANGES.
    """
    chosen = [[dict(each)] if isinstance(each, Mapping) else each for each in sets]
    members = {**dict.fromkeys(_OLD_STYLE), "ranges": chosen or None, **ipam}
    return plugin.config(ipam=plugin.ipam(**members), runtimeConfig=None)


def addresses(result: Mapping[str, Any]) -> list[str]:
    """The addresses of a result in any version's shape, without their prefix lengths."""
    texts = [each.get("address") for each in result.get("ips") or ()]
    texts += [result[family].get("ip") for family in ("ip4", "ip6") if result.get(family)]
    return [_bare(each) for each in texts if isinstance(each, str)]


def _bare(address: str) -> str:
    try:
        return str(ip_interface(address).ip)
    except ValueError:
        return address


def given(outcome: Outcome, rule: str) -> list[str]:
    """The addresses of an ADD that has to succeed; raises Broken, also where there is none."""
    held = addresses(result_of(outcome, rule))
    if not held:
        raise Broken(rule, "an address in the result", outcome.brief())
    return held


def neighbours(pod: CniAttachment, count: int) -> list[CniAttachment]:
    """So many containers beside this one, in its namespace: IPAM plugins look at the ids alone."""
    return [pod.other(container_id=f"{pod.container_id}.{number}") for number in range(count)]


def failed(outcome: Outcome, rule: str, *codes: int) -> None:
    """Raises Broken unless the call failed with one of these codes or one of the plugin's own."""
    error = None if outcome.ok else outcome.error
    if error is None or not (error.code in codes or error.code >= OWN_CODES):
        named = "".join(f"code {code} or " for code in sorted(codes))
        raise Broken(rule, f"a failure with {named}a code of its own", outcome.brief())


class Reservations:
    """The reservations of one network as they lie on the disk. Needs LOCAL_STORE."""

    def __init__(self, plugin: PluginUnderTest, network: str = "") -> None:
        self.folder = plugin.data_dir / (network or plugin.network)

    def owners(self) -> dict[str, tuple[str, str]]:
        """Container id and interface name of each address; "" as name in entries of old versions.

        No address twice, so what is compared to it tells the addresses apart.
        """
        names = [path for path in self._files() if _is_address(path.name)]
        return {path.name: _owner(path.read_bytes()) for path in names if path.is_file()}

    def internals(self) -> set[str]:
        """The files of the store that are no reservations."""
        return {path.name for path in self._files() if not _is_address(path.name)}

    def _files(self) -> Iterable[Any]:
        return sorted(self.folder.iterdir()) if self.folder.is_dir() else ()

    def write(self, address: str, container_id: str, ifname: str = "") -> None:
        """An entry as a plugin writes it; without ifname as old versions did."""
        parts = [container_id.encode(), ifname.encode()]
        (self.folder / address).write_bytes(_ID_AND_NAME.join(parts if ifname else parts[:1]))


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def _owner(content: bytes) -> tuple[str, str]:
    container_id, _, ifname = content.decode(errors="replace").strip().partition("\r\n")
    return container_id, ifname
