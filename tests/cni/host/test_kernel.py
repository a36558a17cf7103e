"""The kernel as a host: what is read is what is there, and nothing else.

Each story is played twice: as root, and by a user without any right in a user namespace.
"""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from refimpl.cni.host import HOST, Host, HostError, Link, RouteView
from refimpl.cni.host.kernel import Kernel

Attach = Callable[[str], None]
Configured = Callable[[str | None], AbstractContextManager[Any]]
Play = Callable[[Callable[[Kernel], None]], None]


def files_open() -> int:
    return len(os.listdir("/proc/self/fd"))


class TestNamespaces:
    def test_a_kernel_is_a_host(self) -> None:
        """Cases are written to the protocol and run on both."""
        assert isinstance(Kernel(), Host)

    def test_a_new_namespace_has_a_path_and_a_loopback_that_is_up(self, play: Play) -> None:
        """As runtimes make them: a file in /run/netns to be opened by a plugin."""

        def story(kernel: Kernel) -> None:
            path = kernel.make_netns("pod")
            assert path == "/run/netns/pod"
            assert kernel.links(path) == {
                "lo": Link(
                    name="lo",
                    mac="00:00:00:00:00:00",
                    mtu=65536,
                    up=True,
                    addresses=("127.0.0.1/8", "::1/128"),
                    kind="loopback",
                )
            }
            assert kernel.routes(path) == ()

        play(story)

    def test_names_are_chosen_and_never_used_twice(self, play: Play) -> None:
        """Two pods of one run must not share a namespace."""

        def story(kernel: Kernel) -> None:
            assert kernel.make_netns() != kernel.make_netns()
            kernel.make_netns("pod")
            with pytest.raises(HostError, match="/run/netns/pod exists already"):
                kernel.make_netns("pod")

        play(story)

    def test_a_removed_namespace_is_gone_with_both_ends_of_its_pairs(
        self, attach: Attach, play: Play
    ) -> None:
        """The kernel alone would take the host's end some time later."""

        def story(kernel: Kernel) -> None:
            before = kernel.snapshot()
            path = kernel.make_netns()
            attach(path)
            kernel.remove_netns(path)
            assert set(kernel.links()) == {"lo", "cni0"}
            assert not os.path.lexists(path)
            kernel.delete_link(None, "cni0")
            assert before.difference(kernel.snapshot()) == []

        play(story)

    def test_removing_what_is_no_namespace_does_nothing(self, play: Play) -> None:
        """Nor does a path of the sandbox's own namespace, which no mount stands behind."""

        def story(kernel: Kernel) -> None:
            plain = Path("/run/netns/plain")
            plain.touch()
            kernel.add_link(None, "stays")
            for path in (str(plain), "/run/netns/gone", kernel.own_netns()):
                kernel.remove_netns(path)
            assert plain.exists()
            assert set(kernel.links()) == {"lo", "stays"}

        play(story)

    def test_the_own_namespace_has_a_path_that_a_child_understands(self, play: Play) -> None:
        """Also from a thread that is not the main one, which /proc/self would show."""

        def story(kernel: Kernel) -> None:
            command = ["stat", "-L", "-c", "%i", kernel.own_netns()]
            shown = subprocess.run(command, capture_output=True, text=True, check=True)
            assert shown.stdout.strip() == str(os.stat("/proc/thread-self/ns/net").st_ino)

        play(story)

    @pytest.mark.parametrize(
        ("path", "words"),
        [
            ("/run/netns/gone", "no namespace at /run/netns/gone: No such file"),
            ("/run/netns", "/run/netns is no network namespace"),
            ("/etc/passwd", "/etc/passwd is no network namespace"),
        ],
    )
    def test_a_path_that_is_no_namespace_is_named(self, play: Play, path: str, words: str) -> None:
        """Raised by every way in, links stand for all."""

        def story(kernel: Kernel) -> None:
            with pytest.raises(HostError, match=words):
                kernel.links(path)

        play(story)


class TestLooking:
    def test_links_addresses_and_routes_are_told_as_they_are(
        self, attach: Attach, play: Play
    ) -> None:
        """Every member of the views once, from a pair between two namespaces."""

        def story(kernel: Kernel) -> None:
            path = kernel.make_netns()
            attach(path)
            assert kernel.links(path)["eth0"] == Link(
                name="eth0",
                mac="02:00:00:00:00:07",
                mtu=1400,
                up=True,
                addresses=("10.7.0.2/16", "fd07::2/64"),
                kind="veth",
                peer="veth0",
            )
            assert set(kernel.routes(path)) == {
                RouteView("0.0.0.0/0", gw="10.7.0.1", dev="eth0"),
                RouteView("10.7.0.0/16", dev="eth0", scope=253),
                RouteView("fd07::/64", dev="eth0"),
                RouteView("fd08::/48", gw="fd07::1", dev="eth0"),
            }
            outside = kernel.links()
            assert (outside["veth0"].master, outside["veth0"].peer) == ("cni0", "eth0")
            assert outside["cni0"].kind == "bridge"

        play(story)

    def test_pairs_within_one_namespace_name_each_other(
        self, configured: Configured, play: Play
    ) -> None:
        """There the kernel gives the other end directly."""

        def story(kernel: Kernel) -> None:
            with configured(None) as route:
                route.link("add", ifname="a", kind="veth", peer="b")
            links = kernel.links()
            assert (links["a"].peer, links["b"].peer) == ("b", "a")

        play(story)

    def test_two_looks_at_one_state_do_not_differ(self, attach: Attach, play: Play) -> None:
        """Without this no comparison before and after a plugin would mean anything."""

        def story(kernel: Kernel) -> None:
            attach(kernel.make_netns())
            assert kernel.snapshot().difference(kernel.snapshot()) == []

        play(story)

    def test_a_snapshot_holds_the_same_views_as_the_single_looks(
        self, attach: Attach, play: Play
    ) -> None:
        """A case may use either."""

        def story(kernel: Kernel) -> None:
            path = kernel.make_netns()
            attach(path)
            views = kernel.snapshot().namespaces
            assert set(views) == {HOST, path}
            assert views[path].links == kernel.links(path)
            assert views[path].routes == kernel.routes(path)
            assert views[HOST].links == kernel.links()

        play(story)

    def test_files_are_told_and_namespaces_among_them_too(self, play: Play) -> None:
        """A plugin that leaves a plain file where a namespace was is found by it."""

        def story(kernel: Kernel) -> None:
            path = kernel.make_netns("pod")
            before = kernel.snapshot("/run/store")
            kernel.remove_netns(path)
            Path(path).touch()
            Path("/run/store").mkdir()
            Path("/run/store/10.0.0.2").write_text("id", encoding="utf-8")
            changes = before.difference(kernel.snapshot("/run/store"))
            assert before.files[path] == "network namespace"
            assert any(
                text.startswith(f"{path} changed from network namespace") for text in changes
            )
            assert any(text.startswith("/run/store/10.0.0.2 appeared: file") for text in changes)

        play(story)

    def test_policy_rules_and_queues_are_told(self, configured: Configured, play: Play) -> None:
        """What sbr and bandwidth leave behind, beside what every namespace has."""

        def story(kernel: Kernel) -> None:
            kernel.add_link(None, "eth0")
            before = kernel.snapshot()
            assert before.namespaces[HOST].rules == ()
            with configured(None) as route:
                index = route.link_lookup(ifname="eth0")[0]
                route.rule("add", src="10.1.0.0/16", table=100, priority=50, iifname="eth0")
                route.rule("add", fwmark=7, table=200, priority=60, family=10)
                shape = {"rate": "1mbit", "latency": "50ms", "burst": 10000}
                route.tc("add", "tbf", index, 0x10000, **shape)
                route.tc("add", "ingress", index)
            assert set(kernel.snapshot().namespaces[HOST].rules) == {
                "inet rule 50: from 10.1.0.0/16 iif eth0 table 100",
                "inet6 rule 60: fwmark 0x7 table 200",
                "queue tbf at root of eth0, 125000 bytes/s",
                "queue ingress at ingress of eth0",
            }

        play(story)

    def test_looking_leaves_the_thread_where_it_was_and_nothing_open(
        self, attach: Attach, play: Play
    ) -> None:
        """A namespace held open would outlive its removal, with its links."""

        def story(kernel: Kernel) -> None:
            path = kernel.make_netns()
            attach(path)
            before = files_open(), threading.active_count(), os.stat(kernel.own_netns()).st_ino
            for _ in range(3):
                kernel.snapshot()
                kernel.links(path)
                kernel.set_mac(path, "eth0", "02:00:00:00:00:08")
                with pytest.raises(HostError):
                    kernel.links("/etc/passwd")
            after = files_open(), threading.active_count(), os.stat(kernel.own_netns()).st_ino
            assert after == before

        play(story)


class TestFirewall:
    def test_rules_of_every_namespace_are_told_with_their_place(self, play: Play) -> None:
        """A chained plugin's rules belong to the comparison, on either side."""

        def story(kernel: Kernel) -> None:
            path = kernel.make_netns()
            before = kernel.snapshot()
            assert before.firewall == ()
            text = "table inet t { chain c { ip saddr 10.0.0.1 counter accept; }; }"
            subprocess.run(["nft", text], check=True)
            subprocess.run(["nsenter", f"--net={path}", "nft", "add table ip inside"], check=True)
            assert kernel.snapshot().firewall == (
                "table inet t",
                "table inet t / chain c",
                "table inet t / chain c / ip saddr 10.0.0.1 counter accept",
                f"in {path}: table ip inside",
            )
            subprocess.run(["nft", "delete table inet t"], check=True)
            assert kernel.snapshot().firewall == (f"in {path}: table ip inside",)

        play(story)
