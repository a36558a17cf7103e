"""How a plugin under test is kept for the next case, renewed, and told to be lost."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from conformance.deviceplugin.plugins.target import PluginTarget
from conformance.engine.scope import CaseScope
from conformance.engine.targets import life
from conformance.engine.verdict import Broken
from refimpl.wire.status import Refused

Open = Callable[..., PluginTarget]


def test_cases_share_a_session_until_one_of_them_spoils_it(opened: Open) -> None:
    """Starting anew for each of them would be most of the time."""
    target, case = opened(), CaseScope()
    first = target.plugin(case)
    session = target.sessions.current
    first.link()
    case.close()
    second = target.plugin(case)
    assert target.sessions.current is session
    second.kill()
    case.close()
    third = target.plugin(case)
    assert target.sessions.current is not session
    assert third.link().connection.resource == "example.com/gpu"


def test_a_session_whose_connection_broke_is_not_handed_on(opened: Open) -> None:
    """Without the case having to say so."""
    target, case = opened("mutant:NeverMissesItsStream"), CaseScope()
    plugin = target.plugin(case)
    link, session = plugin.link(), target.sessions.current
    plugin.kubelet.drop()
    plugin.until(lambda: link.ended, "the stream is over")
    case.close()
    target.plugin(case)
    assert target.sessions.current is not session


def test_a_plugin_that_ends_by_itself_is_lost_and_comes_back(opened: Open) -> None:
    """One that the case has ended is not."""
    target = opened("fake", sys.executable, "-c", "import sys; sys.exit('no devices')", "{kubelet}")
    plugin = target.look()
    with pytest.raises(Broken, match="no devices"):
        plugin.arrival()
    lost = target.lost()
    assert lost is not None
    assert lost.revived
    assert "it ended with status 1" in lost.reason
    assert "no devices" in lost.reason
    assert target.lost() is None
    target.look().may_exit()
    assert target.lost() is None


def test_after_a_plugin_that_never_came_the_next_wait_is_short(opened: Open) -> None:
    """A suite of 80 cases that wait for half a minute each helps nobody."""
    target = opened("mutant:NeverRegisters")
    assert target.sessions.patience(30.0) > 1.0
    with pytest.raises(Broken, match="the plugin registers a resource"):
        _ = target.look().resource
    assert target.sessions.patience(30.0) == 1.0


SERVE = (
    *(sys.executable, "-m", "refimpl", "serve", "deviceplugin"),
    *("--resource", "example.com/gpu=2", "--dir", "{kubelet}"),
)


def test_a_plugin_that_answers_nothing_comes_back_after_one_case(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A case that failed has it asked for a sign of life; one that passed does not."""
    monkeypatch.setattr(life, "SIGN_S", 0.5)
    target, case = opened("fake", *SERVE), CaseScope()
    plugin = target.plugin(case)
    plugin.link()
    plugin.process.freeze()
    assert target.lost(failed=False) is None
    lost = target.lost()
    assert lost is not None
    assert lost.revived
    assert "within" in lost.reason
    assert lost.cause == "silence"
    case.close()
    assert target.plugin(CaseScope()).link().lists


DYING = """
import os, sys, threading
from refimpl.deviceplugin.fake import FakePlugin
from refimpl.wire.faults import Action, FaultRule, Faults

class Die(Action):
    def before(self, _call, /):
        print("panic: no such device", file=sys.stderr, flush=True)
        os._exit(2)

faults = Faults([FaultRule(do=Die(), method="Allocate")])
with FakePlugin("example.com/gpu", 2, folder=sys.argv[1], faults=faults):
    threading.Event().wait()
"""


def test_a_plugin_that_dies_of_a_call_is_told_with_it(opened: Open) -> None:
    """The connection is gone before the process is; the second death is the same as the first."""
    target = opened("fake", sys.executable, "-c", DYING, "{kubelet}")
    causes = []
    for _ in range(2):
        case = CaseScope()
        plugin = target.plugin(case)
        with pytest.raises(Refused):
            plugin.calls.allocate([plugin.ids()[0]])
        lost = target.lost()
        case.close()
        assert lost is not None
        assert "it ended with status 2\n  | panic: no such device" in lost.reason
        causes.append(lost.cause)
    assert causes[0].startswith("Allocate")
    assert causes[0] == causes[1]


def test_a_plugin_that_answers_is_not_silent(opened: Open) -> None:
    """Whatever the case has found."""
    target, case = opened("fake", *SERVE), CaseScope()
    target.plugin(case).link()
    assert target.lost() is None
    case.close()
