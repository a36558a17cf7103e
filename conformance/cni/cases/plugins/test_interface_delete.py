"""DEL of an interface plugin: nothing of an attachment stays, and nothing else goes."""

from __future__ import annotations

import contextlib
import os

import pytest

from conformance.cni.needs import DELEGATES, INTERFACE, NETNS, V0_4, V1_0
from conformance.cni.plugins.attachments import CniAttachment
from conformance.cni.plugins.delegates import Delegate
from conformance.cni.plugins.leftovers import used
from conformance.cni.plugins.outcomes import succeeded
from conformance.cni.plugins.plugin import PluginUnderTest
from conformance.engine.case import case
from conformance.engine.verdict import expect, together
from refimpl.cni.host import HostError


@case("CNI-PLG-070", "CNI 1.1 DEL", needs=[INTERFACE, NETNS])
def test_delete_undoes_an_add(plugin: PluginUnderTest) -> None:
    """What stays behind adds up, pod by pod, until the node is out of addresses or links."""
    network = used(plugin)
    plugin.added(network.pod)
    plugin.deleted(network.pod)
    network.nothing_left("DEL leaves nothing of an attachment")


@case("CNI-PLG-077", "CNI 1.1 DEL", needs=[INTERFACE, NETNS, V0_4])
def test_delete_succeeds_when_links_of_the_host_are_gone(plugin: PluginUnderTest) -> None:
    """An uplink that was unplugged, a bridge that an administrator removed: pods of it have to be
    deletable all the same, or they stay for ever.
    """
    pod = plugin.attached()
    places = range(len(_host_links(plugin, pod)))
    plugin.delete(pod)
    if not places:
        pytest.skip(f"{plugin.name} uses no link on the host's side")
    with together() as check:
        for place in places:
            pod = plugin.attached()
            name = _host_links(plugin, pod)[place]
            plugin.host.delete_link(None, name)
            with check:
                succeeded(plugin.delete(pod), f"DEL succeeds although {name} was removed before")


def _host_links(plugin: PluginUnderTest, pod: CniAttachment) -> list[str]:
    """The parent or bridge that the configuration names, then what the result names beside it."""
    named = [plugin.subject.config.get(member) for member in ("master", "bridge")]
    entries = (pod.result or {}).get("interfaces") or []
    named += [entry["name"] for entry in entries if not entry.get("sandbox")]
    there = plugin.host.links(None)
    return list(dict.fromkeys(name for name in named if name in there))


@case("CNI-PLG-078", "CNI 1.1 DEL", needs=[INTERFACE, NETNS, DELEGATES, V1_0])
def test_a_failing_ipam_keeps_no_interface_from_being_deleted(plugin: PluginUnderTest) -> None:
    """The error has to reach the runtime, which asks again; until then the interface must not go
    on with an address that may be given to another.
    """
    ipam = Delegate(plugin)
    pod = plugin.pod()
    plugin.added(pod, ipam.config())
    ipam.answer(DEL={"error": {"code": 111, "msg": "told to fail"}})
    outcome = plugin.delete(pod)
    ipam.answer()
    there = sorted(plugin.host.links(pod.netns))
    with together() as check:
        with check:
            rule = "DEL fails when IPAM does"
            expect(not outcome.ok, rule, wanted="a failure", got=outcome.brief())
        with check:
            expect(
                pod.ifname not in there,
                "DEL removes the interface although IPAM fails",
                wanted=f"no {pod.ifname} in the namespace",
                got=there,
            )


@case("CNI-PLG-082", "CNI 1.1 DEL", needs=[INTERFACE, NETNS])
def test_delete_of_an_unknown_attachment_spares_a_foreign_interface(
    plugin: PluginUnderTest,
) -> None:
    """A late DEL for a container that is long gone may hit a namespace that another one uses."""
    pod = plugin.pod()
    if pod.ifname in plugin.host.links(pod.netns):
        pytest.skip(f"{pod.ifname} is in every namespace: there is no foreign one")
    plugin.host.add_link(pod.netns, pod.ifname)
    there = plugin.host.links(pod.netns)[pod.ifname]
    outcome = plugin.delete(pod)
    expect(
        plugin.host.links(pod.netns).get(pod.ifname) == there,
        "DEL of what was never added leaves an interface of another alone",
        wanted=there,
        got=f"{sorted(plugin.host.links(pod.netns))} after DEL ({outcome.brief()})",
    )


OWN = "refimpl-own"
"""A name that nothing has, so that a plugin that works in its own namespace does no harm."""


@case("CNI-PLG-126", "CNI 1.1 DEL", needs=[INTERFACE, V0_4])
def test_delete_in_the_plugins_own_namespace_is_refused(plugin: PluginUnderTest) -> None:
    """A wrong CNI_NETNS would cost the node its own network."""
    if not plugin.has_host and os.geteuid() == 0:
        pytest.skip("a plugin that obeys would do it to this machine: there is no other namespace")
    netns = plugin.host.own_netns() if plugin.has_host else "/proc/self/ns/net"
    pod = plugin.pod().other(netns=netns, ifname=OWN)
    if plugin.has_host:
        plugin.host.add_link(None, OWN)
        plugin.scope.callback(lambda: _removed(plugin, OWN))
    before = plugin.state()
    outcome = plugin.delete(pod)
    touched = before.difference(plugin.state())
    rule = "DEL with the plugin's own namespace as CNI_NETNS is refused"
    with together() as check:
        with check:
            expect(not outcome.ok, rule, wanted="a failure", got=outcome.brief())
        if plugin.settings.policy == "practice":
            return  # the reference library does the work first
        with check:
            expect(not touched, f"{rule} before any work", wanted="no difference", got=touched)


def _removed(plugin: PluginUnderTest, name: str) -> None:
    with contextlib.suppress(HostError):
        plugin.host.delete_link(None, name)
