"""Calls that were made against calls that had to be made."""

from __future__ import annotations

import pytest

from conformance.deviceplugin.vectors.rows import Step
from conformance.deviceplugin.vectors.traces import Allocated, Asked, follows, in_words, trace_of
from conformance.engine.scope import CaseScope
from conformance.kubelet.ours import OurKubelet
from conformance.kubelet.target import ClientTarget
from refimpl.wire.journal import Journal
from tests.targets import resolved

ASKED = Asked(frozenset("ab"), frozenset("a"), 2)


@pytest.mark.parametrize(
    ("call", "step", "same"),
    [
        (ASKED, Step(available="b a", must="a", size=2), True),
        (ASKED, Step(available="a b", size=2), False),
        (ASKED, Step(available="a b c", must="a", size=2), False),
        (ASKED, Step(available="a b", must="a", size=1), False),
        (ASKED, Step(allocate=2), False),
        (Allocated(("b", "a")), Step(allocate=2, includes="a b"), True),
        (Allocated(("a",)), Step(allocate=2), False),
        (Allocated(("a", "a")), Step(allocate=2), False),
        (Allocated(("a", "b")), Step(allocate=2, includes="c"), False),
        (Allocated(("a", "b")), Step(allocate=2, excludes="b"), False),
        (Allocated(("a",)), Step(available="a", size=1), False),
    ],
)
def test_a_call_is_compared_by_its_sets(call: Asked | Allocated, step: Step, same: bool) -> None:
    """Their order is nobody's business, but their number is."""
    assert call.follows(step) is same


def test_calls_are_compared_one_by_one() -> None:
    """None too many, none missing, and in their order."""
    once, steps = Allocated(("a",)), [Step(allocate=1), Step(allocate=2)]
    assert follows([once, Allocated(("a", "b"))], steps)
    assert not follows([Allocated(("a", "b")), once], steps)
    assert not follows([once], steps)
    assert follows([], [])


def test_a_finding_tells_what_was_wanted_and_what_came() -> None:
    """In the words of the protocol."""
    assert in_words([]) == "no call"
    steps = [Step(available="b a", size=1), Step(allocate=1, includes="a", excludes="b")]
    assert in_words(steps) == (
        "GetPreferredAllocation(available a b, must include none, size 1), then"
        " Allocate(1 device with a without b)"
    )
    assert in_words([Allocated(("b", "a"))]) == "Allocate(a b)"


def test_the_calls_of_a_plugin_are_read_in_their_order() -> None:
    """Of both RPCs, as they came."""
    client = OurKubelet()
    target = ClientTarget(client, resolved("deviceplugin", side="client"), Journal(), quiet_s=0.1)
    case = CaseScope()
    node = target.node(case)
    plugin = node.plugin()
    plugin.options.get_preferred_allocation_available = True
    node.join(plugin, "a", "b")
    for _ in range(2):
        node.pods.running(limits={plugin.resource: 1})
    assert in_words(trace_of(plugin)) == (
        "GetPreferredAllocation(available a b, must include none, size 1), then Allocate(a), then"
        " GetPreferredAllocation(available b, must include none, size 1), then Allocate(b)"
    )
    case.close()
    target.close()
