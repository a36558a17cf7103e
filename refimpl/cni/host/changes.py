"""What is done to links, addresses and routes of the calling thread's namespace, by netlink.

Links are named by their index, or by name where the index is not known yet. Every function raises
OSError with the kernel's own code.
"""

from __future__ import annotations

import contextlib
import errno
import ipaddress
import socket
import sys
from collections.abc import Iterator, Mapping
from typing import Final

from refimpl.cni.host.netlink import IFA, IFLA, RTA, Kind, change, dump, head, pack
from refimpl.cni.host.views import RouteView

__all__ = [
    "add_address",
    "add_link",
    "add_pair",
    "add_route",
    "bring_up",
    "delete_link",
    "delete_route",
    "flush_addresses",
    "set_down",
    "set_mac",
]

_NEW_LINK, _DELETE_LINK = 16, 17
_NEW_ADDRESS, _DELETE_ADDRESS = 20, 21
_NEW_ROUTE, _DELETE_ROUTE = 24, 25
_MAKE: Final = 0x600  # NLM_F_CREATE | NLM_F_EXCL
_UP: Final = 0x1
_VETH_PEER: Final = 1
_UNICAST, _STATIC, _MAIN_TABLE = 1, 4, 254
_KINDS_OF_ROUTES: Final = {"blackhole": 6, "unreachable": 7, "prohibit": 8}


def add_link(name: str, kind: str, data: bytes = b"", *, below: int = 0) -> None:
    """Adds a link of a kind, down. `data` are attributes of the kind, `below` the link it needs."""
    about = pack(IFLA.INFO_KIND, kind) + (pack(IFLA.INFO_DATA, data) if data else b"")
    parent = pack(IFLA.LINK, below) if below else b""
    _link(_NEW_LINK, _MAKE, _head(), pack(IFLA.IFNAME, name), parent, pack(IFLA.LINKINFO, about))


def add_pair(name: str, other: str, namespace: int | None = None) -> None:
    """Adds a veth pair, both ends down: `other` here, or in the namespace of an open file."""
    there = b"" if namespace is None else pack(IFLA.NET_NS_FD, namespace)
    peer = _head() + pack(IFLA.IFNAME, other) + there
    add_link(name, "veth", pack(_VETH_PEER, peer))


def delete_link(index: int) -> None:
    """Removes a link, and the other end of a pair."""
    _link(_DELETE_LINK, 0, _head(index))


def bring_up(name: str) -> None:
    """Sets a link up, as runtimes do with the loopback."""
    _link(_NEW_LINK, 0, _head(flags=_UP, mask=_UP), pack(IFLA.IFNAME, name))


def set_down(index: int) -> None:
    """Sets a link down."""
    _link(_NEW_LINK, 0, _head(index, mask=_UP))


def set_mac(index: int, mac: str) -> None:
    """Gives a link another hardware address, text with colons."""
    address = bytes.fromhex(mac.replace(":", ""))
    _link(_NEW_LINK, 0, _head(index), pack(IFLA.ADDRESS, address))


def add_address(index: int, address: str) -> None:
    """Puts an address, CIDR text with host bits, on a link."""
    interface = ipaddress.ip_interface(address)
    family = _family(interface.version)
    members = head(Kind.ADDRESSES, family, interface.network.prefixlen, 0, 0, index)
    packed = interface.ip.packed
    both = pack(IFA.LOCAL, packed) + pack(IFA.ADDRESS, packed)
    change(Kind.ADDRESSES, _NEW_ADDRESS, _MAKE, members, both)


def flush_addresses(index: int) -> None:
    """Takes every address off a link."""
    for message in dump(Kind.ADDRESSES):
        if message.fixed[4] != index:
            continue
        values = {name: message.attributes.get(name) for name in (IFA.LOCAL, IFA.ADDRESS)}
        own = b"".join(pack(name, value) for name, value in values.items() if value)
        # The kernel takes the secondary addresses of a network with the first.
        with _missing(errno.EADDRNOTAVAIL):
            change(Kind.ADDRESSES, _DELETE_ADDRESS, 0, head(Kind.ADDRESSES, *message.fixed), own)


def add_route(dst: str, gateway: str) -> None:
    """Adds a route by a gateway to the main table."""
    network, hop = ipaddress.ip_network(dst, strict=False), ipaddress.ip_address(gateway)
    about = (0, 0, _MAIN_TABLE, _STATIC, 0, _UNICAST, 0)
    members = head(Kind.ROUTES, _family(network.version), network.prefixlen, *about)
    to = pack(RTA.DST, network.network_address.packed)
    change(Kind.ROUTES, _NEW_ROUTE, _MAKE, members, to, pack(RTA.GATEWAY, hop.packed))


def delete_route(route: RouteView, indexes: Mapping[str, int]) -> None:
    """Removes a route that was read; `indexes` are those of the links by name. One that went with
    another is fine."""
    network = ipaddress.ip_network(route.dst)
    kind = 0 if route.dev in indexes else _KINDS_OF_ROUTES.get(route.dev, 0)
    about = (0, 0, 0, 0, route.scope, kind, 0)
    members = head(Kind.ROUTES, _family(network.version), network.prefixlen, *about)
    parts = [pack(RTA.DST, network.network_address.packed)]
    parts.append(pack(RTA.TABLE, route.table or _MAIN_TABLE))
    if route.dev in indexes:
        parts.append(pack(RTA.OIF, indexes[route.dev]))
    if route.priority:
        parts.append(pack(RTA.PRIORITY, route.priority))
    if route.gw:
        parts.append(_gateway(route.gw, network.version))
    with _missing(errno.ESRCH):
        change(Kind.ROUTES, _DELETE_ROUTE, 0, members, *parts)


def _head(index: int = 0, flags: int = 0, mask: int = 0) -> bytes:
    """The head of a link: `flags` are set where `mask` has them."""
    return head(Kind.LINKS, socket.AF_UNSPEC, 0, index, flags, mask)


def _link(request: int, flags: int, *parts: bytes) -> None:
    change(Kind.LINKS, request, flags, *parts)


def _gateway(text: str, version: int) -> bytes:
    """A next hop; one of the other family stands in an attribute of its own, behind its family."""
    hop = ipaddress.ip_address(text)
    if hop.version == version:
        return pack(RTA.GATEWAY, hop.packed)
    return pack(RTA.VIA, _family(hop.version).to_bytes(2, sys.byteorder) + hop.packed)


def _family(version: int) -> int:
    return socket.AF_INET if version == 4 else socket.AF_INET6


@contextlib.contextmanager
def _missing(code: int) -> Iterator[None]:
    """Passes over the code with which the kernel says that something is gone already."""
    try:
        yield
    except OSError as error:
        if error.errno != code:
            raise
