"""What a chained plugin finds: the link, address and route of the plugins before it, and the result
that tells of them.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import attrs

from conformance.cni.plugins.attachments import CniAttachment
from refimpl.cni import contract
from refimpl.cni.contract import Verb
from refimpl.cni.execute import Request
from refimpl.cni.host import Host

ANYWHERE, GATEWAY = "0.0.0.0/0", "10.88.0.1"
_NUMBERS = itertools.count()


@attrs.frozen
class Pair:
    """Two linked links: `ifname` in the namespace, `outside` on the host."""

    netns: str
    ifname: str
    outside: str
    address: str
    macs: dict[str, str] = attrs.field(factory=dict)

    def make(self, host: Host) -> None:
        """Makes the pair with address and default route; at another time with the same MACs."""
        host.add_pair(self.netns, self.ifname, self.outside)
        for netns, name in ((self.netns, self.ifname), (None, self.outside)):
            if name in self.macs:
                host.set_mac(netns, name, self.macs[name])
            self.macs[name] = host.links(netns)[name].mac
        host.add_address(self.netns, self.ifname, self.address)
        host.add_route(self.netns, ANYWHERE, GATEWAY)

    def result(self) -> dict[str, Any]:
        """In the newest version; with mac and mtu once it was made."""
        ends = [{"name": self.outside}, {"name": self.ifname, "sandbox": self.netns}]
        return {
            "cniVersion": "1.1.0",
            "interfaces": [self._told(end) for end in ends],
            "ips": [{"address": self.address, "gateway": GATEWAY, "interface": 1}],
            "routes": [{"dst": ANYWHERE, "gw": GATEWAY}],
        }

    def _told(self, end: dict[str, Any]) -> dict[str, Any]:
        mac = self.macs.get(end["name"])
        return {**end, "mac": mac, "mtu": 1500} if mac else end


def _unused() -> tuple[str, str]:
    """A name outside and an address that no case had: what one leaves behind, such as a rule of the
    packet filter for its address, must not be taken for another's.
    """
    number = next(_NUMBERS)
    block, host = divmod(number, 250)
    return f"before{number}", f"10.88.{block % 256}.{host + 2}/16"


def prev_result_for(verb: str, pod: CniAttachment | None, document: Mapping[str, Any]) -> Any:
    """The prevResult that a runtime gives with this document; None for none."""
    if pod is None or verb not in (Verb.ADD, Verb.DEL, Verb.CHECK):
        return None
    if verb == Verb.ADD:
        return _converted(pod.before, document)
    version = str(document.get("cniVersion", ""))
    if version in contract.VERSIONS and not contract.at_least(version, "0.4.0"):
        return None  # CNI 0.4.0 brought prevResult to DEL
    return _converted(pod.result or pod.before, document)


def _converted(result: dict[str, Any] | None, document: Mapping[str, Any]) -> Any:
    version = str(document.get("cniVersion", ""))
    if result is None or version not in contract.VERSIONS or version == result["cniVersion"]:
        return result
    decoded = contract.decode(result, str(result["cniVersion"]), lenient=True)
    return contract.encode(contract.convert(decoded, version))


class PluginsBefore:
    """The plugins before a chained one. host: None where no namespaces can be made; then results
    tell what nobody made.
    """

    def __init__(self, host: Host | None) -> None:
        self._host = host
        self._pairs: dict[tuple[str, str], Pair] = {}
        self._deleted: set[tuple[str, str]] = set()

    def attach(self, pod: CniAttachment) -> dict[str, Any]:
        """Their ADD for a pod; the result."""
        pair = Pair(pod.netns, pod.ifname, *_unused())
        self._pairs[pod.netns, pod.ifname] = pair
        if self._host:
            pair.make(self._host)
        return pair.result()

    def precede(self, request: Request) -> None:
        """What they do before a call of the chained plugin: an ADD that follows a DEL finds a new
        pair, as after DEL of the whole list. What a plugin left on the old one went with that.
        """
        key = request.env.get("CNI_NETNS", ""), request.env.get("CNI_IFNAME", "")
        if request.verb == Verb.DEL:
            self._deleted.add(key)
        elif request.verb == Verb.ADD and key in self._deleted:
            self._renew(key)

    def _renew(self, key: tuple[str, str]) -> None:
        self._deleted.discard(key)
        pair = self._pairs.get(key)
        if pair and self._host:
            if pair.ifname in self._host.links(pair.netns):
                self._host.delete_link(pair.netns, pair.ifname)
            pair.make(self._host)
