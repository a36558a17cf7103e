"""ADD where something is already: an interface of that name, the same attachment, another one."""

from __future__ import annotations

import contextlib
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from conformance.cni.needs import INTERFACE, MAKES_LINK, NETNS, SHARES, V0_4, V1_0
from conformance.cni.plugins.attachments import CniAttachment
from conformance.cni.plugins.outcomes import result_of, succeeded
from conformance.cni.plugins.plugin import PluginUnderTest
from conformance.cni.plugins.results import decoded
from conformance.engine.case import case
from conformance.engine.verdict import expect, together
from refimpl.cni.contract import at_least
from refimpl.cni.execute import Outcome
from refimpl.cni.host import HOST, HostError, Snapshot

_AT_ONCE = 8
_SECOND = "refimpl-second"


@case("CNI-PLG-049", "CNI 1.1 ADD", needs=[INTERFACE, NETNS, MAKES_LINK, V0_4])
def test_an_interface_of_that_name_is_left_alone(plugin: PluginUnderTest) -> None:
    """It belongs to the container or to another network; a pod would lose the one it has."""
    plugin.attached()  # what the first attachment makes for all is there now
    pod = plugin.pod()
    plugin.host.add_link(pod.netns, pod.ifname)
    before = plugin.state()
    outcome = plugin.add(pod)
    with together() as check:
        with check:
            expect(
                not outcome.ok,
                "ADD fails where an interface of the name exists",
                wanted="a failure",
                got=outcome.brief(),
            )
        with check:
            changed = _links_only(before).difference(_links_only(plugin.state()))
            rule = "an ADD that meets an interface of the name changes no link and leaves none"
            expect(not changed, rule, wanted="all links as before", got="; ".join(changed))


def _links_only(state: Snapshot) -> Snapshot:
    return Snapshot(namespaces=state.namespaces)


@case("CNI-PLG-050", "CNI 1.1 ADD", needs=[INTERFACE, NETNS, MAKES_LINK])
def test_a_repeated_add_fails_and_spares_the_first(plugin: PluginUnderTest) -> None:
    """A runtime that lost the first answer asks again; the clean-up of the second ADD must not
    take the address of a pod that runs.
    """
    pod = plugin.attached()
    checked = _checked(plugin, pod)
    before = plugin.state()
    outcome = plugin.run(plugin.request("ADD", pod))
    with together() as check:
        with check:
            expect(
                not outcome.ok,
                "a second ADD of one attachment fails",
                wanted="a failure",
                got=outcome.brief(),
            )
        with check:
            rule = "a second ADD of one attachment leaves what the first made"
            lost = _lost(before, plugin.state(), pod)
            expect(not lost, rule, wanted="nothing gone or changed", got="; ".join(lost))
        with check:
            if checked and checked.ok:
                succeeded(plugin.check(pod), f"{rule}: CHECK succeeds as before")


def _checked(plugin: PluginUnderTest, pod: CniAttachment) -> Outcome | None:
    return plugin.check(pod) if at_least(plugin.newest, "0.4.0") else None


def _lost(before: Snapshot, after: Snapshot, pod: CniAttachment) -> list[str]:
    """What of an attachment is no longer as it was, its reservation among it; what is new does not
    count.
    """
    was, now = before.namespaces[pod.netns], after.namespaces[pod.netns]
    links = [name for name, link in was.links.items() if now.links.get(name) != link]
    routes = [f"the route to {route.dst}" for route in was.routes if route not in now.routes]
    host = set(before.namespaces[HOST].links) - set(after.namespaces[HOST].links)
    files = set(before.files) - set(after.files)
    return [*links, *routes, *sorted(host | files)]


@case("CNI-PLG-051", "CNI 1.1 ADD", needs=[INTERFACE, NETNS, MAKES_LINK, V0_4])
def test_attachments_of_other_names_are_independent(plugin: PluginUnderTest) -> None:
    """A pod with two interfaces on one network, and two pods whose interface has the same name:
    an attachment is known by container and interface together.
    """
    first = plugin.attached()
    same = {"container_id": first.container_id, "netns": first.netns, "ifname": _SECOND}
    variants: list[tuple[str, dict[str, str]]] = [
        ("the same container and a second interface", same),
        ("another container and the same interface", {}),
    ]
    with together() as check:
        before = []
        for name, changes in variants:
            with check:
                pod = plugin.pod(**changes)
                rule = f"ADD for {name} succeeds"
                result_of(plugin.add(pod), rule)
                shared = _addresses(plugin, first) & _addresses(plugin, pod)
                rule = f"ADD for {name} gives other addresses"
                expect(not shared, rule, wanted="no address twice", got=shared)
                before.append((name, pod, plugin.host.links(pod.netns)[pod.ifname]))
        plugin.deleted(first)
        for name, pod, link in before:
            with check:
                now = plugin.host.links(pod.netns).get(pod.ifname)
                rule = f"DEL of the first attachment leaves that of {name} alone"
                expect(now == link, rule, wanted=link, got=now or f"no {pod.ifname}")


def _addresses(plugin: PluginUnderTest, pod: CniAttachment) -> set[str]:
    return {each.address for each in decoded(pod.result or {}, plugin.newest).ips}


@case("CNI-PLG-111", "CNI 1.1 Lifecycle & Ordering", needs=[INTERFACE, NETNS, SHARES, V1_0])
def test_the_first_adds_of_a_network_may_come_at_once(plugin: PluginUnderTest) -> None:
    """A node that starts begins with many pods; each of them finds no bridge and no chain, and
    makes them.
    """
    config = plugin.config()
    if "bridge" in config:
        config["bridge"] = _new_bridge(plugin)
    pods = [plugin.pod() for _ in range(_AT_ONCE)]
    barrier = Barrier(len(pods))

    def add(pod: CniAttachment) -> Outcome:
        barrier.wait()
        return plugin.add(pod, config)

    with ThreadPoolExecutor(len(pods)) as threads:
        outcomes = list(threads.map(add, pods))
    rule = f"{len(pods)} ADDs at once, the first of their network, succeed"
    with together() as check:
        for outcome in outcomes:
            with check:
                result_of(outcome, rule)
    if plugin.subject.delegates:
        given = [each for pod in pods for each in _addresses(plugin, pod)]
        unique = len(given) == len(set(given))
        expect(unique, f"{rule} with an address each", wanted="no address twice", got=given)


def _new_bridge(plugin: PluginUnderTest) -> str:
    """A name that no other case uses, gone with the case."""
    name = f"rfi{plugin.network.replace('-', '')[-10:]}"

    def remove() -> None:
        with contextlib.suppress(HostError):
            plugin.host.delete_link(None, name)

    plugin.scope.callback(remove)
    return name
