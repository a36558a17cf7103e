"""A chained plugin and the result of the plugins before it: needed, passed on, kept true."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest

from conformance.cni.needs import CHAINED, NETNS, V1_0
from conformance.cni.plugins.attachments import CniAttachment
from conformance.cni.plugins.failures import ended
from conformance.cni.plugins.outcomes import result_of
from conformance.cni.plugins.passed_on import in_version, own_entry, passed_on, prev_result_of
from conformance.cni.plugins.plugin import PluginUnderTest
from conformance.cni.plugins.results import decoded, shapes
from conformance.engine.case import PROPERTY, case
from conformance.engine.verdict import Broken, expect, should, together
from refimpl.cni import contract
from refimpl.cni.contract import ErrorCode, Interface
from refimpl.cni.execute import Outcome
from refimpl.cni.host import Link

Document = dict[str, Any]
_EXAMPLES = 15
_STRANGER = {"x-acme": {"zone": ["blue", 7]}}
_MAC, _MTU = "02:00:5e:10:00:99", 1380


@case("CNI-PLG-060", "CNI 1.1 Error", needs=[CHAINED])
def test_add_without_prev_result_is_refused(plugin: PluginUnderTest) -> None:
    """A chained plugin that was put first in its list: the user has to read that, and no stack
    trace, whether or not there is something for it to do.
    """
    pod = plugin.pod()
    rule = "ADD of a chained plugin without prevResult is refused"
    codes = []
    with together() as check:
        for version in shapes(plugin):
            for config in (plugin.config(version), plugin.config(version, runtimeConfig=None)):
                outcome = plugin.add(pod, config, prev_result=None)
                with check:
                    expect(not outcome.ok, rule, wanted="a failure", got=outcome.brief())
                with check:
                    ended(outcome, rule)
                codes.append(outcome.error and outcome.error.code)
        for code in codes:
            wanted = ErrorCode.INVALID_CONFIG
            with check:
                should(
                    code == wanted, f"{rule} as an invalid network", wanted=int(wanted), got=code
                )


@case("CNI-PLG-061", "CNI 1.1 ADD", needs=[CHAINED, NETNS])
def test_prev_result_is_passed_on(plugin: PluginUnderTest) -> None:
    """The last plugin's result is all that a runtime learns: an address that is lost on the way is
    a pod without one.
    """
    pod = plugin.pod()
    with together() as check:
        for version in shapes(plugin):
            config, given = plugin.config(version), prev_result_of(pod, version)
            got = plugin.added(pod, config)
            with check:
                passed_on(plugin, pod, given, got, f"a result of {version} is passed on")
            plugin.delete(pod)


@case("CNI-PLG-062", "CNI 1.1 ADD", needs=[CHAINED, NETNS, V1_0])
def test_members_that_the_plugin_does_not_know_are_passed_on(plugin: PluginUnderTest) -> None:
    """Vendors tell each other more than the specification knows, and a newer one knows more."""
    pod = plugin.pod()
    given = _extended(prev_result_of(pod, plugin.newest))
    got = plugin.added(pod, prev_result=given)
    rule = "a result with members that no version defines is passed on"
    with together() as check:
        with check:
            passed_on(plugin, pod, given, got, rule)
        if plugin.settings.policy == "practice":
            return
        with check:
            lost = sorted(set(_strangers(given)) - set(_strangers(got)))
            expect(
                not lost, f"{rule} with them", wanted="all of them", got=f"without those of {lost}"
            )


def _extended(result: Document) -> Document:
    """With a stranger at the top, in an entry of each array and in dns."""
    extended = copy.deepcopy(result)
    extended["dns"] = {"nameservers": ["10.88.0.1"], **_STRANGER}
    for entry in (extended["interfaces"][-1], extended["ips"][0], extended["routes"][0]):
        entry.update(_STRANGER)
    return {**extended, **_STRANGER}


def _strangers(value: Any, place: str = "the result") -> Iterator[str]:
    """The objects that have the stranger; entries of arrays by the array's name alone."""
    if isinstance(value, list):
        for each in value:
            yield from _strangers(each, place)
    elif isinstance(value, dict):
        if value.items() >= _STRANGER.items():
            yield place
        for name, inner in value.items():
            yield from _strangers(inner, name)


@case("CNI-PLG-063", "CNI 1.1 ADD", needs=[CHAINED, NETNS])
def test_a_prev_result_of_another_version_is_converted_or_refused(plugin: PluginUnderTest) -> None:
    """Runtimes get the version wrong, too; a result with the label of one version and the members
    of another is read by nobody.
    """
    pod = plugin.pod()
    with together() as check:
        for version in shapes(plugin):
            for name, given, wanted in _odd_ones(pod, version):
                document = {**plugin.config(version), "prevResult": given}
                outcome = plugin.add(pod, document, prev_result=None)
                rule = f"a prevResult {name} for {version} is converted or refused"
                with check:
                    _converted(plugin, pod, outcome, wanted, rule)
                plugin.delete(pod, plugin.config(version))


def _converted(
    plugin: PluginUnderTest,
    pod: CniAttachment,
    outcome: Outcome,
    wanted: Document | None,
    rule: str,
) -> None:
    """Raises Broken for a success with another result than `wanted`, and for a failure without a
    word.
    """
    if not outcome.ok:
        return ended(outcome, rule)
    if wanted is None:
        raise Broken(rule, "a failure", outcome.brief())
    got, version = result_of(outcome, rule), str(wanted["cniVersion"])
    wrong = [str(problem) for problem in contract.problems(got, version)]
    expect(not wrong, rule, wanted=f"a result of {version}", got="; ".join(wrong))
    return passed_on(plugin, pod, wanted, got, rule)


def _odd_ones(pod: CniAttachment, version: str) -> Iterator[tuple[str, Any, Document | None]]:
    """Name, what is given, and what it says in the version; None for nothing that could be said."""
    true = prev_result_of(pod, version)
    for other in ("0.4.0", "1.0.0", "1.1.0"):
        if other != version:
            foreign = prev_result_of(pod, other)
            yield f"of {other}", foreign, in_version(foreign, version)
    bare = {name: value for name, value in true.items() if name != "cniVersion"}
    yield "without cniVersion", bare, true
    yield "that is empty", {}, {"cniVersion": version}
    yield "that is null", None, None


@case("CNI-PLG-064", "CNI 1.1 ADD", needs=[CHAINED, NETNS])
def test_only_the_interface_of_the_call_is_touched(plugin: PluginUnderTest) -> None:
    """A result tells of the bridge and the other end, too, and a namespace may have more
    interfaces; they belong to others. Tried with a MAC and an MTU, for a plugin that changes them.
    """
    with together() as check:
        for name, config in _adjusting(plugin):
            pod = plugin.pod()
            given = _beside_others(plugin, pod)
            others = _others(plugin, pod)
            got = _answer(plugin, pod, name, config, given)
            if got is None:
                continue
            rule = f"ADD {name} touches only {pod.ifname}"
            with check:
                passed_on(plugin, pod, given, got, rule)
            with check:
                now = _others(plugin, pod)
                touched = [link for place, link in now.items() if others[place] != link]
                expect(not touched, rule, wanted=list(others.values()), got=touched)


@case("CNI-PLG-065", "CNI 1.1 ADD", needs=[CHAINED, NETNS])
def test_a_changed_mac_or_mtu_is_in_the_result(plugin: PluginUnderTest) -> None:
    """CHECK, and whoever sets up neighbours, work with what the result says. Results have `mtu`
    since 1.1.0.
    """
    changed = False
    with together() as check:
        for name, config in _adjusting(plugin):
            pod = plugin.pod()
            before = plugin.host.links(pod.netns)[pod.ifname]
            got = _answer(plugin, pod, name, config, prev_result_of(pod, plugin.newest))
            if got is None:
                continue
            link = plugin.host.links(pod.netns)[pod.ifname]
            changed = changed or _hardware(link, plugin) != _hardware(before, plugin)
            entry = own_entry(decoded(got, plugin.newest), pod)
            rule = f"after ADD {name} the result tells mac and mtu as they are"
            with check:
                seen = entry and _hardware(entry, plugin)
                expect(
                    seen == _hardware(link, plugin), rule, wanted=_hardware(link, plugin), got=seen
                )
        if not changed:
            pytest.skip(f"{plugin.name} changes neither mac nor mtu")


def _hardware(of: Link | Interface, plugin: PluginUnderTest) -> dict[str, Any]:
    mtu = {"mtu": of.mtu} if contract.at_least(plugin.newest, "1.1.0") else {}
    return {"mac": of.mac.lower(), **mtu}


_PLAIN = "as configured"


def _adjusting(plugin: PluginUnderTest) -> Iterator[tuple[str, Document]]:
    """The plugin's document, then with other hardware asked for as plugins commonly take it."""
    runtime = plugin.config().get("runtimeConfig", {})
    yield _PLAIN, plugin.config()
    yield f"with mac {_MAC}", plugin.config(runtimeConfig={**runtime, "mac": _MAC})
    yield f"with mtu {_MTU}", plugin.config(mtu=_MTU)


def _answer(
    plugin: PluginUnderTest, pod: CniAttachment, name: str, config: Document, given: Document
) -> Document | None:
    """The result; None where a member was refused that the plugin does not know."""
    outcome = plugin.add(pod, config, prev_result=given)
    if outcome.ok or name == _PLAIN:
        return result_of(outcome, f"ADD {name} has to succeed here")
    ended(outcome, f"ADD {name} succeeds or is refused")
    return None


_BESIDE = "beside0"


def _beside_others(plugin: PluginUnderTest, pod: CniAttachment) -> Document:
    """What a bridge with addresses of both families tells, made true; and an interface beside."""
    given = prev_result_of(pod, plugin.newest)
    bridge = _bridge(given["interfaces"][0]["name"])
    plugin.host.add_link(None, bridge)
    plugin.scope.callback(lambda: plugin.host.delete_link(None, bridge))
    plugin.host.add_link(pod.netns, _BESIDE)
    plugin.host.add_address(pod.netns, pod.ifname, "fd88::2/64")
    given["interfaces"].append({"name": bridge, "mac": plugin.host.links(None)[bridge].mac})
    given["ips"].append({"address": "fd88::2/64", "interface": 1})
    if not contract.at_least(plugin.newest, "1.0.0"):
        given["ips"][-1]["version"] = "6"
    return given


def _bridge(outside: str) -> str:
    return f"{outside[-13:]}br"


def _others(plugin: PluginUnderTest, pod: CniAttachment) -> dict[str, Link]:
    """The links that `_beside_others` tells of, and the one beside."""
    host, inside = plugin.host.links(None), plugin.host.links(pod.netns)
    outside = str((pod.before or {})["interfaces"][0]["name"])
    bridge = _bridge(outside)
    return {outside: host[outside], bridge: host[bridge], _BESIDE: inside[_BESIDE]}


@PROPERTY
@case("CNI-PLG-122", "CNI 1.1 ADD", needs=[CHAINED, NETNS])
def test_any_valid_prev_result_is_passed_on(plugin: PluginUnderTest) -> None:
    """Nobody knows what other plugins of a list will tell; whatever is valid has to go through."""
    from hypothesis import given

    from conformance.cni.plugins.inputs import prev_results
    from conformance.engine.properties import examples

    pod = plugin.pod()

    @examples(_EXAMPLES, plugin.seed)
    @given(prev_results(pod, _chainable(plugin)))
    def holds(previous: Document) -> None:
        version = previous["cniVersion"]
        got = plugin.added(pod, plugin.config(version), prev_result=previous)
        try:
            passed_on(plugin, pod, previous, got, f"any result of {version} is passed on")
        finally:
            plugin.delete(pod)

    holds()


def _chainable(plugin: PluginUnderTest) -> list[str]:
    """The versions with chains; as many times the newest, which has the most to say."""
    known = [version for version in contract.VERSIONS if version in plugin.versions]
    chained = [version for version in known if contract.at_least(version, "0.3.0")]
    return [*chained, *chained[-1:] * len(chained)]
