"""The members of a result: those of its version, with values that mean something."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from conformance.cni.needs import ATTACHES
from conformance.cni.plugins.attachments import CniAttachment
from conformance.cni.plugins.outcomes import result_of
from conformance.cni.plugins.plugin import PluginUnderTest
from conformance.cni.plugins.results import nulls, sentences, shapes
from conformance.engine.case import case
from conformance.engine.verdict import expect, together
from refimpl.cni.contract import Kind, Problem

_SOURCE = "CNI 1.1 ADD success"


def _pod(plugin: PluginUnderTest) -> CniAttachment:
    """A pod; what the plugins before a chained one tell of it holds a gateway and a route."""
    pod = plugin.pod()
    if pod.before is not None:
        pod.before["ips"][0]["gateway"] = "10.88.0.1"
        pod.before["routes"] = [{"dst": "0.0.0.0/0", "gw": "10.88.0.1"}]
    return pod


def _result(
    plugin: PluginUnderTest, pod: CniAttachment, config: dict[str, Any], name: str
) -> dict[str, Any]:
    outcome = plugin.add(pod, config)
    plugin.delete(pod)
    return result_of(outcome, f"ADD {name} has to succeed and to print its result")


@case("CNI-PLG-044", _SOURCE, needs=[ATTACHES])
def test_gateways_are_addresses_of_the_right_family(plugin: PluginUnderTest) -> None:
    """A next hop with a prefix, or of the other family, cannot be set by whoever reads it."""
    pod = _pod(plugin)
    with together() as check:
        for version in shapes(plugin):
            with check:
                result = _result(plugin, pod, plugin.config(version), f"in version {version}")
                wrong = sentences(result, version, (Kind.FORMAT, Kind.FAMILY, Kind.TYPE), _next_hop)
                rule = f"gateways of a result of {version} are bare addresses of the right family"
                expect(not wrong, rule, wanted="such as 10.1.0.1", got=wrong)


def _next_hop(problem: Problem) -> bool:
    return problem.pointer.endswith(("/gateway", "/gw"))


@case("CNI-PLG-046", _SOURCE, needs=[ATTACHES])
def test_a_result_has_no_members_of_other_versions(plugin: PluginUnderTest) -> None:
    """A runtime of that version refuses what it does not know, or reads it as something else."""
    pod = _pod(plugin)
    with together() as check:
        for version in shapes(plugin):
            for name, config in _configurations(plugin, version):
                with check:
                    result = _result(plugin, pod, config, name)
                    foreign = sentences(result, version, (Kind.FOREIGN,))
                    rule = f"a result of {version} {name} has the members of {version} only"
                    expect(not foreign, rule, wanted="no other members", got=foreign)


def _configurations(plugin: PluginUnderTest, version: str) -> Iterator[tuple[str, dict[str, Any]]]:
    yield "for the plain configuration", plugin.config(version)
    if plugin.ipam().get("routes"):
        route = {"dst": "198.51.100.0/24", "mtu": 1400, "priority": 50}
        ipam = plugin.ipam(routes=[{"dst": "0.0.0.0/0"}, route])
        yield "for a route with mtu and priority", plugin.config(version, ipam=ipam)


@case("CNI-PLG-047", _SOURCE, needs=[ATTACHES])
def test_a_result_has_no_null(plugin: PluginUnderTest) -> None:
    """Readers of the format take null for neither a list nor an absent member; what is empty is
    left out, or empty. A network without addresses has the most of it.
    """
    pod = _pod(plugin)
    with together() as check:
        for version in shapes(plugin):
            with check:
                result = _result(plugin, pod, plugin.config(version), f"in version {version}")
                _no_null(result, f"a result of {version}")
            if plugin.subject.delegates:
                outcome = plugin.add(pod, plugin.config(version, ipam=None))
                plugin.delete(pod)
                if outcome.ok:  # not every plugin can do without addresses
                    with check:
                        result = result_of(outcome, "ADD prints its result")
                        _no_null(result, f"a result of {version} without addresses")


def _no_null(result: dict[str, Any], what: str) -> None:
    places = list(nulls(result))
    rule = f"{what} has no null: what is empty is left out"
    expect(not places, rule, wanted="no null", got=places)
