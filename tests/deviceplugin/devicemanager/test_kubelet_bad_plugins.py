"""Plugins that are dead, silent, liars, or die at work: kubelet says so, and serves the others."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from refimpl.deviceplugin.fake import FakePlugin, Pace
from refimpl.deviceplugin.kubelet import FakeKubelet
from refimpl.wire.status import Code, Refused
from tests.deviceplugin.conftest import Plugins
from tests.deviceplugin.kubelet_rig import GPU, NIC, pod

AT_ONCE = Pace(debounce_s=0.0, first_s=0.01, longest_s=0.05)


@pytest.fixture
def _quick_dial(monkeypatch: pytest.MonkeyPatch) -> None:
    """The ten seconds of a dial, shortened."""
    monkeypatch.setattr("refimpl.deviceplugin.devicemanager.links.DIAL_S", 0.2)


@pytest.fixture
def listener(kubelet: FakeKubelet) -> Iterator[socket.socket]:
    """A socket in the folder that is listened at, by somebody who never says a word."""
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(kubelet.layout.plugins / "plugin.sock"))
        silent.listen()
        yield silent


@pytest.mark.usefixtures("_quick_dial")
def test_the_socket_of_a_dead_plugin_is_dialled_in_vain(
    kubelet: FakeKubelet, scripted: Plugins, folder: Path
) -> None:
    """DP-KUB-005: it is left where it is until kubelet starts anew."""
    path = folder / "device-plugins" / "plugin.sock"
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))
    with pytest.raises(Refused, match="nobody listens") as refused:
        scripted().enrol(kubelet)
    assert refused.value.code == Code.UNKNOWN
    assert path.exists()
    kubelet.restart("A", gap_s=0)
    assert not path.exists()


@pytest.mark.usefixtures("_quick_dial", "listener")
def test_a_socket_that_says_nothing_is_no_plugin(kubelet: FakeKubelet, scripted: Plugins) -> None:
    """It accepts, and that is all; the others are served meanwhile."""
    mute = scripted()
    failures: list[str] = []

    def register() -> None:
        with pytest.raises(Refused) as refused:
            mute.enrol(kubelet)
        failures.append(str(refused.value))

    waiting = threading.Thread(target=register)
    waiting.start()
    scripted("n.sock", NIC).join(kubelet, "n")
    waiting.join()
    assert "sent nothing" in failures[0]
    assert kubelet.node().capacity == {NIC: 1}


def test_a_stop_does_not_wait_for_a_dial(
    kubelet: FakeKubelet, scripted: Plugins, listener: socket.socket
) -> None:
    """Whoever waits for Register is told; the ten seconds are not."""
    mute = scripted()
    outcomes: list[Code] = []

    def register() -> None:
        with pytest.raises(Refused) as refused:
            mute.enrol(kubelet)
        outcomes.append(refused.value.code)

    waiting = threading.Thread(target=register)
    waiting.start()
    peer, _ = listener.accept()
    with peer:
        kubelet.stop()
        waiting.join(9.0)
    assert not waiting.is_alive()
    assert outcomes == [Code.UNAVAILABLE]


def test_a_file_in_the_place_of_the_socket_is_named(
    kubelet: FakeKubelet, scripted: Plugins, folder: Path
) -> None:
    """At once."""
    (folder / "device-plugins" / "plugin.sock").touch()
    with pytest.raises(Refused, match="no socket"):
        scripted().enrol(kubelet)


@pytest.mark.parametrize("name", ["../x/y", "a..b/c", "a/../b", "a/.."])
def test_dots_in_a_resource_name_lead_nowhere(
    kubelet: FakeKubelet, scripted: Plugins, name: str
) -> None:
    """It is no extended resource."""
    with pytest.raises(Refused, match="vendor-domain/name"):
        scripted().serve().enrol(kubelet, resource_name=name)


def test_a_liar_is_counted_as_kubelet_counts(kubelet: FakeKubelet, folder: Path) -> None:
    """DP-KUB-012, 016, 037, 039: doubles, misspelt health, strange preferences, surplus answers."""
    with FakePlugin(GPU, 3, folder=folder, persona="lying", pace=AT_ONCE):
        assert kubelet.wait(lambda: kubelet.node().capacity == {GPU: 4})
        assert kubelet.node().allocatable == {GPU: 2}
        assert kubelet.admit(asking := pod({GPU: 2})).accepted
        assert kubelet.allocated(asking.uid, "app", GPU) == {"gpu-0", "gpu-1"}
    assert any("the first is used" in note for note in kubelet.notes)


def test_a_plugin_that_dies_in_allocate_fails_the_pod_and_comes_back(
    kubelet: FakeKubelet, folder: Path
) -> None:
    """DP-KUB-035: its devices are free when it does."""
    with FakePlugin(GPU, 1, folder=folder, persona="dying", pace=AT_ONCE) as plugin:
        assert kubelet.wait(lambda: kubelet.node().allocatable == {GPU: 1})
        assert plugin.wait_registered()
        outcome = kubelet.admit(pod())
        assert outcome.reason == "UnexpectedAdmissionError"
        assert plugin.wait_registered(2)
        assert kubelet.wait(lambda: kubelet.node().allocatable == {GPU: 1})
        tables = kubelet.state.tables
        with tables.lock:
            assert tables.free(GPU) == {"gpu-0"}


def test_a_hundred_plugins_are_a_hundred_resources(kubelet: FakeKubelet, scripted: Plugins) -> None:
    """Each of their streams is followed."""
    plugins = [scripted(f"{n}.sock", f"example.com/r{n}") for n in range(100)]
    for plugin in plugins:
        plugin.serve()
        plugin.enrol(kubelet)
        plugin.send("a")
    wanted = {plugin.resource: 1 for plugin in plugins}
    assert kubelet.wait(lambda: kubelet.node().allocatable == wanted)
