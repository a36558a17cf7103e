"""How a plugin under test is kept for the next case, renewed, and told to be lost."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from conformance.deviceplugin.plugins.target import PluginTarget
from conformance.engine.scope import CaseScope
from conformance.engine.verdict import Broken

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
