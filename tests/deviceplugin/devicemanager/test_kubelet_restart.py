"""How kubelet goes and comes back, and what it then still knows (DP-KUB-052 to 059, 074, 076)."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from refimpl.deviceplugin.devicemanager.checkpoint_file import read
from refimpl.deviceplugin.fake import FakePlugin, Pace
from refimpl.deviceplugin.kubelet import Container, FakeKubelet, NotStarted
from refimpl.deviceplugin.state.checkpoint import checksum
from refimpl.registration.watch import SocketDirectory
from refimpl.wire.endpoint import Endpoint, probe
from tests.deviceplugin.conftest import Kubelets, Plugins
from tests.deviceplugin.devicemanager.test_kubelet_lists import device
from tests.deviceplugin.kubelet_rig import GPU, pod

AT_ONCE = Pace(debounce_s=0.0, first_s=0.01, longest_s=0.05)


@pytest.fixture
def plugin(folder: Path) -> Iterator[FakePlugin]:
    """Our own plugin, which notices by itself."""
    with FakePlugin(GPU, 3, folder=folder, pace=AT_ONCE) as running:
        yield running


def back(kubelet: FakeKubelet, count: int = 3) -> bool:
    return kubelet.wait(lambda: kubelet.node().allocatable.get(GPU) == count)


@pytest.mark.usefixtures("plugin")
@pytest.mark.parametrize("mode", ["A", "B", "C", "E"])
def test_a_good_plugin_comes_back_after_every_restart(kubelet: FakeKubelet, mode: str) -> None:
    """DP-PLG-063 to 067, without their pauses: one live registration at the end."""
    assert back(kubelet)
    kubelet.restart(mode, gap_s=0)  # type: ignore[arg-type]
    assert back(kubelet)
    assert kubelet.wait(lambda: sum(not link.ended for link in kubelet.links) == 1)


def test_a_plugin_whose_socket_alone_is_removed_comes_back(
    kubelet: FakeKubelet, plugin: FakePlugin
) -> None:
    """DP-PLG-066: kubelet runs on meanwhile."""
    assert back(kubelet)
    assert plugin.wait_registered()
    state = kubelet.state
    assert kubelet.restart("D") == {}
    assert plugin.wait_registered(2)
    assert kubelet.state is state


def test_an_unknown_way_to_restart_is_an_error(kubelet: FakeKubelet) -> None:
    """And names those there are."""
    with pytest.raises(ValueError, match="A, B, C, D, E"):
        kubelet.restart("F")  # type: ignore[arg-type]


def test_only_sockets_are_removed_and_then_the_own_one_is_made(
    kubelets: Kubelets, folder: Path
) -> None:
    """DP-KUB-052, 053: links to sockets go as well; whoever watches sees both."""
    plugins = folder / "device-plugins"
    (plugins / "below").mkdir(parents=True)
    (plugins / "notes.txt").write_text("x")
    _stale(plugins / "below" / "deep.sock")
    _stale(plugins / "old.sock")
    (plugins / "link.sock").symlink_to(plugins / "below" / "deep.sock")
    (plugins / "nowhere").symlink_to(plugins / "missing")
    with SocketDirectory(plugins) as watched:
        watched.events()
        kubelets()
        events = [(event.kind, os.path.basename(event.path)) for event in watched.events(10)]
    assert {*os.listdir(plugins)} == {"below", "notes.txt", "nowhere", "kubelet.sock"}
    assert ("gone", "old.sock") in events
    assert events[-1] == ("appeared", "kubelet.sock")
    assert (plugins / "below" / "deep.sock").exists()


def test_a_killed_kubelet_leaves_its_sockets_and_a_stopped_fake_does_not(
    kubelet: FakeKubelet, scripted: Plugins
) -> None:
    """DP-KUB-074: streams end with the process."""
    plugin = scripted().join(kubelet, "a")
    kubelet.kill()
    assert (probe(kubelet.endpoint), probe(kubelet.pod_resources)) == ("stale", "stale")
    assert probe(Endpoint.parse(plugin.path)) == "live"
    kubelet.start()
    assert not plugin.path.exists()
    assert probe(kubelet.endpoint) == "live"
    kubelet.stop()
    assert (probe(kubelet.endpoint), probe(kubelet.pod_resources)) == ("absent", "absent")
    assert kubelet.layout.checkpoint.exists()


def test_running_pods_keep_their_devices_over_a_restart(
    kubelet: FakeKubelet, plugin: FakePlugin
) -> None:
    """DP-KUB-054, 056: 0/0 until the plugin reports, nothing is allocated anew."""
    assert back(kubelet)
    kubelet.admit(first := pod({GPU: 2}))
    kubelet.start_container(first.uid, "app")
    held = kubelet.allocated(first.uid, "app", GPU)
    plugin.stop()
    outcome = kubelet.restart("A", gap_s=0)
    assert outcome[first.uid].accepted
    assert outcome[first.uid].configs["app"]["envs"]
    assert kubelet.node().capacity == {GPU: 0}
    assert kubelet.allocated(first.uid, "app", GPU) == held
    assert len(plugin.record.allocated) == 1
    plugin.start()
    assert back(kubelet)
    assert kubelet.admit(second := pod()).accepted
    assert not kubelet.allocated(second.uid, "app", GPU) & held


def test_a_pod_that_does_not_run_is_judged_anew(kubelet: FakeKubelet, scripted: Plugins) -> None:
    """DP-KUB-055: without its plugin it fails, and so does everybody after a reboot."""
    scripted().join(kubelet, "a", "b")
    kubelet.admit(idle := pod())
    kubelet.admit(busy := pod())
    kubelet.start_container(busy.uid, "app")
    outcome = kubelet.restart("A", gap_s=0)
    assert (outcome[idle.uid].accepted, outcome[busy.uid].accepted) == (False, True)
    assert kubelet.status(idle.uid)["reason"] == "UnexpectedAdmissionError"
    outcome = kubelet.restart("A", gap_s=0, rebooted=True)
    assert [*outcome] == [busy.uid]
    assert not outcome[busy.uid].accepted


def test_no_container_starts_before_its_pod_is_admitted(kubelet: FakeKubelet) -> None:
    """After a restart pods are judged one after the other."""
    kubelet.workload.put(waiting := pod())
    with pytest.raises(NotStarted, match="yet to be admitted"):
        kubelet.start_container(waiting.uid, "app")


def test_a_finished_init_container_spoils_the_restart_of_a_running_pod(
    kubelets: Kubelets, scripted: Plugins
) -> None:
    """DP-KUB-076: released kubelets fail the pod, an ideal one does not."""
    for profile, accepted in (("1.37", False), ("ideal", True)):
        kubelet = kubelets(profile=profile)
        scripted().join(kubelet, "a")
        asking = pod(init=(Container("setup", {GPU: 1}),))
        kubelet.admit(asking)
        for name in ("setup", "app"):
            kubelet.start_container(asking.uid, name)
        kubelet.stop_container(asking.uid, "setup")
        assert kubelet.restart("A", gap_s=0)[asking.uid].accepted is accepted
        kubelet.stop()


def test_the_checkpoint_has_the_form_that_others_read(
    kubelet: FakeKubelet, scripted: Plugins, folder: Path
) -> None:
    """Contract 2.9: names, mode 0600, and no file of the writing left over."""
    scripted().join(kubelet, "a", "b")
    kubelet.admit(asking := pod())
    path = folder / "device-plugins" / "kubelet_internal_checkpoint"
    content = json.loads(path.read_text())
    [entry] = content["Data"]["PodDeviceEntries"]
    assert (entry["PodUID"], entry["ContainerName"]) == (asking.uid, "app")
    assert content["Data"]["RegisteredDevices"] == {GPU: ["a", "b"]}
    assert path.stat().st_mode & 0o777 == 0o600
    saved = read(path)
    assert saved is not None
    assert saved.records[0].response.envs == {"IDS": entry["DeviceIDs"]["-1"][0]}
    assert {*os.listdir(path.parent)} == {"kubelet.sock", "plugin.sock", path.name}


def test_a_checkpoint_of_a_real_kubelet_is_believed(folder: Path, kubelets: Kubelets) -> None:
    """`null` stands for an empty list in it."""
    path = folder / "device-plugins" / "kubelet_internal_checkpoint"
    path.parent.mkdir(parents=True)
    entry = {
        "PodUID": "u",
        "ContainerName": "c",
        "ResourceName": GPU,
        "DeviceIDs": {"0": ["a"]},
        "AllocResp": "",
    }
    data = {"PodDeviceEntries": [entry], "RegisteredDevices": {GPU: None}}
    path.write_text(json.dumps({"Data": data, "Checksum": checksum(data)}))
    kubelet = kubelets()
    assert kubelet.allocated("u", "c", GPU) == {"a"}
    assert kubelet.node().capacity == {GPU: 0}
    assert kubelet.notes == []


@pytest.mark.parametrize("harm", ["half", "empty", "sum", "old shape", "folder"])
def test_a_broken_checkpoint_is_a_note_and_an_empty_start(
    kubelet: FakeKubelet, scripted: Plugins, harm: str
) -> None:
    """DP-KUB-057: whoever runs loses the record; the file is written over."""
    scripted().join(kubelet, "a", "b")
    kubelet.admit(asking := pod())
    kubelet.start_container(asking.uid, "app")
    kubelet.kill()
    path = kubelet.layout.checkpoint
    whole = path.read_text()
    path.unlink()
    if harm == "folder":
        path.mkdir()
    else:
        path.write_text(_harmed(whole, harm))
    kubelet.start()
    assert any("is not used" in note for note in kubelet.notes)
    assert kubelet.allocated(asking.uid, "app", GPU) == frozenset()
    scripted("again.sock").join(kubelet, "a", "b")
    outcome = kubelet.admit(other := pod())
    if harm == "folder":
        assert "checkpoint could not be written" in outcome.message
    else:
        assert kubelet.allocated(other.uid, "app", GPU) == {"a"}, "given a second time"
        assert read(path) is not None


def test_without_a_checkpoint_the_node_is_taken_for_a_new_one(
    kubelet: FakeKubelet, scripted: Plugins
) -> None:
    """DP-KUB-059."""
    scripted().join(kubelet, "a")
    assert kubelet.node().capacity == {GPU: 1}
    kubelet.kill()
    kubelet.layout.checkpoint.unlink()
    kubelet.start()
    assert kubelet.node() == kubelet.node()
    assert kubelet.node().capacity == {GPU: 0}


def test_a_removed_resource_is_removed_from_the_checkpoint(
    kubelets: Kubelets, scripted: Plugins
) -> None:
    """Contract 2.3: both maps and the endpoint go in one pass."""
    now = [0.0]
    kubelet = kubelets(clock=lambda: now[0])
    scripted().join(kubelet, "a").end()
    assert kubelet.wait(lambda: kubelet.node().allocatable == {GPU: 0})
    now[0] = 301.0
    assert kubelet.node().capacity == {GPU: 0}
    kubelet.kill()
    saved = read(kubelet.layout.checkpoint)
    assert saved is not None
    assert saved.registered == {}


def test_lists_are_in_the_checkpoint_of_a_killed_kubelet(
    kubelet: FakeKubelet, scripted: Plugins
) -> None:
    """DP-KUB-020: nobody waits for the writing, but it is done."""
    plugin = scripted().join(kubelet, "a")
    plugin.send("a", "b", device("c", "Unhealthy"))
    assert kubelet.wait(lambda: "c" in kubelet.devices(GPU))
    kubelet.kill()
    saved = read(kubelet.layout.checkpoint)
    assert saved is not None
    assert saved.registered == {GPU: ("a", "b")}


def test_found_plugins_are_found_again_without_their_doing(
    kubelet: FakeKubelet, scripted: Plugins, folder: Path
) -> None:
    """REG-026: their sockets are not touched."""
    plugin = scripted()
    plugin.send("a")
    plugin.serve(folder / "plugins_registry" / "found.sock")
    assert back(kubelet, 1)
    assert plugin.registration.wait_notified(1)  # which may come after its list
    kubelet.restart("A", gap_s=0)
    assert back(kubelet, 1)
    assert plugin.registration.wait_notified(2)


def _stale(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))


def _harmed(whole: str, harm: str) -> str:
    if harm == "sum":
        return whole.replace('"a"', '"c"')
    if harm == "old shape":
        content = json.loads(whole)
        content["Data"]["PodDeviceEntries"][0]["DeviceIDs"] = ["a"]
        return json.dumps(content)
    return whole[: len(whole) // 2] if harm == "half" else ""
