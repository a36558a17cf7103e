"""The kernel as a host that is changed: every change is seen by the next look, and nothing else.

Each story is played twice: as root, and by a user without any right in a user namespace.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest
from attrs import evolve

from refimpl.cni.host import HostError, RouteView
from refimpl.cni.host.kernel import Kernel

Attach = Callable[[str], None]
Configured = Callable[[str | None], AbstractContextManager[Any]]
Play = Callable[[Callable[[Kernel], None]], None]


def files_open() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_each_change_is_seen_and_nothing_else(attach: Attach, play: Play) -> None:
    """The five ways in which a case spoils an attachment before CHECK."""

    def story(kernel: Kernel) -> None:
        path = kernel.make_netns()
        attach(path)
        link = kernel.links(path)["eth0"]

        before = kernel.snapshot()
        kernel.set_mac(path, "eth0", "02:00:00:00:00:09")
        moved = evolve(link, mac="02:00:00:00:00:09")
        assert kernel.links(path)["eth0"] == moved
        assert len(before.difference(kernel.snapshot())) == 1

        kernel.delete_route(path, "fd08::/48")
        kernel.delete_route(path, "0.0.0.0/0")
        assert {route.dst for route in kernel.routes(path)} == {"10.7.0.0/16", "fd07::/64"}

        kernel.flush_addresses(path, "eth0")
        assert kernel.links(path)["eth0"] == evolve(moved, addresses=())

        kernel.set_down(path, "eth0")
        assert kernel.links(path)["eth0"] == evolve(moved, addresses=(), up=False)
        assert kernel.routes(path) == ()

        kernel.delete_link(path, "eth0")
        assert set(kernel.links(path)) == {"lo"}
        assert "veth0" not in kernel.links()

    play(story)


def test_a_route_of_another_table_and_one_without_link_are_deleted(
    configured: Configured, play: Play
) -> None:
    """A case deletes by destination and cannot know where a plugin put it."""

    def story(kernel: Kernel) -> None:
        with configured(None) as route:
            route.route("add", dst="10.9.0.0/16", oif=1, table=100, scope=253)
            route.route("add", dst="10.8.0.0/16", type="blackhole")
        assert RouteView("10.8.0.0/16", dev="blackhole") in kernel.routes()
        kernel.delete_route(None, "10.9.0.0/16")
        kernel.delete_route(None, "10.8.0.0/16")
        assert kernel.routes() == ()

    play(story)


def test_a_route_over_several_links_goes_as_a_whole(configured: Configured, play: Play) -> None:
    """The kernel deletes by the first hop, and has to be asked once."""

    def story(kernel: Kernel) -> None:
        path = kernel.make_netns()
        for name, address in (("eth0", "10.7.0.2/16"), ("eth1", "10.8.0.2/16")):
            kernel.add_pair(path, name, f"{name}-out")
            kernel.add_address(path, name, address)
        with configured(path) as route:
            hops = [{"gateway": "10.7.0.1"}, {"gateway": "10.8.0.1"}]
            route.route("add", dst="10.9.0.0/16", multipath=hops)
        assert [each.gw for each in kernel.routes(path) if each.gw] == ["10.7.0.1", "10.8.0.1"]
        kernel.delete_route(path, "10.9.0.0/16")
        assert not [each for each in kernel.routes(path) if each.gw]

    play(story)


def test_a_route_by_a_gateway_of_the_other_family_is_deleted(play: Play) -> None:
    """IPv4 over an IPv6 next hop, which some network plugins use for every pod."""

    def story(kernel: Kernel) -> None:
        path = kernel.make_netns()
        kernel.add_pair(path, "eth0", "outside0")
        command = ["ip", "-n", os.path.basename(path), "route", "add"]
        subprocess.run(
            [*command, "10.9.0.0/16", "via", "inet6", "fe80::1", "dev", "eth0"], check=True
        )
        assert kernel.routes(path) == (RouteView("10.9.0.0/16", gw="fe80::1", dev="eth0"),)
        kernel.delete_route(path, "10.9.0.0/16")
        assert kernel.routes(path) == ()

    play(story)


def test_flushing_takes_the_secondary_addresses_too(play: Play) -> None:
    """The kernel drops them with the first of their network, before they are asked for."""

    def story(kernel: Kernel) -> None:
        path = kernel.make_netns()
        kernel.add_pair(path, "eth0", "outside0")
        for address in ("10.7.0.2/16", "10.7.0.3/16", "10.8.0.2/16", "fd07::2/64"):
            kernel.add_address(path, "eth0", address)
        kernel.flush_addresses(path, "eth0")
        assert kernel.links(path)["eth0"].addresses == ()

    play(story)


def test_an_added_link_is_alone_up_and_serves_as_a_parent(
    configured: Configured, play: Play
) -> None:
    """The other end of the pair would be a second stranger in every comparison."""

    def story(kernel: Kernel) -> None:
        path = kernel.make_netns()
        kernel.add_link(None, "parent")
        kernel.add_link(path, "eth0")
        parent = kernel.links()["parent"]
        assert (parent.up, parent.kind, parent.peer) == (True, "veth", "")
        assert set(kernel.links(path)) == {"lo", "eth0"}
        with configured(None) as route:
            above = route.link_lookup(ifname="parent")[0]
            route.link("add", ifname="child", kind="macvlan", link=above)
            route.link("set", ifname="child", state="up")
        assert kernel.links()["child"].up

    play(story)


def test_a_pair_with_address_and_route_is_what_a_bridge_plugin_leaves(play: Play) -> None:
    """A chained plugin looks for both ends, and a route needs its gateway's network."""

    def story(kernel: Kernel) -> None:
        before, path = kernel.snapshot(), kernel.make_netns()
        kernel.add_pair(path, "eth0", "outside0")
        kernel.add_address(path, "eth0", "10.88.0.2/16")
        kernel.add_address(path, "eth0", "fd88::2/64")
        kernel.add_route(path, "0.0.0.0/0", "10.88.0.1")
        inside, outside = kernel.links(path)["eth0"], kernel.links()["outside0"]
        assert (inside.up, inside.peer) == (True, "outside0")
        assert (outside.up, outside.peer) == (True, "eth0")
        assert inside.addresses == ("10.88.0.2/16", "fd88::2/64")
        assert RouteView("0.0.0.0/0", gw="10.88.0.1", dev="eth0") in kernel.routes(path)
        with pytest.raises(HostError, match=r"adding a route to 10.9.0.0/16 by 10.7.0.1"):
            kernel.add_route(path, "10.9.0.0/16", "10.7.0.1")
        kernel.remove_netns(path)
        assert before.difference(kernel.snapshot()) == []

    play(story)


def test_added_links_end_with_the_kernel_object(play: Play) -> None:
    """The one namespace it holds is let go of, also when it is only dropped."""

    def story(kernel: Kernel) -> None:
        kernel.close()
        before = files_open()
        other = Kernel()
        other.add_link(None, "eth7")
        assert files_open() == before + 1
        other.close()
        other.close()
        assert files_open() == before
        Kernel().add_link(None, "eth8")
        assert files_open() == before

    play(story)


def test_what_is_not_there_is_named_with_what_is(play: Play) -> None:
    """A case that mistypes a link has to see it at once."""

    def story(kernel: Kernel) -> None:
        path = kernel.make_netns()
        with pytest.raises(HostError, match=f"no link eth0 in {path}: there are lo"):
            kernel.delete_link(path, "eth0")
        with pytest.raises(HostError, match=r"no route to 10.0.0.0/8 on the host"):
            kernel.delete_route(None, "10.0.0.0/8")
        kernel.add_link(path, "eth0")
        with pytest.raises(HostError, match=f"adding link eth0 in {path}: .* File exists"):
            kernel.add_link(path, "eth0")
        with pytest.raises(HostError, match=r"changing link eth0 .* the kernel answers"):
            kernel.set_mac(path, "eth0", "01:00:5e:00:00:01")

    play(story)


def test_kinds_are_found_by_trying_out_of_sight(play: Play) -> None:
    """The pair is what everything here is made of, and the last is no kind at all."""

    def story(kernel: Kernel) -> None:
        before = kernel.snapshot()
        assert kernel.supports("veth")
        assert kernel.supports("bridge")
        assert kernel.supports("macvlan")
        assert not kernel.supports("nonsense")
        assert before.difference(kernel.snapshot()) == []

    play(story)
