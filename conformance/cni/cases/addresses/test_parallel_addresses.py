"""Many containers at a time: a node that comes back starts all of its pods at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from conformance.cni.needs import IPAM, RANGES
from conformance.cni.plugins.attachments import CniAttachment
from conformance.cni.plugins.outcomes import succeeded
from conformance.cni.plugins.plugin import PluginUnderTest
from conformance.cni.plugins.reservations import given, neighbours, pool, ranged
from conformance.engine.case import case
from conformance.engine.verdict import expect, together

T = TypeVar("T")
_MANY = 50
_WORKERS, _ROUNDS = 8, 3


def _together(act: Callable[[CniAttachment], T], pods: Sequence[CniAttachment]) -> list[T]:
    with ThreadPoolExecutor(len(pods)) as threads:
        return list(threads.map(act, pods))


@case("CNI-PLG-109", "CNI 1.1 Lifecycle & Ordering", needs=[IPAM, RANGES])
def test_attachments_made_at_once_get_addresses_of_their_own(plugin: PluginUnderTest) -> None:
    """Runtimes never lock for a plugin; two pods with one address take each other's traffic."""
    config, pods = ranged(plugin, pool(_MANY)), neighbours(plugin.pod(), _MANY)
    outcomes = _together(lambda pod: plugin.add(pod, config), pods)
    rule = f"{_MANY} ADDs at once succeed with an address each"
    held = [address for outcome in outcomes for address in given(outcome, rule)]
    twice = sorted({address for address in held if held.count(address) > 1})
    expect(not twice, rule, wanted="no address twice", got=twice)


@case("CNI-PLG-110", "CNI 1.1 Lifecycle & Ordering", needs=[IPAM, RANGES])
def test_a_storm_of_adds_and_deletes_loses_no_address(plugin: PluginUnderTest) -> None:
    """A lost address is lost until the node is made anew; after some storms none is left."""
    config, pods = ranged(plugin, pool(_WORKERS)), neighbours(plugin.pod(), _WORKERS)
    rule = f"{_WORKERS} containers that come and go at once share {_WORKERS} addresses"

    def storm(pod: CniAttachment) -> None:
        for _ in range(_ROUNDS):
            given(plugin.add(pod, config), rule)
            succeeded(plugin.delete(pod, config), rule)

    _together(storm, pods)
    after = _together(lambda pod: plugin.add(pod, config), pods)
    rule = f"{rule}, and find all of them free afterwards"
    held = {address for outcome in after for address in given(outcome, rule)}
    expect(len(held) == _WORKERS, rule, wanted=f"{_WORKERS} addresses", got=sorted(held))
    with together() as check:
        for outcome in _together(lambda pod: plugin.delete(pod, config), pods):
            with check:
                succeeded(outcome, "DEL of each of them succeeds")
