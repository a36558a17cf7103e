"""What a client makes of the devices that a plugin prefers (DP-KUB): GetPreferredAllocation."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from conformance.engine.case import case
from conformance.engine.needs import Feature
from conformance.engine.verdict import expect, together
from conformance.kubelet.node import NodeUnderTest
from refimpl.deviceplugin.api import deviceplugin_pb2 as pb
from refimpl.deviceplugin.scripted import ScriptedPlugin
from refimpl.wire.status import Code

_PODS = [Feature("pods")]
_SOURCE = "device plugin API v1beta1: GetPreferredAllocation"
_DEVICES = "abcdefghij"
_SIZE = 2

Answer = Callable[[Sequence[str]], Sequence[str] | None]
"""Ids that can be had, in order -> those that are preferred; None: no container response."""

_ANSWERS: Mapping[str, Answer] = {
    "too many": lambda free: free[-3:],
    "an unknown one": lambda free: ["nobody's", free[-1]],
    "too few": lambda free: free[-1:],
    "none": lambda _: [],
    "no container response": lambda _: None,
}


@case("DP-KUB-039", _SOURCE, needs=_PODS)
def test_a_preference_is_followed_as_far_as_it_makes_sense(node: NodeUnderTest) -> None:
    """What a plugin prefers is advice, and plugins err: whatever they say, the container gets as
    many devices as it asked for, all of them known and free."""
    plugin = _preferring(node, *_DEVICES)
    free = set(_DEVICES)
    with together() as check:
        for variant, answer in _ANSWERS.items():
            plugin.preferred = _as_script(answer)
            before = len(plugin.allocated())
            node.pods.running(limits={plugin.resource: _SIZE})
            got = plugin.allocated()[before:]
            with check:
                _expect_sensible(variant, answer(sorted(free)) or (), got, free)
            free -= {id for ids in got for id in ids}
        sizes = [r.allocation_size for c in plugin.calls(_RPC) for r in c.container_requests]
        with check:
            expect(
                sizes == [_SIZE] * len(_ANSWERS),
                "the plugin is asked once for each pod, and told the number",
                wanted=f"{len(_ANSWERS)} times {_SIZE}",
                got=sizes,
            )


@case("DP-KUB-040", _SOURCE, needs=_PODS)
def test_a_failed_preference_refuses_the_pod(node: NodeUnderTest) -> None:
    """An error says that something is wrong with the devices, which no opinion does not: nothing is
    allocated then."""
    plugin = _preferring(node, "a", "b", "c")
    plugin.refused[_RPC] = Code.INTERNAL
    with together() as check:
        with check:
            node.pods.refused(node.pods.run({plugin.resource: 1}))
        with check:
            expect(
                not plugin.allocated(),
                "no Allocate follows a GetPreferredAllocation that failed",
                wanted="none",
                got=plugin.allocated(),
            )


@case("DP-KUB-041", _SOURCE, needs=_PODS)
def test_a_plugin_that_offers_no_preference_is_not_asked(node: NodeUnderTest) -> None:
    """It need not serve the call at all: an error would refuse every pod."""
    plugin = node.joined("a", "b", "c")
    node.pods.running(limits={plugin.resource: 1})
    requests = plugin.calls(_RPC)
    expect(
        not requests,
        "GetPreferredAllocation is for plugins whose options announce it",
        wanted="no call",
        got=f"{len(requests)} calls",
    )


_RPC = "GetPreferredAllocation"


def _preferring(node: NodeUnderTest, *devices: str) -> ScriptedPlugin:
    plugin = node.plugin()
    plugin.options.get_preferred_allocation_available = True
    return node.join(plugin, *devices)


def _as_script(
    answer: Answer,
) -> Callable[[pb.PreferredAllocationRequest], pb.PreferredAllocationResponse]:
    def scripted(request: pb.PreferredAllocationRequest) -> pb.PreferredAllocationResponse:
        ids = answer(sorted(request.container_requests[0].available_deviceIDs))
        answers = [] if ids is None else [pb.ContainerPreferredAllocationResponse(deviceIDs=ids)]
        return pb.PreferredAllocationResponse(container_responses=answers)

    return scripted


def _expect_sensible(
    variant: str, preferred: Collection[str], got: list[tuple[str, ...]], free: set[str]
) -> None:
    ids = set(got[0]) if len(got) == 1 else set()
    useful = free & set(preferred)
    followed = ids <= useful if len(useful) >= _SIZE else ids >= useful
    expect(
        len(ids) == _SIZE and ids <= free and followed,
        f"of a preference for {variant} what is useful counts, and the rest is chosen",
        wanted=f"{_SIZE} free devices, of {', '.join(sorted(useful)) or 'any'} first",
        got=got,
    )
