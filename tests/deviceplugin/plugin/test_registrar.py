"""A plugin before a scripted kubelet: registered, forgotten, and registered again."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import attrs
import pytest

from refimpl.deviceplugin.plugin.inventory import HEALTHY
from refimpl.registration.watcher import PluginWatcher
from refimpl.wire.endpoint import Endpoint
from refimpl.wire.status import Code, Refused
from tests.deviceplugin.scripted_kubelet import AT_ONCE, Connection, Kubelet, Rig, until


@pytest.fixture
def rig() -> Iterator[Rig]:
    """A kubelet that runs, and plugins for it."""
    with Rig() as rig:
        yield rig


def test_it_serves_before_it_registers_and_sends_the_whole_list(rig: Rig) -> None:
    """DP-PLG-001 to 007, 013: kubelet dials back while Register is still open."""
    plugin = rig.plugin()
    connection = rig.kubelet.connected()
    assert plugin.wait_registered()
    assert plugin.problem == ""
    request = rig.kubelet.requests[0]
    assert (request.version, request.resource_name) == ("v1beta1", "example.com/gpu")
    assert "/" not in request.endpoint
    assert request.endpoint.startswith("fake-example.com-gpu-")
    assert plugin.endpoint.path == str(rig.kubelet.folder / request.endpoint)
    assert request.options == rig.kubelet.options[0]
    assert connection.lists == [{"gpu-0": HEALTHY, "gpu-1": HEALTHY}]
    assert not any(device.HasField("topology") for device in connection.messages[0].devices)


def test_it_may_be_started_before_kubelet(rig: Rig) -> None:
    """DP-PLG-008: it says what it waits for, and sees kubelet.sock come."""
    rig.kubelet.stop()
    plugin = rig.plugin()
    until(lambda: "no kubelet listens at" in plugin.problem)
    rig.kubelet.start()
    assert plugin.wait_registered()
    # It may have tried just before it saw the socket come: then it registers twice.
    rig.kubelet.until(lambda: any(each.lists for each in rig.kubelet.connections))


def test_a_restart_of_kubelet_is_noticed_and_answered_once(rig: Rig) -> None:
    """DP-PLG-063, 067, 083: streams end, sockets go, kubelet.sock comes; a new name each time."""
    plugin = rig.plugin(pace=attrs.evolve(AT_ONCE, debounce_s=0.2))
    for number in range(1, 4):
        rig.kubelet.connected(number)
        assert plugin.wait_registered(number)
        rig.kubelet.stop()
        rig.kubelet.start()
    rig.kubelet.connected(4)
    assert plugin.wait_registered(4)
    names = [request.endpoint for request in rig.kubelet.requests]
    assert len(set(names)) == len(names) == 4
    own = [path.name for path in rig.kubelet.sockets() if path.name != "kubelet.sock"]
    assert own == [names[-1]]


def test_its_own_socket_is_missed(rig: Rig) -> None:
    """DP-PLG-066: kubelet's contract is to unlink it, and nothing else need happen."""
    plugin = rig.plugin()
    first = rig.kubelet.connected()
    os.unlink(first.endpoint.path)
    rig.kubelet.connected(2)
    assert plugin.wait_registered(2)
    assert first.ended


def test_a_new_kubelet_socket_is_enough(rig: Rig) -> None:
    """DP-PLG-065: plugins' sockets were left alone."""
    plugin = rig.plugin()
    rig.kubelet.connected()
    where = rig.kubelet.folder / "kubelet.sock"
    os.link(where, rig.kubelet.folder / ".other")
    where.unlink()
    os.rename(rig.kubelet.folder / ".other", where)
    rig.kubelet.connected(2)
    assert plugin.wait_registered(2)


def test_a_stream_that_is_cancelled_is_a_reason_to_register(rig: Rig) -> None:
    """DP-PLG-027: nothing else tells that kubelet has let go of it."""
    plugin = rig.plugin()
    rig.kubelet.connected().cancel()
    rig.kubelet.connected(2)
    assert plugin.wait_registered(2)
    assert rig.kubelet.requests[0].endpoint != rig.kubelet.requests[1].endpoint


def test_a_refusal_is_met_with_a_new_socket_and_pauses(rig: Rig) -> None:
    """DP-PLG-009, 085: the old name may be taken as connected for ever."""
    rig.kubelet.refusal = Refused(Code.UNKNOWN, "device plugin already connected")
    plugin = rig.plugin()
    rig.kubelet.until(lambda: len(rig.kubelet.requests) >= 3)
    assert not plugin.registered
    rig.kubelet.refusal = None
    rig.kubelet.connected()
    assert plugin.wait_registered()
    names = [request.endpoint for request in rig.kubelet.requests]
    assert len(set(names)) == len(names)


def test_the_reason_of_a_refusal_is_told(rig: Rig) -> None:
    """Without a pause that is over, so that it can be seen."""
    rig.kubelet.refusal = Refused(Code.UNKNOWN, "no such version")
    plugin = rig.plugin(version="v0", pace=attrs.evolve(AT_ONCE, first_s=60, longest_s=60))
    rig.kubelet.until(lambda: len(rig.kubelet.requests) == 1)
    assert rig.kubelet.requests[0].version == "v0"
    until(lambda: "UNKNOWN: no such version" in plugin.problem)
    assert not plugin.wait_registered(timeout_s=0)


def test_a_folder_that_went_comes_back(rig: Rig) -> None:
    """DP-PLG-069: with its sockets, and kubelet's."""
    plugin = rig.plugin()
    rig.kubelet.connected()
    assert plugin.wait_registered()
    rig.kubelet.stop()
    os.rename(rig.kubelet.folder, rig.folder / "away")
    rig.kubelet.start()
    assert plugin.wait_registered(2)
    assert plugin.endpoint.path.startswith(f"{rig.kubelet.folder}/")


def test_it_leaves_nothing_and_touches_nothing_of_others(rig: Rig) -> None:
    """DP-PLG-071 to 074, REG-029: a second instance has a socket of its own."""
    first, second = rig.plugin(), rig.plugin()
    assert first.wait_registered()
    assert second.wait_registered()
    rig.kubelet.connected(2)
    assert len(rig.kubelet.sockets()) == 3
    first.stop()
    assert [path.name for path in rig.kubelet.sockets()] == sorted(
        [os.path.basename(second.endpoint.path), "kubelet.sock"]
    )
    left = next(one for one in rig.kubelet.connections if one.endpoint == second.endpoint)
    assert left.allocate("gpu-0").envs
    first.stop()
    assert first.start() != second.endpoint
    assert first.wait_registered()


@pytest.mark.parametrize("register", ["pull", "both"])
def test_kubelet_may_come_by_itself(rig: Rig, register: str) -> None:
    """REG-027: the same devices at a socket in plugins_registry, or at two sockets."""
    plugin = rig.plugin(register=register)
    handler = Taking(rig.kubelet)
    with PluginWatcher(rig.folder / "plugins_registry", {"DevicePlugin": handler}) as watcher:
        assert watcher.wait(lambda: len(watcher.plugins) == 1)
        (pulled,) = watcher.plugins
        assert plugin.wait_registered()
        assert (pulled.name, pulled.versions) == ("example.com/gpu", ("v1beta1",))
        assert len(plugin.endpoints) == (2 if register == "both" else 1)
        rig.kubelet.until(lambda: len(handler.connections) == 1)
        rig.kubelet.until(lambda: bool(handler.connections[0].lists))
        assert len(rig.kubelet.requests) == (1 if register == "both" else 0)
        # Its stream ends: kubelet does not come again to the same socket (REG-032).
        handler.connections[0].cancel()
        rig.kubelet.until(lambda: len(handler.connections) == 2)
        assert plugin.wait_registered()
        assert handler.connections[1].endpoint != handler.connections[0].endpoint
        plugin.stop()
        assert watcher.wait(lambda: watcher.plugins == ())
    assert list((rig.folder / "plugins_registry").iterdir()) == []


def test_a_pull_that_is_refused_is_offered_again_elsewhere(rig: Rig) -> None:
    """REG-015: who is refused does not serve on as if registered."""
    plugin = rig.plugin(register="pull")
    first = plugin.endpoint
    with PluginWatcher(rig.folder / "plugins_registry", {}) as watcher:
        assert watcher.wait(lambda: bool(watcher.problems))
        until(lambda: plugin.endpoint != first)
        assert "is handled by nobody" in plugin.problem


class Taking:
    """What a kubelet does with a device plugin that it was told of."""

    def __init__(self, kubelet: Kubelet) -> None:
        self._kubelet = kubelet
        self.connections: list[Connection] = []

    def validate(self, name: str, endpoint: str, versions: Any) -> None:
        assert "v1beta1" in versions

    def register(self, name: str, endpoint: str, versions: Any) -> None:
        connection = Connection(Endpoint.parse(endpoint), self._kubelet.changed)
        connection.watch()
        with self._kubelet.changed:
            self.connections.append(connection)
            self._kubelet.changed.notify_all()

    def deregister(self, name: str, endpoint: str) -> None:
        for connection in self.connections:
            if connection.endpoint.path == endpoint:
                connection.close()
