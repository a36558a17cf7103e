"""What a chained plugin makes of prevResult: the same, but for the interface it was asked to change
and for links of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from conformance.cni.plugins.attachments import CniAttachment
from conformance.cni.plugins.plugin import PluginUnderTest
from conformance.cni.plugins.results import decoded, link_of
from conformance.engine.verdict import expect
from refimpl.cni import contract
from refimpl.cni.contract import Interface, Result

Document = dict[str, Any]


def prev_result_of(pod: CniAttachment, version: str) -> Document:
    """The result of the plugins before, in that version's shape."""
    assert pod.before is not None, "only a chained plugin has others before it"
    return in_version(pod.before, version)


def in_version(result: Mapping[str, Any], version: str) -> Document:
    """A result in the shape of another version."""
    decoded = contract.decode(result, str(result["cniVersion"]))
    return contract.encode(contract.convert(decoded, version))


def own_entry(result: Result, pod: CniAttachment) -> Interface | None:
    """The entry of the interface that the call is about."""
    own = (each for each in result.interfaces if _is_own(each, pod))
    return next(own, None)


def _is_own(entry: Interface, pod: CniAttachment) -> bool:
    return (entry.name, entry.sandbox) == (pod.ifname, pod.netns)


def passed_on(
    plugin: PluginUnderTest, pod: CniAttachment, given: Document, got: Document, rule: str
) -> None:
    """Raises Broken unless `got` tells all that `given`, of the same version, does.

    The mac and mtu of the own interface may be others. What is new has to be a link that exists.
    """
    version = str(given["cniVersion"])
    before, after = (
        contract.stripped(contract.normalised(decoded(each, version))) for each in (given, got)
    )
    wanted, is_now = _summary(before), _summary(after)
    expect(is_now == wanted, rule, wanted=wanted, got=is_now)
    kept, new = _interfaces(before, pod), _interfaces(after, pod)
    lost = [each for each in kept if kept.count(each) > new.count(each)]
    expect(not lost, f"{rule}, its interfaces too", wanted=lost, got=list(after.interfaces))
    added = [each for each in new if new.count(each) > kept.count(each)]
    untrue = [each for each in added if not (plugin.has_host and link_of(plugin, pod, each))]
    expect(
        not untrue,
        f"{rule}, and no interface that is not there",
        wanted="links that exist",
        got=untrue,
    )


def _summary(result: Result) -> Document:
    """All but the interfaces; an address with the interface itself, since indexes may shift."""
    return {
        "cniVersion": result.cni_version,
        "ips": [(ip.address, ip.gateway, _holder(result, ip.interface)) for ip in result.ips],
        "routes": sorted(result.routes, key=repr),
        "dns": result.dns,
    }


def _holder(result: Result, index: int | None) -> tuple[str, str] | int | None:
    if index is None or not 0 <= index < len(result.interfaces):
        return index
    return result.interfaces[index].name, result.interfaces[index].sandbox


def _interfaces(result: Result, pod: CniAttachment) -> list[Interface]:
    return [
        attrs.evolve(each, mac="", mtu=0) if _is_own(each, pod) else each
        for each in result.interfaces
    ]
