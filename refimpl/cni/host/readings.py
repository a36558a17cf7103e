"""What rtnetlink says about one namespace, turned into the views of a host.

Times, counters and what a kernel adds by itself (link-local IPv6 addresses with their routes, the
local table, default rules and queues) are left out: they differ between two looks at one state.
Numbers are those of linux/if_link.h, if_addr.h, rtnetlink.h, fib_rules.h and pkt_sched.h.
"""

from __future__ import annotations

import ipaddress
import socket
import struct
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from attrs import evolve, frozen

from refimpl.cni.host.netlink import IFA, IFLA, RTA, Kind, Message, attributes, dump
from refimpl.cni.host.views import Link, NamespaceView, RouteView

__all__ = ["Reading", "paired", "read"]

_UP, _LOOPBACK = 0x1, 0x8
_RULE_DST, _RULE_SRC, _RULE_IIF, _RULE_MARK, _RULE_OIF = 1, 2, 3, 10, 17
_QUEUE_KIND, _QUEUE_OPTIONS, _TBF_PARMS = 1, 2, 1

_CLONED, _BY_KERNEL = 0x200, 2
_LOCAL_TABLE, _MAIN_TABLE = 255, 254
_ROUTES: Final = {1: "", 6: "blackhole", 7: "unreachable", 8: "prohibit"}
"""Kinds of routes that are shown (rtm_type), those without a link under their name as `dev`."""
_IPV6_METRIC: Final = 1024
_FAMILIES: Final = {socket.AF_INET: ("inet", "0.0.0.0"), socket.AF_INET6: ("inet6", "::")}
_DEFAULT_RULES: Final = {(0, 255), (32766, 254), (32767, 253)}
_DEFAULT_QUEUES: Final = {"", "noqueue", "noop", "mq", "pfifo_fast", "fq_codel", "pfifo", "fq"}
_PLACES: Final = {0xFFFF_FFFF: "root", 0xFFFF_FFF1: "ingress"}


@frozen
class Reading:
    """One namespace as it was read. `ends` gives, by name, the numbers of both ends of each veth
    whose other end lies in another namespace: (its own, the other's there)."""

    view: NamespaceView
    ends: Mapping[str, tuple[int, int]]


def read() -> Reading:
    """Everything of the calling thread's namespace. Raises OSError."""
    messages = dump(Kind.LINKS)
    names = {message.fixed[2]: message.text(IFLA.IFNAME) for message in messages}
    addresses = _addresses(dump(Kind.ADDRESSES))
    links = [_link(message, names, addresses) for message in messages]
    view = NamespaceView(
        links={link.name: link for link in links},
        routes=tuple(_routes(dump(Kind.ROUTES), names)),
        rules=(*_rules(dump(Kind.RULES)), *_queues(dump(Kind.QUEUES), names)),
    )
    ends = {
        message.text(IFLA.IFNAME): (message.fixed[2], message.number(IFLA.LINK))
        for message in messages
        if IFLA.LINK_NETNSID in message.attributes and _kind(message) == "veth"
    }
    return Reading(view, ends)


def paired(readings: Mapping[str, Reading]) -> dict[str, NamespaceView]:
    """The views, with the names of those other ends that lie in another namespace read here."""
    return {place: _with_peers(place, readings) for place in readings}


def _with_peers(place: str, readings: Mapping[str, Reading]) -> NamespaceView:
    reading = readings[place]
    elsewhere = {
        # Both ends name each other by number; a number alone is not unique between namespaces.
        (other, own): name
        for where, other_reading in readings.items()
        if where != place
        for name, (own, other) in other_reading.ends.items()
    }
    links = {
        name: evolve(link, peer=link.peer or elsewhere.get(reading.ends.get(name, (0, 0)), ""))
        for name, link in reading.view.links.items()
    }
    return evolve(reading.view, links=links)


def _kind(message: Message) -> str:
    info = attributes(message.attributes.get(IFLA.LINKINFO, b""))
    return info.get(IFLA.INFO_KIND, b"").rstrip(b"\0").decode()


def _link(
    message: Message, names: Mapping[int, str], addresses: Mapping[int, Iterable[str]]
) -> Link:
    _family, _type, index, flags, _change = message.fixed
    kind = "loopback" if flags & _LOOPBACK else _kind(message)
    beside = kind == "veth" and IFLA.LINK_NETNSID not in message.attributes
    return Link(
        name=message.text(IFLA.IFNAME),
        mac=message.attributes.get(IFLA.ADDRESS, b"").hex(":"),
        mtu=message.number(IFLA.MTU),
        up=bool(flags & _UP),
        addresses=tuple(sorted(addresses.get(index, ()))),
        kind=kind,
        master=names.get(message.number(IFLA.MASTER), ""),
        peer=names.get(message.number(IFLA.LINK), "") if beside else "",
    )


def _addresses(messages: Iterable[Message]) -> dict[int, list[str]]:
    addresses: dict[int, list[str]] = {}
    for message in messages:
        _family, length, _flags, _scope, index = message.fixed
        # On a point-to-point link IFA.ADDRESS is the other side's.
        packed = message.attributes.get(IFA.LOCAL) or message.attributes[IFA.ADDRESS]
        address = ipaddress.ip_address(packed)
        if not (address.version == 6 and address.is_link_local):
            addresses.setdefault(index, []).append(f"{address}/{length}")
    return addresses


def _routes(messages: Iterable[Message], names: Mapping[int, str]) -> Iterator[RouteView]:
    for message in messages:
        route = _route(message)
        if route is None:
            continue
        for number, hop in _hops(message):
            dev = _ROUTES[message.fixed[7]] or names.get(number, "")
            yield evolve(route, gw=_gateway(hop), dev=dev)


def _route(message: Message) -> RouteView | None:
    """The route without its hop, None for one that is the kernel's own business."""
    family, length, _src, _tos, table, origin, scope, kind, flags = message.fixed
    table = message.number(RTA.TABLE) or table
    if kind not in _ROUTES or flags & _CLONED or table == _LOCAL_TABLE or family not in _FAMILIES:
        return None
    packed = message.attributes.get(RTA.DST)
    dst = ipaddress.ip_address(packed or _FAMILIES[socket.AddressFamily(family)][1])
    if origin == _BY_KERNEL and dst.version == 6 and dst.is_link_local:
        return None
    metrics = Message((), attributes(message.attributes.get(RTA.METRICS, b"")))
    priority = message.number(RTA.PRIORITY)
    # IPv6 fills in what nobody asked for: 1024, and 256 for connected routes.
    filled_in = dst.version == 6 and (origin == _BY_KERNEL or priority == _IPV6_METRIC)
    return RouteView(
        dst=f"{dst}/{length}",
        mtu=metrics.number(RTA.METRIC_MTU),
        advmss=metrics.number(RTA.METRIC_ADVMSS),
        priority=0 if filled_in else priority,
        table=0 if table == _MAIN_TABLE else table,
        scope=scope,
    )


def _hops(message: Message) -> Iterator[tuple[int, Message]]:
    """The links (by number) and gateways of a route: one, or several that share the traffic."""
    data = message.attributes.get(RTA.MULTIPATH, b"")
    if not data:
        yield message.number(RTA.OIF), message
    while len(data) >= 8:
        length, _flags, _weight, number = struct.unpack_from("=HBBi", data)
        yield number, Message((), attributes(data[8:length]))
        data = data[max(length, 8) :]


def _gateway(hop: Message) -> str:
    # A gateway of the other family stands in an attribute of its own, behind two bytes of family.
    packed = hop.attributes.get(RTA.GATEWAY) or hop.attributes.get(RTA.VIA, b"")[2:]
    return str(ipaddress.ip_address(packed)) if packed else ""


def _rules(messages: Iterable[Message]) -> Iterator[str]:
    for message in messages:
        family, priority = message.fixed[0], message.number(RTA.PRIORITY)
        if family not in _FAMILIES:  # the multicast routing's own
            continue
        table = message.number(RTA.TABLE) or message.fixed[4]
        selectors = list(_selectors(message))
        if selectors or (priority, table) not in _DEFAULT_RULES:
            name = _FAMILIES[socket.AddressFamily(family)][0]
            yield " ".join([f"{name} rule {priority}:", *selectors, f"table {table}"])


def _selectors(message: Message) -> Iterator[str]:
    lengths = {"from": (_RULE_SRC, message.fixed[2]), "to": (_RULE_DST, message.fixed[1])}
    for word, (name, length) in lengths.items():
        if packed := message.attributes.get(name):
            yield f"{word} {ipaddress.ip_address(packed)}/{length}"
    for word, name in (("iif", _RULE_IIF), ("oif", _RULE_OIF)):
        if text := message.text(name):
            yield f"{word} {text}"
    if mark := message.number(_RULE_MARK):
        yield f"fwmark {mark:#x}"


def _queues(messages: Iterable[Message], names: Mapping[int, str]) -> Iterator[str]:
    """Queues that somebody set: what shapes the traffic of a link."""
    for message in messages:
        _family, index, _handle, parent, _info = message.fixed
        kind = message.text(_QUEUE_KIND)
        if kind not in _DEFAULT_QUEUES:
            place = _PLACES.get(parent, f"below {parent:x}")
            yield f"queue {kind} at {place} of {names.get(index, '?')}{_rate(kind, message)}"


def _rate(kind: str, message: Message) -> str:
    if kind != "tbf":
        return ""
    shape = attributes(message.attributes.get(_QUEUE_OPTIONS, b"")).get(_TBF_PARMS, bytes(12))
    return f", {struct.unpack_from('=I', shape, 8)[0]} bytes/s"
