"""What a runtime passes to a chained plugin for capabilities: absent, wrong, in Go's letters."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.cni.needs import CHAINED, NETNS
from conformance.cni.plugins.failures import refused
from conformance.cni.plugins.leftovers import used
from conformance.cni.plugins.outcomes import result_of
from conformance.cni.plugins.passed_on import passed_on, prev_result_of
from conformance.cni.plugins.plugin import PluginUnderTest
from conformance.engine.case import case
from conformance.engine.verdict import expect, together
from refimpl.cni.contract import ErrorCode

Document = dict[str, Any]

# The capability -> a value that nothing can be made of.
_WRONG: dict[str, Any] = {
    "portMappings": [{"hostPort": 80800, "containerPort": 80, "protocol": "tcp"}],
    "bandwidth": {"ingressRate": -1, "ingressBurst": 8000, "egressRate": 8000, "egressBurst": 8000},
    "mac": "no mac",
}
_REFUSALS = {ErrorCode.UNSUPPORTED_FIELD, ErrorCode.INVALID_CONFIG}


@case("CNI-PLG-066", "CNI conventions, Dynamic Plugin specific fields", needs=[CHAINED, NETNS])
def test_capabilities_need_not_be_used(plugin: PluginUnderTest) -> None:
    """Most pods publish no port and have no limit; the plugin is in their list all the same."""
    pod = plugin.pod()
    with together() as check:
        for name, value in (("no runtimeConfig", None), ("an empty runtimeConfig", {})):
            outcome = plugin.add(pod, plugin.config(runtimeConfig=value))
            rule = f"ADD with {name} passes the result on"
            with check:
                got = result_of(outcome, rule)
                passed_on(plugin, pod, prev_result_of(pod, plugin.newest), got, rule)
            plugin.delete(pod)


@case("CNI-PLG-067", "CNI 1.1 Error", needs=[CHAINED, NETNS])
def test_a_wrong_value_of_a_capability_is_refused_before_any_work(plugin: PluginUnderTest) -> None:
    """A user's typing error should be named, and not be found in the text of another program."""
    declared = plugin.config().get("runtimeConfig", {})
    wrong = {name: value for name, value in _WRONG.items() if name in declared}
    if not wrong:
        pytest.skip(f"{plugin.name} gets no value that could be wrong by its configuration")
    pod = used(plugin).pod
    with together() as check:
        for name, value in wrong.items():
            before = plugin.state()
            outcome = plugin.add(pod, plugin.config(runtimeConfig={**declared, name: value}))
            left = before.difference(plugin.state())
            plugin.delete(pod)
            with check:
                refused(
                    outcome, _REFUSALS, f"a wrong {name} is refused as an invalid configuration"
                )
            with check:
                rule = f"an ADD that is refused for a wrong {name} has done no work"
                expect(outcome.ok or not left, rule, wanted="all as it was", got="; ".join(left))


@case("CNI-PLG-069", "practice: containerd's go-cni", needs=[CHAINED, NETNS])
def test_port_mappings_in_gos_letters_are_not_ignored(plugin: PluginUnderTest) -> None:
    """containerd writes HostPort where the conventions say hostPort. A plugin may know that or
    refuse it; a port that is silently not published is found by the users of the pod.
    """
    declared = plugin.config().get("runtimeConfig", {})
    if "portMappings" not in declared:
        pytest.skip(f"{plugin.name} maps no ports by its configuration")
    pod = used(plugin).pod
    before = plugin.state()
    mappings = [
        {f"{name[:1].upper()}{name[1:]}": value for name, value in mapping.items()}
        for mapping in declared["portMappings"]
    ]
    config = plugin.config(runtimeConfig={"portMappings": mappings})
    outcome = plugin.add(pod, config)
    expect(
        not outcome.ok or before.difference(plugin.state()),
        "port mappings with the member names that Go gives are set up or refused",
        wanted="a mapping, or a failure",
        got=f"{outcome.brief()}, and nothing set up",
    )
