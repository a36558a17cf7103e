"""What a case sees of a plugin, and what it does to the kubelet before it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from conformance.deviceplugin.bench import PluginTarget, open_plugin
from conformance.deviceplugin.plugin import Plugin
from conformance.engine.scope import CaseScope
from conformance.engine.verdict import Broken
from refimpl.wire.journal import Journal
from refimpl.wire.status import Code, Refused
from tests.targets import resolved


@pytest.fixture
def target() -> Iterator[PluginTarget]:
    """Our own plugin."""
    opened = open_plugin(resolved("deviceplugin"), Journal())
    yield opened
    opened.close()


@pytest.fixture
def plugin(target: PluginTarget) -> Iterator[Plugin]:
    """As a case gets it."""
    case = CaseScope()
    yield target.plugin(case)
    case.close()


def test_registrations_are_seen_before_and_after_they_are_answered(plugin: Plugin) -> None:
    """A Register that hangs is in no journal yet."""
    with plugin.hanging():
        plugin.fresh()
        arrival = plugin.arrival()
        assert plugin.registrations() == []
        assert plugin.problem_at(lambda: arrival.socket, 1.0) == ""
    plugin.link()
    plugin.until(plugin.registrations, "the call is in the journal")
    assert [entry.code for entry in plugin.registrations()] == [Code.OK]


def test_kubelet_refuses_hangs_up_and_is_itself_again(plugin: Plugin) -> None:
    """Also over the beginning of another life."""
    with plugin.refusing("not today", times=1):
        plugin.fresh()
        plugin.arrival(2)
    with plugin.hanging_up(times=1):
        plugin.fresh()
        plugin.arrival(2)
    plugin.link()
    # The list may come before the answer to Register is written down.
    plugin.until(lambda: len(plugin.registrations()) > 1, "both calls are in the journal")
    assert [entry.code for entry in plugin.registrations()] == [Code.UNAVAILABLE, Code.OK]


def test_somebody_acts_while_register_is_open(plugin: Plugin) -> None:
    """Of lives that begin later as well."""
    seen: list[str] = []
    with plugin.at_arrival(lambda arrival: seen.append(arrival.request.version)):
        plugin.fresh()
        plugin.link()
    assert seen == ["v1beta1"]


def test_a_watch_tells_of_changes_and_of_its_end(plugin: Plugin) -> None:
    """Beside kubelet's own stream."""
    watch = plugin.watch()
    lost = plugin.ids()[0]
    with plugin.broken(lost):
        plugin.until(lambda: watch.newest[lost] == "Unhealthy", "told")
    plugin.until(lambda: watch.newest[lost] == "Healthy", "told")
    before = watch.ended
    watch.cancel()
    assert [before, watch.ended] == ["", "we cancelled it"]
    assert not plugin.spoilt


def test_connections_are_told_apart(plugin: Plugin) -> None:
    """Those of an earlier process of kubelet are history."""
    first = plugin.link()
    plugin.restart_kubelet()
    second = plugin.link(after=first)
    assert plugin.links() == [first, second]
    assert plugin.living() == [second]
    assert plugin.socket.path == second.connection.socket
    plugin.stop_kubelet()
    assert plugin.living() == []


def test_what_does_not_come_is_told_with_what_both_sides_said(plugin: Plugin) -> None:
    """A wanted and a got that do not say why help nobody."""
    plugin.link()
    with pytest.raises(Broken, match="the plugin: it runs: it is registered"):
        plugin.until(lambda: False, "the sky falls", 0.01)
    assert plugin.soon(lambda: 0, 0.01) == 0
    with pytest.raises(Broken, match="stays so"):
        plugin.stays(lambda: False, "stays so")


def test_the_folder_goes_and_a_file_of_old_kubelets_comes(plugin: Plugin) -> None:
    """Both spoil it for the next case."""
    first = plugin.link()
    plugin.deprecate()
    assert (plugin.folder / "DEPRECATION").exists()
    assert plugin.spoilt
    plugin.stop_kubelet()
    plugin.remove_folder()
    assert plugin.sockets() == []
    plugin.start_kubelet()
    plugin.link(after=first)


def test_a_second_instance_has_a_socket_of_its_own(plugin: Plugin) -> None:
    """And ends with the life."""
    first = plugin.link()
    other = plugin.another()
    second = plugin.link(after=first)
    assert first.connection.socket != second.connection.socket
    assert other.terminate() == 0
    assert plugin.process.alive()


def test_calls_go_to_the_plugin_and_into_the_journal(plugin: Plugin) -> None:
    """Of methods that it does not have, too."""
    answer = plugin.allocate(plugin.ids()[:2], plugin.ids()[2:3])
    assert len(answer.container_responses) == 2
    with pytest.raises(Refused) as refused:
        plugin.channel.unary_unary("/v1beta1.DevicePlugin/Free")(b"")
    assert refused.value.code == Code.UNIMPLEMENTED
    assert plugin.target.calls(0)[-1].method == "/v1beta1.DevicePlugin/Free"


def test_what_lies_idle_is_measured(plugin: Plugin) -> None:
    """For comparison with later."""
    measures = plugin.at_rest()
    assert measures is not None
    assert measures.fds > 0
    assert measures.threads > 0
