"""What a case sees of a plugin, and what it does to the kubelet before it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from conformance.deviceplugin.plugins.opening import open_plugin
from conformance.deviceplugin.plugins.plugin import DevicePluginUnderTest
from conformance.deviceplugin.plugins.rest import at_rest
from conformance.deviceplugin.plugins.target import PluginTarget
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
def plugin(target: PluginTarget) -> Iterator[DevicePluginUnderTest]:
    """As a case gets it."""
    case = CaseScope()
    yield target.plugin(case)
    case.close()


def test_registrations_are_seen_before_and_after_they_are_answered(
    plugin: DevicePluginUnderTest,
) -> None:
    """A Register that hangs is in no journal yet."""
    with plugin.kubelet.hanging():
        plugin.fresh()
        arrival = plugin.arrival()
        assert plugin.registrations() == []
        assert plugin.calls.problem_at(lambda: arrival.socket, 1.0) == ""
    plugin.link()
    plugin.until(plugin.registrations, "the call is in the journal")
    assert [entry.code for entry in plugin.registrations()] == [Code.OK]


def test_kubelet_refuses_hangs_up_and_is_itself_again(plugin: DevicePluginUnderTest) -> None:
    """Also over the beginning of another session."""
    with plugin.kubelet.refusing("not today", times=1):
        plugin.fresh()
        plugin.arrival(2)
    with plugin.kubelet.hanging_up(times=1):
        plugin.fresh()
        plugin.arrival(2)
    plugin.link()
    # The list may come before the answer to Register is written down.
    plugin.until(lambda: len(plugin.registrations()) > 1, "both calls are in the journal")
    assert [entry.code for entry in plugin.registrations()] == [Code.UNAVAILABLE, Code.OK]


def test_somebody_acts_while_register_is_open(plugin: DevicePluginUnderTest) -> None:
    """Of sessions that begin later as well."""
    seen: list[str] = []
    with plugin.at_arrival(lambda arrival: seen.append(arrival.request.version)):
        plugin.fresh()
        plugin.link()
    assert seen == ["v1beta1"]


def test_a_watch_tells_of_changes_and_of_its_end(plugin: DevicePluginUnderTest) -> None:
    """Beside kubelet's own stream."""
    watch = plugin.calls.watch()
    lost = plugin.ids()[0]
    with plugin.hooks.broken(lost):
        plugin.until(lambda: watch.newest[lost] == "Unhealthy", "told")
    plugin.until(lambda: watch.newest[lost] == "Healthy", "told")
    before = watch.ended
    watch.cancel()
    assert [before, watch.ended] == ["", "we cancelled it"]
    assert not plugin.session.spoilt


def test_connections_are_told_apart(plugin: DevicePluginUnderTest) -> None:
    """Those of an earlier process of kubelet are history."""
    first = plugin.link()
    plugin.kubelet.restart()
    second = plugin.link(after=first)
    assert plugin.links() == [first, second]
    assert plugin.living() == [second]
    assert plugin.socket.path == second.connection.socket
    plugin.kubelet.stop()
    assert plugin.living() == []


def test_what_does_not_come_is_told_with_what_both_sides_said(
    plugin: DevicePluginUnderTest,
) -> None:
    """A wanted and a got that do not say why help nobody."""
    plugin.link()
    with pytest.raises(Broken, match="the plugin: it runs: it is registered"):
        plugin.until(lambda: False, "the sky falls", 0.01)
    assert plugin.soon(lambda: 0, 0.01) == 0
    with pytest.raises(Broken, match="stays so"):
        plugin.stays(lambda: False, "stays so")


def test_the_folder_goes_and_a_file_of_old_kubelets_comes(plugin: DevicePluginUnderTest) -> None:
    """Both spoil it for the next case."""
    first = plugin.link()
    plugin.kubelet.deprecate()
    assert (plugin.folder / "DEPRECATION").exists()
    assert plugin.session.spoilt
    plugin.kubelet.stop()
    plugin.kubelet.remove_folder()
    assert plugin.sockets() == []
    plugin.kubelet.start()
    plugin.link(after=first)


def test_a_second_instance_has_a_socket_of_its_own(plugin: DevicePluginUnderTest) -> None:
    """And ends with the session."""
    first = plugin.link()
    other = plugin.another()
    second = plugin.link(after=first)
    assert first.connection.socket != second.connection.socket
    assert other.terminate() == 0
    assert plugin.process.alive()


def test_calls_go_to_the_plugin_and_into_the_journal(
    target: PluginTarget, plugin: DevicePluginUnderTest
) -> None:
    """Of methods that it does not have, too."""
    answer = plugin.calls.allocate(plugin.ids()[:2], plugin.ids()[2:3])
    assert len(answer.container_responses) == 2
    with pytest.raises(Refused) as refused:
        plugin.calls.channel.unary_unary("/v1beta1.DevicePlugin/Free")(b"")
    assert refused.value.code == Code.UNIMPLEMENTED
    assert target.calls(0)[-1].method == "/v1beta1.DevicePlugin/Free"


def test_what_lies_idle_is_measured(plugin: DevicePluginUnderTest) -> None:
    """For comparison with later."""
    measures = at_rest(plugin)
    assert measures is not None
    assert measures.fds > 0
    assert measures.threads > 0
