"""Starting where it cannot be, twice, slowly, under faults; being steered from outside."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from refimpl.deviceplugin.fake import FakePlugin, Pace
from refimpl.deviceplugin.kubelet import FakeKubelet
from refimpl.wire.client import Channel, Unreachable
from refimpl.wire.endpoint import EndpointError, probe
from refimpl.wire.faults import Faults
from refimpl.wire.status import Code, Refused
from tests.deviceplugin.conftest import Kubelets, Plugins
from tests.deviceplugin.kubelet_rig import GPU, pod

AT_ONCE = Pace(debounce_s=0.0, first_s=0.01, longest_s=0.05)


def test_another_kubelets_folder_is_not_taken_over(
    kubelet: FakeKubelet, folder: Path, scripted: Plugins
) -> None:
    """It may be a real one's: the plugins' sockets in it stay."""
    plugin = scripted().join(kubelet, "a")
    second = FakeKubelet(folder)
    with pytest.raises(EndpointError, match="another folder"):
        second.start()
    assert plugin.path.exists()
    assert probe(kubelet.endpoint) == "live"
    assert probe(kubelet.pod_resources) == "live"


def test_a_folder_that_cannot_be_made_is_named(folder: Path) -> None:
    """A file in its place; for root, permissions are none."""
    (folder / "taken").write_text("")
    kubelet = FakeKubelet(folder / "taken")
    with pytest.raises(EndpointError, match=r"taken.*may write to"):
        kubelet.start()


def test_a_folder_that_may_not_be_written_to_is_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before anything in it is touched; what root is told is put in its mouth."""
    monkeypatch.setattr("refimpl.deviceplugin.devicemanager.layout.os.access", lambda *_: False)
    (folder / "device-plugins").mkdir()
    (folder / "device-plugins" / "x").touch()
    with pytest.raises(EndpointError, match="may write to"):
        FakeKubelet(folder).start()
    assert os.listdir(folder / "device-plugins") == ["x"]


def test_a_folder_too_deep_for_sockets_is_refused_at_once(folder: Path) -> None:
    """107 bytes are the most."""
    with pytest.raises(EndpointError, match="107"):
        FakeKubelet(folder / ("x" * 100))


def test_a_checkpoint_that_cannot_be_written_leaves_lists_in_memory(
    kubelet: FakeKubelet, scripted: Plugins
) -> None:
    """DP-KUB-058: said once; a pod is refused, since its record would be lost."""
    path = kubelet.layout.checkpoint
    path.mkdir()
    scripted().join(kubelet, "a", "b")
    assert kubelet.wait(lambda: any("could not be written" in note for note in kubelet.notes))
    assert kubelet.node().allocatable == {GPU: 2}
    outcome = kubelet.admit(pod())
    assert (outcome.accepted, outcome.reason) == (False, "UnexpectedAdmissionError")
    path.rmdir()
    assert kubelet.admit(pod()).accepted


def test_it_cannot_be_started_twice_and_may_be_stopped_twice(kubelet: FakeKubelet) -> None:
    """Neither leaves a thread behind."""
    with pytest.raises(RuntimeError, match="stop it"):
        kubelet.start()
    kubelet.stop()
    kubelet.stop()
    kubelet.start()
    kubelet.stop()
    ours = {"refimpl-listener", "refimpl-checkpoint"}
    assert not ours & {thread.name for thread in threading.enumerate()}


def test_a_slow_kubelet_is_there_and_silent_until_it_accepts(
    folder: Path, scripted: Plugins
) -> None:
    """DP-PLG-068: the socket exists, a caller connects, and nothing comes."""
    kubelet = FakeKubelet(folder)
    kubelet.start(accepting=False)
    try:
        plugin = scripted().serve()
        with pytest.raises(Unreachable, match="sent nothing"):
            plugin.enrol(kubelet, connect_s=0.2)
        kubelet.thaw()
        plugin.enrol(kubelet)
    finally:
        kubelet.stop()


def test_a_plugin_outlives_a_kubelet_that_is_slow_to_accept(folder: Path) -> None:
    """DP-PLG-068, our own plugin."""
    kubelet = FakeKubelet(folder)
    with FakePlugin(GPU, 1, folder=folder, pace=AT_ONCE) as plugin:
        kubelet.start(accepting=False)
        try:
            assert not plugin.registered
            kubelet.thaw()
            assert plugin.wait_registered()
        finally:
            kubelet.stop()


def test_faults_act_on_register(kubelets: Kubelets, scripted: Plugins) -> None:
    """DP-PLG-009 to 011: refused once, and the plugin comes back."""
    rule = "- when: {method: Register, times: 1}\n  do: {status: {code: UNKNOWN, message: no}}\n"
    kubelet = kubelets(faults=Faults.from_yaml(rule))
    plugin = scripted().serve()
    with pytest.raises(Refused, match="no") as refused:
        plugin.enrol(kubelet)
    assert refused.value.code == Code.UNKNOWN
    plugin.enrol(kubelet)
    assert [call.fault for call in kubelet.journal.calls("Register")] == ["r1", None]


def test_a_call_to_an_unknown_service_is_told_what_there_is(kubelet: FakeKubelet) -> None:
    """Plugins of v1alpha times get UNIMPLEMENTED."""
    with Channel(kubelet.endpoint) as channel:
        call = channel.unary_unary("/deviceplugin.Registration/Register")
        with pytest.raises(Refused, match=r"v1beta1\.Registration") as refused:
            call(b"", timeout=10)
    assert refused.value.code == Code.UNIMPLEMENTED


def test_the_sockets_of_the_kubelet_may_go_and_it_does_not_mind(
    kubelet: FakeKubelet, scripted: Plugins
) -> None:
    """DP-KUB-064: they are not made again before the next start."""
    plugin = scripted().join(kubelet, "a")
    os.unlink(kubelet.endpoint.path)
    plugin.send("a", "b")
    assert kubelet.wait(lambda: kubelet.node().allocatable == {GPU: 2})
    assert probe(kubelet.endpoint) == "absent"
    kubelet.restart("A", gap_s=0)
    assert probe(kubelet.endpoint) == "live"


def test_a_kubelet_that_cannot_listen_is_unhealthy_until_it_restarts(
    kubelet: FakeKubelet, scripted: Plugins
) -> None:
    """REG-035: plugins that are in stay, and nobody else gets in."""
    plugin = scripted().join(kubelet, "a")
    assert kubelet.healthy
    kubelet.deafen()
    assert not kubelet.healthy
    assert probe(kubelet.endpoint) == "absent"
    plugin.send("a", "b")
    assert kubelet.wait(lambda: kubelet.node().allocatable == {GPU: 2})
    kubelet.restart("A", gap_s=0)
    assert kubelet.healthy
    scripted("again.sock").join(kubelet, "a")


def test_development_code_listens_again(
    kubelets: Kubelets, scripted: Plugins, monkeypatch: pytest.MonkeyPatch
) -> None:
    """REG-035: a second later, and it was never unhealthy."""
    monkeypatch.setattr("refimpl.deviceplugin.devicemanager.process.LISTEN_AGAIN_S", 0.01)
    kubelet = kubelets(profile="main")
    kubelet.deafen()
    assert kubelet.healthy
    scripted().join(kubelet, "a")
