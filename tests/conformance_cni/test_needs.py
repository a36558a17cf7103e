"""What CNI targets say of what they have not got."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from conformance.cni import needs
from conformance.cni.fakes import open_fakes
from conformance.cni.plugins.installed import InstalledPlugins
from conformance.cni.plugins.lacking import reasons
from conformance.cni.plugins.subject import PluginSubject
from conformance.cni.settings import CniSettings
from conformance.cni.target import CniTarget
from conformance.engine.needs import Feature
from refimpl.cni.execute import Processes
from tests.targets import resolved

EVERY = {name: need for name, need in vars(needs).items() if isinstance(need, Feature)}
RANGED = {"type": "fake-host-local", "ranges": [[{"subnet": "10.1.0.0/16"}]]}


@pytest.fixture(scope="module")
def fakes() -> Iterator[CniTarget]:
    """Our fakes, which are plugins, a runtime and documents."""
    target = open_fakes(resolved("cni"))
    yield target
    target.close()


@pytest.mark.parametrize(
    "name", [name for name in EVERY if name not in ("DAEMON", "RUNTIME_NETNS")]
)
def test_our_fakes_have_all_that_cases_need(fakes: CniTarget, name: str) -> None:
    """But for a daemon; and namespaces of a runtime take root."""
    skipped = {"UNAIDED": "fake-bridge runs fake-host-local as its configuration says"}
    assert EVERY[name].unmet(fakes) == skipped.get(name)


def lacking(
    kind: str, config: dict[str, Any], no_netns: str = "", **settings: Any
) -> dict[str, str]:
    """What a plugin `p` of that kind and configuration lacks, by feature."""
    subject = PluginSubject("/opt/p", kind, config, ("0.4.0", "1.0.0"), "", CniSettings(**settings))
    plugins = InstalledPlugins(
        subjects=[subject], executor=Processes(), host=None, no_netns=no_netns
    )
    every = {feature: why() for feature, why in reasons(plugins).items()}
    return {feature: reason for feature, reason in every.items() if reason}


def test_a_chained_plugin_lacks_what_makes_links_and_gives_addresses() -> None:
    """Each reason names the plugin, so that a report of several can be read."""
    assert lacking("chained", {}) == {
        "interface": "p makes no interface of its own",
        "ipam": "p is no IPAM plugin",
        "1.1.0": "p advertises no version from 1.1.0 on, only up to 1.0.0",
        "delegates": "p delegates to no IPAM plugin",
        "ranges": "p is no IPAM plugin",
        "local store": "p is no IPAM plugin",
        "daemon": "the configuration of p names no ipam.daemonSocketPath",
        "dependent": "p depends on nothing that its configuration names",
    }


def test_an_ipam_plugin_attaches_without_namespaces() -> None:
    """It never looks into one; where its store lies may be for the plugin to choose."""
    lacks = lacking("ipam", {"ipam": RANGED}, "no root", data_dir=False)
    assert lacks["netns"] == "no root"
    assert "attaches" not in lacks
    assert lacks["local store"] == "data_dir = false: ipam.dataDir is not ours"
    assert "ranges" not in lacks
    assert lacking("interface", {}, "no root")["attaches"] == "no root"
    unranged = lacking("ipam", {"ipam": {"type": "p"}})
    assert unranged["ranges"] == "the configuration of p names no ipam.ranges"


def test_a_plugin_that_asks_a_daemon_needs_it_running() -> None:
    """The socket is named by the configuration."""
    lacks = lacking("ipam", {"ipam": {"type": "dhcp", "daemonSocketPath": "/none.sock"}})
    reason = "nobody listens on /none.sock, where dhcp asks for addresses"
    assert (lacks["served"], lacks["attaches"]) == (reason, reason)
    assert "daemon" not in lacks


def test_an_interface_may_be_there_already_or_be_moved() -> None:
    """Loopback makes no link, host-device has one for a single attachment."""
    there = lacking("interface", {}, ifname="lo")["makes link"]
    assert there == "p makes no link: lo is there with the namespace"
    moved = lacking("interface", {"device": "eth7"})["shares"]
    assert moved == "p moves the device eth7: one attachment at a time"
