"""Which calls a fault is for."""

from __future__ import annotations

import pytest

from refimpl.cni.plugins import KINDS, KNOBS, PluginError, configure
from refimpl.cni.plugins.breaches import knobs
from refimpl.cni.plugins.breaches.rooms import tables


def test_the_list_of_knobs_has_a_line_each_and_no_name_twice() -> None:
    """Options and reports print it."""
    groups = (knobs.PROCESS, knobs.OUTPUT, knobs.REQUEST, knobs.INTERFACE, knobs.IPAM)
    assert len(KNOBS) == sum(map(len, groups)) + len(knobs.CHAINED)
    assert all(text and not text.endswith(".") for text in KNOBS.values())


def test_every_knob_is_done_somewhere_and_every_breach_has_a_name() -> None:
    """A text without a breach would do nothing, and nobody could find a breach without a text."""
    of_streams = {"slow-stdin", "close-stdin", "hold-stdout", "flood"}
    done = {knob for kind in KINDS for table in tables(kind) for knob in table}
    assert done | of_streams == set(KNOBS)


def test_a_fault_can_be_for_one_verb_one_call_or_one_attachment(rig) -> None:
    """By verb, nth, times and match, over processes and functions alike."""
    rig.fault("rec", "exit", "DEL", status=3)
    rig.fault("rec", "exit", "ADD", status=4, nth=2)
    rig.fault("rec", "exit", "CHECK", status=5, times=2)
    rig.fault("rec", "exit", "GC", status=6, match={"CNI_IFNAME": "eth1"})
    tell = lambda verb, **env: rig.call("rec", verb, b"{}", **env).status  # noqa: E731
    assert [tell("DEL"), tell("DEL")] == [3, 3]
    assert [tell("ADD"), rig.run("rec", "ADD", b"{}").status, tell("ADD")] == [0, 4, 0]
    assert [tell("CHECK"), rig.run("rec", "CHECK", b"{}").status, tell("CHECK")] == [5, 5, 0]
    assert [tell("GC"), tell("GC", CNI_IFNAME="eth1")] == [0, 6]
    assert rig.calls("rec")[0]["faults"] == ["exit"]


def test_a_fault_that_means_nothing_is_refused(rig) -> None:
    """A misspelt knob would prove a case that it never tested."""
    for rule in ({"do": "explode"}, {}, {"do": "exit", "verb": "add"}):
        with pytest.raises(PluginError):
            configure(rig.bin / "rec", faults=[rule])
