"""CHECK of an interface plugin: what is missing is noticed, what others changed is accepted."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from conformance.cni.needs import DELEGATES, INTERFACE, NETNS, V0_4
from conformance.cni.plugins.attachments import CniAttachment
from conformance.cni.plugins.delegates import Delegate
from conformance.cni.plugins.outcomes import succeeded
from conformance.cni.plugins.plugin import PluginUnderTest
from conformance.engine.case import case
from conformance.engine.verdict import expect, together
from refimpl.cni.execute import Outcome
from refimpl.cni.host import Host, HostError

_OTHER_MAC = "02:00:00:00:be:ef"

Change = Callable[[Host, CniAttachment], object]


def _failed(outcome: Outcome, rule: str) -> None:
    expect(not outcome.ok, rule, wanted="a failure", got=outcome.brief())


@case("CNI-PLG-088", "CNI 1.1 CHECK", needs=[INTERFACE, NETNS, V0_4])
def test_check_notices_what_an_interface_lost(plugin: PluginUnderTest) -> None:
    """A pod without its address answers nobody, and CHECK is how the runtime would find out."""
    tried = 0
    with together() as check:
        for what, change in _losses(plugin.attached().result or {}):
            pod = plugin.attached()
            try:
                change(plugin.host, pod)
            except HostError:
                continue  # a loopback can lose neither link nor MAC
            with check:
                _failed(plugin.check(pod), f"CHECK fails when {what}")
            tried += 1
    if not tried:
        pytest.skip("nothing of the interface can be taken away")


def _losses(result: dict[str, Any]) -> Iterator[tuple[str, Change]]:
    """What can be taken away from an attachment with such a result."""
    yield "the interface was set down", lambda host, pod: host.set_down(pod.netns, pod.ifname)
    if result.get("ips"):
        yield (
            "the addresses were flushed",
            lambda host, pod: host.flush_addresses(pod.netns, pod.ifname),
        )
    if routes := result.get("routes"):
        dst = routes[0]["dst"]
        yield f"the route to {dst} was deleted", lambda host, pod: host.delete_route(pod.netns, dst)
    yield (
        "the interface got another MAC",
        lambda host, pod: host.set_mac(pod.netns, pod.ifname, _OTHER_MAC),
    )
    yield "the interface was deleted", lambda host, pod: host.delete_link(pod.netns, pod.ifname)


@case("CNI-PLG-089", "CNI 1.1 CHECK", needs=[INTERFACE, NETNS, V0_4])
def test_check_compares_with_prev_result(plugin: PluginUnderTest) -> None:
    """The result is what the runtime tells the cluster; CHECK has to stand for just that."""
    pod = plugin.attached()
    edited = list(_edited(pod))
    if not edited:
        pytest.skip(f"the result of {plugin.name} tells of no address and no interface")
    with together() as check:
        for what, result in edited:
            outcome = plugin.check(pod, prev_result=result)
            with check:
                _failed(outcome, f"CHECK fails when prevResult has {what}")


def _edited(pod: CniAttachment) -> Iterator[tuple[str, dict[str, Any]]]:
    result = pod.result or {}
    for ip in result.get("ips") or []:
        other = "fd99::99/64" if ":" in ip["address"] else "203.0.113.99/24"
        edited = copy.deepcopy(result)
        edited["ips"][result["ips"].index(ip)]["address"] = other
        yield f"{other} in the place of {ip['address']}", edited
    for member, value in (("name", "other0"), ("sandbox", f"{pod.netns}-other")):
        edited = copy.deepcopy(result)
        if entry := _own_entry(edited, pod):
            entry[member] = value
            yield f"{value} as {member} of the interface", edited


def _own_entry(result: dict[str, Any], pod: CniAttachment) -> dict[str, Any] | None:
    entries: list[dict[str, Any]] = result.get("interfaces") or []
    return next((each for each in entries if each.get("sandbox") == pod.netns), None)


@case("CNI-PLG-090", "CNI 1.1 CHECK", needs=[INTERFACE, NETNS, V0_4])
def test_check_accepts_what_a_later_plugin_changed(plugin: PluginUnderTest) -> None:
    """tuning gives another MAC, sbr moves routes: prevResult says so, and the first plugin of the
    list must not raise an alarm over it.
    """
    with together() as check:
        for what, change in _LATER.items():
            pod = plugin.attached()
            result = copy.deepcopy(pod.result or {})
            try:
                change(plugin.host, pod, result)
            except HostError:
                continue  # a loopback's MAC stays what it is, and not every network has routes
            with check:
                succeeded(
                    plugin.check(pod, prev_result=result),
                    f"CHECK succeeds when a later plugin {what}, and prevResult says so",
                )


def _give_mac(host: Host, pod: CniAttachment, result: dict[str, Any]) -> None:
    host.set_mac(pod.netns, pod.ifname, _OTHER_MAC)
    if entry := _own_entry(result, pod):
        entry["mac"] = _OTHER_MAC


def _take_route(host: Host, pod: CniAttachment, result: dict[str, Any]) -> None:
    routes = result.pop("routes", None)
    if not routes:
        raise HostError("there is no route that could be taken away")
    host.delete_route(pod.netns, routes[0]["dst"])
    result["routes"] = routes[1:]


def _add_interface(host: Host, pod: CniAttachment, result: dict[str, Any]) -> None:
    host.add_link(pod.netns, "later0")
    entry = {"name": "later0", "sandbox": pod.netns, "mac": host.links(pod.netns)["later0"].mac}
    result.setdefault("interfaces", []).append(entry)


_LATER: dict[str, Callable[[Host, CniAttachment, dict[str, Any]], None]] = {
    "gave the interface another MAC": _give_mac,
    "took a route away": _take_route,
    "added an interface": _add_interface,
}


@case("CNI-PLG-091", "CNI 1.1 CHECK", needs=[INTERFACE, NETNS, DELEGATES, V0_4])
def test_check_fails_when_ipam_does(plugin: PluginUnderTest) -> None:
    """An address that is no longer reserved will be given to the next pod."""
    ipam = Delegate(plugin)
    pod = plugin.pod()
    plugin.added(pod, ipam.config())
    ipam.answer(CHECK={"error": {"code": 111, "msg": "told to fail"}})
    _failed(plugin.check(pod), "CHECK fails when CHECK of the IPAM plugin does")


@case("CNI-PLG-092", "CNI 1.1 CHECK", needs=[INTERFACE, NETNS, V0_4])
def test_check_of_an_interface_without_addresses_succeeds(plugin: PluginUnderTest) -> None:
    """Networks of layer 2 have no IPAM plugin to ask."""
    pod = plugin.pod()
    outcome = plugin.add(pod, plugin.config(ipam=None))
    if not outcome.ok:
        pytest.skip(f"{plugin.name} makes no interface without ipam: {outcome.brief()}")
    succeeded(plugin.check(pod), "CHECK of a network without ipam succeeds right after ADD")
