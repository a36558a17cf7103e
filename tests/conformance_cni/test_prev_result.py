"""What a chained plugin finds before it, and how its answer is compared with that."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from conformance.cni.cases.plugins.test_prev_result import test_prev_result_is_passed_on as _a_case
from conformance.cni.plugins.inputs import prev_results
from conformance.cni.plugins.passed_on import passed_on, prev_result_of
from conformance.cni.plugins.plugin import PluginUnderTest
from conformance.engine.verdict import Broken
from refimpl.cni import contract
from tests.conformance_cni.conftest import as_a_case_gets_it

Document = dict[str, Any]


@pytest.fixture
def plugin() -> Iterator[PluginUnderTest]:
    """The chained fake, as a case gets it."""
    yield from as_a_case_gets_it(_a_case)


def test_prev_result_is_true(plugin: PluginUnderTest) -> None:
    """Links, hardware, address and route are there before the first ADD."""
    pod = plugin.pod()
    outside, own = prev_result_of(pod, "1.1.0")["interfaces"]
    link = plugin.host.links(pod.netns)[pod.ifname]
    assert (own["name"], own["mac"], own["mtu"]) == (pod.ifname, link.mac, link.mtu)
    assert link.addresses == (prev_result_of(pod, "1.1.0")["ips"][0]["address"],)
    assert link.peer == outside["name"]
    assert outside["mac"] == plugin.host.links()[outside["name"]].mac
    assert "0.0.0.0/0" in [route.dst for route in plugin.host.routes(pod.netns)]


@pytest.mark.parametrize("version", ["0.3.0", "0.4.0", "1.0.0", "1.1.0"])
def test_prev_result_has_the_shape_of_every_version(plugin: PluginUnderTest, version: str) -> None:
    """Nothing of a newer version is in it."""
    assert contract.problems(prev_result_of(plugin.pod(), version), version) == []


def test_an_add_after_a_del_finds_a_new_link(plugin: PluginUnderTest) -> None:
    """As after DEL of the whole list: what the first ADD changed is gone, the MAC is the same."""
    pod = plugin.pod()
    before = plugin.state()
    plugin.added(pod, plugin.config(mtu=1380))
    plugin.deleted(pod)
    assert before.difference(plugin.state()) != []
    plugin.added(pod, plugin.config(runtimeConfig={}))
    assert before.difference(plugin.state()) == []


def test_prev_result_is_told_apart_from_less_and_from_more(plugin: PluginUnderTest) -> None:
    """The own interface may have another mac and mtu; nothing else may differ."""
    pod = plugin.pod()
    sent = prev_result_of(pod, "1.1.0")
    changes: dict[str, Callable[[Document], object]] = {
        "no address": lambda result: result.pop("ips"),
        "another gateway": lambda result: result["ips"][0].update(gateway="10.88.0.9"),
        "the address on the other end": lambda result: result["ips"][0].update(interface=0),
        "no index": lambda result: result["ips"][0].pop("interface"),
        "no route": lambda result: result.pop("routes"),
        "dns": lambda result: result.update(dns={"domain": "x"}),
        "the bridge is gone": lambda result: result["interfaces"].pop(0),
        "another MAC outside": lambda result: result["interfaces"][0].update(
            mac="02:00:00:00:0a:01"
        ),
        "a link that is not there": lambda result: result["interfaces"].append({"name": "no0"}),
    }
    for name, change in changes.items():
        got = prev_result_of(pod, "1.1.0")
        change(got)
        with pytest.raises(Broken, match=r"^passed on"):
            passed_on(plugin, pod, sent, got, "passed on")
        assert got != sent, name
    same = prev_result_of(pod, "1.1.0")
    same["interfaces"][1].update(mac="02:00:00:00:0a:01", mtu=1300)
    passed_on(plugin, pod, sent, same, "passed on")
    plugin.host.add_link(None, "new0")
    same["interfaces"].insert(0, {"name": "new0"})
    same["ips"][0]["interface"] += 1
    passed_on(plugin, pod, sent, same, "passed on")


def test_generated_results_are_valid_and_hold_the_true_one(plugin: PluginUnderTest) -> None:
    """Of each version that is asked for."""
    pod = plugin.pod()
    versions = ["0.3.1", "1.1.0"]

    @settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
    @given(prev_results(pod, versions))
    def holds(previous: Document) -> None:
        version = previous["cniVersion"]
        assert version in versions
        assert contract.problems(previous, version) == []
        for member in ("interfaces", "ips", "routes"):
            true = prev_result_of(pod, version)[member]
            assert previous[member][: len(true)] == true

    holds()
