"""The result of ADD against what is there: versions, interfaces, addresses, routes, links."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from pathlib import PurePosixPath

import pytest

from conformance.cni.needs import INTERFACE, NETNS
from conformance.cni.plugins.attachments import CniAttachment
from conformance.cni.plugins.plugin import PluginUnderTest
from conformance.cni.plugins.results import decoded, has_address, link_of, virtual
from conformance.engine.case import case
from conformance.engine.verdict import expect, should, together
from refimpl.cni import contract
from refimpl.cni.contract import Result

_SOURCE = "CNI 1.1 ADD success"


def _attached(plugin: PluginUnderTest) -> tuple[CniAttachment, Result]:
    pod = plugin.pod()
    return pod, decoded(plugin.added(pod), plugin.newest)


def _told(plugin: PluginUnderTest, entries: object, what: str) -> None:
    """Skips where a result has nothing of what is looked at."""
    if not entries:
        pytest.skip(f"the result of {plugin.name} tells of no {what}")


@case("CNI-PLG-038", _SOURCE, needs=[INTERFACE, NETNS])
def test_a_result_has_the_version_of_the_request(plugin: PluginUnderTest) -> None:
    """The next plugin of the chain gets it as prevResult, and refuses one of another version."""
    pod = plugin.pod()
    with together() as check:
        for version in plugin.versions:
            if version not in contract.VERSIONS or not contract.at_least(version, "0.3.0"):
                continue
            result = plugin.added(pod, plugin.config(version))
            plugin.delete(pod)
            rule = f"cniVersion of a result is that of the request, {version}"
            got = result.get("cniVersion")
            with check:
                expect(got == version, rule, wanted=version, got="none" if got is None else got)


@case("CNI-PLG-039", _SOURCE, needs=[INTERFACE, NETNS])
def test_a_result_names_the_interface_in_the_container(plugin: PluginUnderTest) -> None:
    """Runtimes find the pod's address by this entry; CHECK and later plugins look for its sandbox
    and compare it letter by letter with CNI_NETNS.
    """
    with together() as check:
        with check:
            _names_the_interface(plugin, plugin.pod(), expect)
        pod = plugin.pod()
        path = PurePosixPath(pod.netns)
        pod.netns = f"{path.parent}/./{path.name}"
        with check:
            _names_the_interface(plugin, pod, should)


def _names_the_interface(
    plugin: PluginUnderTest, pod: CniAttachment, judge: Callable[..., None]
) -> None:
    result = decoded(plugin.added(pod), plugin.newest)
    names = [(each.name, each.sandbox) for each in result.interfaces]
    judge(
        (pod.ifname, pod.netns) in names,
        "the result names the interface in the container, its sandbox spelled as CNI_NETNS",
        wanted=f"{pod.ifname} in sandbox {pod.netns}",
        got=names or "no interfaces",
    )


@case("CNI-PLG-040", _SOURCE, needs=[INTERFACE, NETNS])
def test_every_interface_of_a_result_is_where_it_says(plugin: PluginUnderTest) -> None:
    """Network policies and meters attach to the host's end: they find it by this entry alone."""
    pod, result = _attached(plugin)
    _told(plugin, result.interfaces, "interface")
    with together() as check:
        for each in result.interfaces:
            if not virtual(each):
                place = (
                    f"in {each.sandbox}" if each.sandbox else "on the host, as it has no sandbox"
                )
                with check:
                    expect(
                        link_of(plugin, pod, each),
                        "an interface without sandbox is on the host, one with it in the container",
                        wanted=f"a link {each.name!r} {place}",
                        got="no such link",
                    )


@case("CNI-PLG-041", _SOURCE, needs=[INTERFACE, NETNS])
def test_mac_and_mtu_of_a_result_are_those_of_the_link(plugin: PluginUnderTest) -> None:
    """Chained plugins write rules for the MAC; a wrong MTU makes connections hang."""
    pod, result = _attached(plugin)
    _told(plugin, result.interfaces, "interface")
    with together() as check:
        for each in result.interfaces:
            link = link_of(plugin, pod, each)
            if link is None:
                continue
            rule = f"{each.name!r} of the result is described as it is"
            mac = each.mac.lower()
            with check:
                expect(mac in ("", link.mac), rule, wanted=f"mac {link.mac}", got=f"mac {mac}")
            with check:
                expect(
                    each.mtu in (0, link.mtu), rule, wanted=f"mtu {link.mtu}", got=f"mtu {each.mtu}"
                )


@case("CNI-PLG-042", _SOURCE, needs=[INTERFACE, NETNS])
def test_every_address_of_a_result_is_on_its_interface(plugin: PluginUnderTest) -> None:
    """The address goes into DNS and endpoints; where it is not, connections go nowhere.

    An address that points to no interface may be one outside the container.
    """
    pod, result = _attached(plugin)
    _told(plugin, result.ips, "address")
    inside = plugin.host.links(pod.netns).get(pod.ifname)
    loose = [each for each in result.ips if each.interface is None]
    with together() as check:
        for each in result.ips:
            if each.interface is None or each.interface >= len(result.interfaces):
                continue
            entry = result.interfaces[each.interface]
            link = link_of(plugin, pod, entry)
            with check:
                expect(
                    virtual(entry) or has_address(link, each.address),
                    f"an address of the result is on the interface it points to, {entry.name!r}",
                    wanted=each.address,
                    got=link.addresses if link else f"no link {entry.name!r}",
                )
        for each in loose:
            rule = "an address that points to no interface is on that of the container"
            got = inside.addresses if inside else f"no link {pod.ifname}"
            with check:
                should(has_address(inside, each.address), rule, wanted=each.address, got=got)


@case("CNI-PLG-043", _SOURCE, needs=[INTERFACE, NETNS])
def test_an_address_points_to_the_interface_in_the_container(plugin: PluginUnderTest) -> None:
    """An index behind the end brought whole runtimes down; one that points to the bridge leaves
    the pod without an address.
    """
    pod = plugin.pod()
    result = plugin.added(pod)
    _told(plugin, result.get("ips"), "address")
    entries = result.get("interfaces") or []
    inside = plugin.host.links(pod.netns).get(pod.ifname)
    places = [ip.get("interface") for ip in result.get("ips") or []]
    rule = "ips[].interface counts the interfaces of the result from 0"
    with together() as check:
        for place in places:
            whole = place is None or (isinstance(place, int) and not isinstance(place, bool))
            within = whole and (place is None or 0 <= place < len(entries))
            with check:
                expect(within, rule, wanted=f"an integer below {len(entries)}", got=repr(place))
        for ip, place in zip(result.get("ips") or [], places, strict=True):
            of_container = has_address(inside, str(ip.get("address")))
            with check:
                rule = "the address of the container's interface points to it"
                if place in range(len(entries)) and of_container:
                    entry = entries[place]
                    expect(entry.get("sandbox"), rule, wanted="an entry with a sandbox", got=entry)
        with check:
            should(
                None not in places, rule, wanted="an index for each address", got=result.get("ips")
            )


@case("CNI-PLG-045", _SOURCE, needs=[INTERFACE, NETNS])
def test_every_route_of_a_result_is_in_the_container(plugin: PluginUnderTest) -> None:
    """CHECK compares them later; a route that is only told of leads nowhere."""
    pod, result = _attached(plugin)
    _told(plugin, result.routes, "route")
    there = [route.dst for route in plugin.host.routes(pod.netns)]
    with together() as check:
        for route in result.routes:
            rule = "a route of the result is normalised and is in the container"
            wanted = _normal(route.dst) or "CIDR notation"
            with check:
                expect(route.dst == wanted, rule, wanted=wanted, got=route.dst)
            with check:
                expect(route.dst in there, rule, wanted=f"a route to {route.dst}", got=there)


def _normal(dst: str) -> str:
    try:
        return str(ipaddress.ip_network(dst, strict=False)) if "/" in dst else ""
    except ValueError:
        return ""


@case("CNI-PLG-048", "CNI 1.1 ADD, ADD success", needs=[INTERFACE, NETNS])
def test_the_interface_is_up_and_nothing_is_made_that_no_result_names(
    plugin: PluginUnderTest,
) -> None:
    """What no result names nobody watches and nobody removes."""
    pod = plugin.pod()
    host, inside = set(plugin.host.links()), set(plugin.host.links(pod.netns))
    result = decoded(plugin.added(pod), plugin.newest)
    link = plugin.host.links(pod.netns).get(pod.ifname)
    with together() as check:
        with check:
            expect(
                link and link.up,
                "after ADD the interface is in the container and up",
                wanted=f"{pod.ifname}, up",
                got=link or sorted(plugin.host.links(pod.netns)),
            )
        for place, before, sandbox in ((None, host, ""), (pod.netns, inside, pod.netns)):
            named = {each.name for each in result.interfaces if each.sandbox == sandbox}
            unnamed = sorted(set(plugin.host.links(place)) - before - named)
            where = f"in {place}" if place else "on the host"
            rule = f"every link that ADD makes {where} is an interface of the result"
            with check:
                expect(not unnamed, rule, wanted=f"no more than {sorted(named)}", got=unnamed)
