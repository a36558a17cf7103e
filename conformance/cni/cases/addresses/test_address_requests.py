"""Addresses that are asked for: given, or refused, and never replaced by another."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from ipaddress import ip_address, ip_interface
from typing import Any

import pytest

from conformance.cni.needs import ATTACHES, IPAM
from conformance.cni.plugins.attachments import CniAttachment
from conformance.cni.plugins.plugin import PluginUnderTest
from conformance.cni.plugins.reservations import addresses, failed, given, neighbours, pool, ranged
from conformance.engine.case import case
from conformance.engine.verdict import Broken, expect, together
from refimpl.cni import contract
from refimpl.cni.execute import Outcome

Document = dict[str, Any]
_ENVIRONMENT, _CONFIGURATION = 4, 7

# The channel -> what it makes of a document and CNI_ARGS for an address (CNI conventions).
_CHANNELS: Mapping[str, Callable[[Document, str], tuple[Document, str]]] = {
    "runtimeConfig.ips": lambda config, ip: ({**config, "runtimeConfig": {"ips": [ip]}}, ""),
    "args.cni.ips": lambda config, ip: ({**config, "args": {"cni": {"ips": [ip]}}}, ""),
    "CNI_ARGS": lambda config, ip: (config, f"IgnoreUnknown=1;IP={ip}"),
}


@case("CNI-PLG-118", "CNI conventions, ips", needs=[IPAM, ATTACHES])
def test_an_address_that_was_asked_for_is_given_or_refused(plugin: PluginUnderTest) -> None:
    """A pod with another address than its DNS entry is worse than a pod that does not start."""
    config = ranged(plugin, pool(20)) if plugin.subject.ranged else plugin.config()
    pod, taken = plugin.pod(), plugin.pod()
    result = contract.decode(plugin.added(taken, config), plugin.newest, lenient=True)
    held = ip_interface(result.ips[0].address)
    free, prefix = str(held.ip + 5), held.network.prefixlen
    variants = {
        "a free address": free,
        "a free address with its prefix length": f"{free}/{prefix}",
        "an address of another network": f"10.99.0.9/{prefix}",
        "an address that is taken": f"{held.ip}/{prefix}",
    }
    others = iter(neighbours(pod, len(variants) * len(_CHANNELS)))
    outcomes = [
        (f"{name} asked for by {channel}", ip, _asked(plugin, next(others), config, channel, ip))
        for name, ip in variants.items()
        for channel in _CHANNELS
    ]
    with together() as check:
        for name, ip, outcome in outcomes:
            with check:
                _not_another(outcome, ip, name)
        if plugin.subject.ranged:
            for name, _, outcome in outcomes[-len(_CHANNELS) :]:
                rule = f"{name}: it is not given twice"
                with check:
                    expect(not outcome.ok, rule, wanted="a failure", got=outcome.brief())
        for name, _, outcome in outcomes:
            with check:
                _explained(outcome, name)


def _asked(
    plugin: PluginUnderTest, pod: CniAttachment, config: Document, channel: str, ip: str
) -> Outcome:
    document, args = _CHANNELS[channel](config, ip)
    pod.args = args or pod.args
    outcome = plugin.add(pod, document)
    if plugin.delete(pod).ok:
        pod.config = None  # nothing is left to delete
    return outcome


def _not_another(outcome: Outcome, ip: str, name: str) -> None:
    rule = f"{name} is given or refused"
    if outcome.ok and _bare(ip) not in addresses(_document(outcome)):
        raise Broken(rule, f"{ip} or a failure", outcome.brief())


def _explained(outcome: Outcome, name: str) -> None:
    if outcome.ok:
        return
    codes = {_CONFIGURATION, _ENVIRONMENT} if "CNI_ARGS" in name else {_CONFIGURATION}
    failed(outcome, f"the refusal of {name} has a code for that", *codes)


def _bare(address: str) -> str:
    return address.partition("/")[0]


def _document(outcome: Outcome) -> dict[str, Any]:
    document = outcome.document
    return document if isinstance(document, dict) else {}


@case("CNI-PLG-068", "CNI conventions, ips", needs=[IPAM, ATTACHES])
def test_args_of_the_configuration_go_before_cni_args(plugin: PluginUnderTest) -> None:
    """CNI_ARGS is the old way, and what is left over from it must not overrule the new one."""
    config = ranged(plugin, pool(20)) if plugin.subject.ranged else plugin.config()
    pod, new, old = neighbours(plugin.pod(), 3)
    held = given(plugin.add(pod, config), "ADD gives an address")[0]
    prefix = ip_interface(str((pod.result or {})["ips"][0]["address"])).network.prefixlen
    wanted, other = (f"{ip_address(held) + number}/{prefix}" for number in (3, 4))
    plugin.delete(pod)
    document, _ = _CHANNELS["args.cni.ips"](config, wanted)
    alone = plugin.add(new, document)
    plugin.delete(new)
    if not (alone.ok and _bare(wanted) in addresses(_document(alone))):
        pytest.skip(f"{plugin.name} does not give the address that args.cni.ips asks for")
    _, old.args = _CHANNELS["CNI_ARGS"](config, other)
    got = given(plugin.add(old, document), "ADD with both args.cni.ips and an IP in CNI_ARGS")
    rule = "of args.cni.ips and the IP in CNI_ARGS the first counts"
    expect(got == [_bare(wanted)], rule, wanted=_bare(wanted), got=", ".join(got))
