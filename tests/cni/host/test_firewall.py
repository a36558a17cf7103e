"""The packet filter is told line by line, cheaply, and never as empty when it is unreadable."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from refimpl.cni.host import firewall
from refimpl.cni.host.firewall import Firewall, flat
from refimpl.cni.host.kernel import Kernel

Play = Callable[[Callable[[Kernel], None]], None]
RULESET = """\
table ip nat {
\tchain POSTROUTING {
\t\ttype nat hook postrouting priority srcnat; policy accept;
\t\tip saddr 10.0.0.0/8 counter masquerade
\t}
}
# Warning: a remark of the program
table inet cni {
\tset pods {
\t\ttype ipv4_addr
\t}
}
"""


def test_blocks_are_unfolded_so_that_each_line_stands_alone() -> None:
    """A difference of lines would otherwise say "accept gone", and not where."""
    assert flat(RULESET)[2:4] == [
        "table ip nat / chain POSTROUTING / type nat hook postrouting priority srcnat;"
        " policy accept;",
        "table ip nat / chain POSTROUTING / ip saddr 10.0.0.0/8 counter masquerade",
    ]


def test_tables_that_are_told_elsewhere_are_left_out() -> None:
    """A rule of iptables is one finding, not two."""
    assert flat(RULESET, ["ip nat"]) == [
        "table inet cni",
        "table inet cni / set pods",
        "table inet cni / set pods / type ipv4_addr",
    ]


def run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)


def test_rules_of_iptables_are_told_with_all_details_and_once(play: Play) -> None:
    """nft shows them too, but leaves matches such as comments out."""

    def story(kernel: Kernel) -> None:
        rule = ["POSTROUTING", "-s", "10.0.0.0/8", "-m", "comment", "--comment", "pod"]
        run("iptables", "-t", "nat", "-A", *rule, "-j", "MASQUERADE")
        assert kernel.snapshot().firewall == (
            "iptables nat: -A POSTROUTING -s 10.0.0.0/8 -m comment --comment pod -j MASQUERADE",
        )
        run("iptables", "-t", "nat", "-D", *rule, "-j", "MASQUERADE")
        assert kernel.snapshot().firewall == ()

    play(story)


def test_chains_that_are_left_are_told(play: Play) -> None:
    """An empty chain of a plugin's own is a leftover; a builtin one is not."""

    def story(kernel: Kernel) -> None:
        run("ip6tables", "-N", "CNI-LEFT")
        assert kernel.snapshot().firewall == ("ip6tables filter: :CNI-LEFT -",)

    play(story)


def test_counters_do_not_make_a_difference(play: Play) -> None:
    """Traffic between two snapshots is no change of the rules."""

    def story(kernel: Kernel) -> None:
        run("iptables", "-A", "INPUT", "-p", "icmp", "-j", "DROP")
        run("nft", "table inet t { chain c { type filter hook output priority 0; counter; }; }")
        before = kernel.snapshot()
        run("bash", "-c", "echo data > /dev/udp/127.0.0.1/9")
        assert before.difference(Kernel().snapshot()) == []

    play(story)


def test_programs_are_only_asked_after_a_change(
    play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two processes a look would make a snapshot ten times as dear."""
    commands: list[str] = []
    ask = firewall._said

    def counted(name: str, *arguments: str) -> str:
        commands.append(name)
        return ask(name, *arguments)

    monkeypatch.setattr(firewall, "_said", counted)

    def story(kernel: Kernel) -> None:
        del kernel
        looking = Firewall()
        assert looking.lines() == ()
        assert commands == []
        run("nft", "add table inet t")
        assert looking.lines() == looking.lines() == ("table inet t",)
        once = len(commands)
        run("nft", "add table inet u")
        assert looking.lines() == ("table inet t", "table inet u")
        assert len(commands) == 2 * once

    play(story)


def test_missing_programs_are_told_instead_of_no_rules(
    play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Silence would pass every leftover rule."""

    def story(kernel: Kernel) -> None:
        run("nft", "add table inet t")
        monkeypatch.setattr(firewall, "_tool", {}.get)
        assert firewall.missing_tools() == ("nft", "iptables-save", "ip6tables-save")
        assert kernel.snapshot().firewall == (
            "unknown: nftables rules are not readable without the program nft",
        )

    play(story)


def test_a_program_that_fails_is_told(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    """With its own words: most often it lacks a right."""

    def story(kernel: Kernel) -> None:
        run("nft", "add table inet t")
        monkeypatch.setattr(firewall, "_tool", {"nft": "/bin/false"}.get)
        assert kernel.snapshot().firewall == ("unknown: /bin/false failed with 1:",)

    play(story)


@pytest.mark.usefixtures("root")
def test_rules_in_the_old_tables_are_told_too(play: Play) -> None:
    """Plugins use whichever iptables is first in their PATH."""
    if not Path("/usr/sbin/iptables-legacy").exists():
        pytest.skip("iptables-legacy is not installed")

    def story(kernel: Kernel) -> None:
        rule = ["-t", "nat", "-A", "POSTROUTING", "-j", "MASQUERADE"]
        run("iptables-legacy", *rule)
        assert kernel.snapshot().firewall == ("iptables-legacy nat: -A POSTROUTING -j MASQUERADE",)
        run("iptables-legacy", "-t", "nat", "-F")
        assert kernel.snapshot().firewall == ()

    play(story)
