"""Objects of the kernel become views; what the kernel does by itself stays out."""

from __future__ import annotations

import socket
import struct
from ipaddress import ip_address

from refimpl.cni.host import Link, NamespaceView, RouteView, readings
from refimpl.cni.host.netlink import Message
from refimpl.cni.host.readings import Reading, paired

NAMES = {2: "eth0", 3: "eth1"}


def route(family: int = socket.AF_INET, **about: int) -> tuple[int, ...]:
    """The fixed part of a route: a unicast one of the main table, unless told otherwise."""
    default = {"length": 0, "table": 254, "origin": 3, "scope": 0, "kind": 1, "flags": 0}
    given = default | about
    head = (family, given["length"], 0, 0, given["table"], given["origin"])
    return (*head, given["scope"], given["kind"], given["flags"])


def number(value: int) -> bytes:
    return struct.pack("=I", value)


def routes(*messages: Message) -> list[RouteView]:
    return list(readings._routes(messages, NAMES))


def test_a_route_over_several_links_is_one_view_a_hop() -> None:
    """A result names one gateway a route, so that is what gets compared."""
    hops = b"".join(
        struct.pack("=HBBiHH", 16, 0, 0, link, 8, 5) + ip_address(gateway).packed
        for link, gateway in ((2, "10.0.0.1"), (3, "10.1.0.1"))
    )
    assert routes(Message(route(), {9: hops})) == [
        RouteView("0.0.0.0/0", gw="10.0.0.1", dev="eth0"),
        RouteView("0.0.0.0/0", gw="10.1.0.1", dev="eth1"),
    ]


def test_a_gateway_of_the_other_family_is_told() -> None:
    """IPv4 over an IPv6 next hop, which some network plugins use for every pod."""
    via = struct.pack("=H", socket.AF_INET6) + ip_address("fe80::1").packed
    message = Message(route(), {4: number(2), 18: via})
    assert routes(message) == [RouteView("0.0.0.0/0", gw="fe80::1", dev="eth0")]


def test_metrics_tables_and_priorities_are_told() -> None:
    """The members a result of version 1.1.0 may give a route."""
    metrics = struct.pack("=HHIHHI", 8, 2, 1400, 8, 8, 1360)
    members = {1: bytes([10, 9, 0, 0]), 4: number(2), 6: number(5), 8: metrics, 15: number(1000)}
    views = routes(Message(route(length=16, table=252, scope=253), members))
    assert views == [
        RouteView("10.9.0.0/16", "", "eth0", 1400, 1360, priority=5, table=1000, scope=253)
    ]


def test_a_priority_that_the_kernel_fills_in_is_none() -> None:
    """IPv6 routes have one always; a result that gave none has to compare equal."""
    for origin, priority in ((3, 1024), (2, 256)):
        members = {4: number(2), 6: number(priority)}
        views = routes(Message(route(socket.AF_INET6, origin=origin), members))
        assert views == [RouteView("::/0", dev="eth0")]


def test_routes_of_the_kernel_itself_are_left_out() -> None:
    """The local table, clones, link-local prefixes, multicast: they come and go with time."""
    link_local = {1: ip_address("fe80::").packed, 4: number(2)}
    assert not routes(
        Message(route(table=255), {}),
        Message(route(flags=0x200), {}),
        Message(route(kind=5), {}),
        Message(route(socket.AF_INET6, length=64, origin=2), link_local),
        Message(route(128), {}),
    )


def veth(name: str) -> NamespaceView:
    return NamespaceView({name: Link(name, kind="veth")})


def test_the_ends_of_a_pair_find_each_other_by_both_numbers() -> None:
    """Numbers repeat between namespaces: two pods whose eth0 is 2, each with an end on the host."""
    readings = {
        "host": Reading(
            NamespaceView({**veth("vetha").links, **veth("vethb").links}),
            {"vetha": (5, 2), "vethb": (6, 2)},
        ),
        "a": Reading(veth("eth0"), {"eth0": (2, 5)}),
        "b": Reading(veth("net1"), {"net1": (2, 6)}),
        "c": Reading(veth("far"), {"far": (2, 9)}),
    }
    views = paired(readings)
    assert {name: link.peer for name, link in views["host"].links.items()} == {
        "vetha": "eth0",
        "vethb": "net1",
    }
    assert views["a"].links["eth0"].peer == "vetha"
    assert views["b"].links["net1"].peer == "vethb"
    assert views["c"].links["far"].peer == ""
