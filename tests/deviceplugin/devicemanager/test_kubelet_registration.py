"""How plugins come to be known: by Register, and by the plugin watcher (DP-KUB-001 to 009, REG)."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from refimpl.deviceplugin.api import deviceplugin_pb2 as pb
from refimpl.deviceplugin.devicemanager.registration_service import REGISTRATIONS
from refimpl.deviceplugin.fake import FakePlugin, Pace
from refimpl.deviceplugin.kubelet import FakeKubelet
from refimpl.deviceplugin.state.settings import Settings
from refimpl.wire.status import Code, Refused
from tests.deviceplugin.conftest import Kubelets, Plugins
from tests.deviceplugin.kubelet_rig import GPU, NIC, VirtualClock, pod
from tests.deviceplugin.scripted_kubelet import until

AT_ONCE = Pace(debounce_s=0.0, first_s=0.01, longest_s=0.05)


class Drivers:
    """A handler that takes in everybody."""

    def __init__(self) -> None:
        self.taken: list[str] = []

    def validate(self, name: str, endpoint: str, versions: Sequence[str]) -> None:
        """Nobody is refused."""

    def register(self, name: str, endpoint: str, versions: Sequence[str]) -> None:
        self.taken.append(name)

    def deregister(self, name: str, endpoint: str) -> None:
        self.taken.remove(name)


def rpcs(kubelet: FakeKubelet, side: str = "client") -> list[str]:
    return [entry.rpc for entry in kubelet.journal.entries if entry.side == side]


def test_a_plugin_is_asked_for_options_and_watched_once(
    kubelet: FakeKubelet, scripted: Plugins
) -> None:
    """DP-KUB-001."""
    plugin = scripted().join(kubelet, "a", "b")
    assert {rpc: len(requests) for rpc, requests in plugin.asked.items()} == {
        "GetDevicePluginOptions": 1,
        "ListAndWatch": 1,
    }
    assert kubelet.node().allocatable == {GPU: 2}
    assert kubelet.counts[f"{REGISTRATIONS}{{{GPU}}}"] == 1


@pytest.mark.parametrize("version", ["v1alpha1", "", "V1beta1"])
def test_a_strange_version_is_refused_before_anything_is_dialled(
    kubelet: FakeKubelet, scripted: Plugins, version: str
) -> None:
    """DP-KUB-002, and the order: the name is not even looked at."""
    plugin = scripted().serve()
    with pytest.raises(Refused, match="v1beta1") as refused:
        plugin.enrol(kubelet, version=version, resource_name="cpu")
    assert refused.value.code == Code.UNKNOWN
    assert plugin.asked == {}
    assert kubelet.counts[f"{REGISTRATIONS}{{cpu}}"] == 1, "attempts are counted, refused or not"


def test_a_name_that_is_no_extended_resource_is_refused(
    kubelet: FakeKubelet, scripted: Plugins
) -> None:
    """DP-KUB-003."""
    plugin = scripted().serve()
    with pytest.raises(Refused, match=r"kubernetes\.io") as refused:
        plugin.enrol(kubelet, resource_name="a.kubernetes.io/x")
    assert refused.value.code == Code.UNKNOWN
    assert kubelet.node().capacity == {}
    assert any("is refused" in note for note in kubelet.notes)


def test_a_plugin_that_does_not_serve_is_refused_with_the_reason(
    kubelet: FakeKubelet, scripted: Plugins
) -> None:
    """A folder in the socket's place (an empty endpoint, DP-KUB-006) is told at once."""
    plugin = scripted()
    with pytest.raises(Refused, match="no socket") as refused:
        plugin.enrol(kubelet, endpoint="")
    assert refused.value.code == Code.UNKNOWN
    assert kubelet.node().capacity == {}
    assert plugin.asked == {}


def test_an_endpoint_is_joined_to_the_folder_and_not_judged(
    kubelet: FakeKubelet, scripted: Plugins, folder: Path
) -> None:
    """DP-KUB-006, REG-028: `..` leaves the folder, and works; so does a folder below; an absolute
    path is one below the folder."""
    outside = scripted(resource="example.com/outside").serve(folder / "x.sock")
    outside.enrol(kubelet, endpoint="../x.sock")
    (folder / "device-plugins" / "sub").mkdir()
    inside = scripted("sub/y.sock", "example.com/inside").serve()
    inside.enrol(kubelet, endpoint="sub/y.sock")
    rooted = scripted("z.sock", "example.com/rooted").serve()
    rooted.enrol(kubelet, endpoint="/z.sock")
    for plugin in (outside, inside, rooted):
        plugin.wait_for("ListAndWatch")


def test_an_endpoint_too_long_for_a_socket_is_refused(
    kubelet: FakeKubelet, scripted: Plugins
) -> None:
    """DP-PLG-081 from the other side: a clear error and no dial."""
    with pytest.raises(Refused, match="107") as refused:
        scripted().enrol(kubelet, endpoint="x" * 120)
    assert refused.value.code == Code.UNKNOWN


def test_a_plugin_whose_options_fail_is_not_used(kubelet: FakeKubelet, scripted: Plugins) -> None:
    """DP-KUB-007: exactly one call was made, and no resource appears."""
    plugin = scripted().serve()
    plugin.refused["GetDevicePluginOptions"] = Code.INTERNAL
    with pytest.raises(Refused, match="as scripted") as refused:
        plugin.enrol(kubelet)
    assert refused.value.code == Code.UNKNOWN
    assert [*plugin.asked] == ["GetDevicePluginOptions"]
    assert kubelet.node().capacity == {}
    del plugin.refused["GetDevicePluginOptions"]
    plugin.enrol(kubelet)
    plugin.wait_for("ListAndWatch")


def test_the_options_call_has_what_is_left_of_the_callers_time(
    kubelet: FakeKubelet, scripted: Plugins
) -> None:
    """DP-KUB-008 and 072: kubelet waits as long as the plugin waits for its own Register."""
    plugin = scripted().serve()
    plugin.held.add("GetDevicePluginOptions")
    with pytest.raises(Refused) as refused:
        plugin.enrol(kubelet, timeout=0.3)
    assert refused.value.code == Code.DEADLINE_EXCEEDED
    kubelet.wait(lambda: bool(kubelet.journal.calls("GetDevicePluginOptions")))
    [call] = kubelet.journal.calls("GetDevicePluginOptions")
    assert call.deadline_s is not None
    assert call.deadline_s <= 0.3


def test_a_plugin_whose_options_hang_is_given_up_after_our_patience(
    kubelets: Kubelets, scripted: Plugins
) -> None:
    """DP-KUB-008: a real kubelet would wait for ever; nobody does here."""
    kubelet = kubelets(patience_s=0.1)
    plugin = scripted().serve()
    plugin.held.add("GetDevicePluginOptions")
    with pytest.raises(Refused, match="DEADLINE_EXCEEDED") as refused:
        plugin.enrol(kubelet)
    assert refused.value.code == Code.UNKNOWN


def test_options_count_as_answered_and_not_as_registered(
    kubelet: FakeKubelet, scripted: Plugins
) -> None:
    """DP-KUB-009: what Register says of PreStartContainer is not believed."""
    plugin = scripted().join(kubelet, "a")
    with pytest.raises(Refused):
        plugin.enrol(kubelet, options=pb.DevicePluginOptions(pre_start_required=True))
    kubelet.admit(asking := pod())
    kubelet.start_container(asking.uid, "app")
    assert "PreStartContainer" not in plugin.asked


def test_an_old_kubelet_answers_first_and_dials_behind(
    folder: Path, scripted: Plugins, kubelets: Kubelets
) -> None:
    """Before 1.25: the options are those of the request, and a failed dial is not told."""
    settings = Settings(dial_in_handler=False, endpoints="single", deprecation_file=True)
    kubelet = kubelets(settings=settings)
    plugin = scripted()
    plugin.enrol(kubelet, endpoint="")
    assert kubelet.wait(lambda: any("no socket" in note for note in kubelet.notes))
    plugin.serve()
    plugin.enrol(kubelet, options=pb.DevicePluginOptions(pre_start_required=True))
    plugin.send("a")
    assert kubelet.wait(lambda: kubelet.node().allocatable.get(GPU) == 1)
    assert "GetDevicePluginOptions" not in plugin.asked
    kubelet.admit(asking := pod())
    kubelet.start_container(asking.uid, "app")
    plugin.wait_for("PreStartContainer")
    assert (folder / "device-plugins" / "DEPRECATION").read_bytes() == b""


def test_two_plugins_of_one_resource_live_side_by_side(
    kubelet: FakeKubelet, scripted: Plugins
) -> None:
    """DP-KUB-029, 030: the last list counts, the newest is asked, the survivor takes over."""
    first = scripted("one.sock").join(kubelet, "a")
    second = scripted("two.sock").join(kubelet, "b")
    assert kubelet.admit(pod()).accepted
    assert "Allocate" in second.asked
    second.end()
    assert kubelet.wait(lambda: kubelet.links[1].ended != "")
    assert kubelet.node().allocatable == {GPU: 1}
    first.send("a", "b", "c")
    assert kubelet.wait(lambda: kubelet.node().allocatable == {GPU: 3})
    assert kubelet.admit(pod()).accepted
    assert "Allocate" in first.asked
    first.end()
    assert kubelet.wait(lambda: kubelet.node().allocatable == {GPU: 0})


def test_with_one_slot_the_end_of_the_old_plugin_takes_the_new_one_along(
    kubelets: Kubelets, scripted: Plugins
) -> None:
    """DP-KUB-026, issue 121994: until 1.35."""
    kubelet = kubelets(profile="1.30")
    first = scripted("one.sock").join(kubelet, "a")
    second = scripted("two.sock").join(kubelet, "b")
    first.end()
    assert kubelet.wait(lambda: kubelet.node().allocatable == {GPU: 0})
    assert kubelet.wait(lambda: all(link.ended for link in kubelet.links))
    assert not kubelet.admit(pod()).accepted
    assert "Allocate" not in second.asked


def test_a_second_register_of_a_live_socket_is_refused_and_does_damage(
    kubelet: FakeKubelet, scripted: Plugins
) -> None:
    """DP-KUB-027, 028, 066, 067: the end goes unseen, the socket is refused until a restart."""
    plugin = scripted().join(kubelet, "a")
    with pytest.raises(Refused, match="already connected") as refused:
        plugin.enrol(kubelet)
    assert refused.value.code == Code.UNKNOWN
    assert len(plugin.asked["GetDevicePluginOptions"]) == 2
    plugin.end()
    assert kubelet.wait(lambda: kubelet.links[0].ended != "")
    assert kubelet.node().allocatable == {GPU: 1}
    plugin.stop()
    heir = scripted().serve()
    with pytest.raises(Refused, match="already connected"):
        heir.enrol(kubelet)
    assert kubelet.admit(pod()).accepted
    assert "Allocate" in heir.asked, "the channel that was never closed connects again"
    assert "ListAndWatch" not in heir.asked
    kubelet.restart("A", gap_s=0)
    assert kubelet.node().allocatable == {GPU: 0}


def test_development_code_answers_a_second_register_without_a_dial(
    kubelets: Kubelets, scripted: Plugins
) -> None:
    """DP-KUB-027 [M]."""
    kubelet = kubelets(profile="main")
    plugin = scripted().join(kubelet, "a")
    plugin.enrol(kubelet)
    assert len(plugin.asked["GetDevicePluginOptions"]) == 1


def test_plugins_may_register_at_the_same_time(kubelet: FakeKubelet, scripted: Plugins) -> None:
    """DP-KUB-031: while one waits for its options, others are served."""
    slow = scripted("slow.sock", "example.com/slow").serve()
    slow.held.add("GetDevicePluginOptions")
    waiting = threading.Thread(target=slow.enrol, args=[kubelet])
    waiting.start()
    slow.wait_for("GetDevicePluginOptions")
    others = [scripted(f"p{n}.sock", f"example.com/p{n}") for n in range(8)]
    for other in others:
        other.join(kubelet, "a")
    slow.release()
    waiting.join()
    slow.wait_for("ListAndWatch")


def test_a_plugin_found_in_the_registry_is_taken_in_and_not_counted(
    kubelet: FakeKubelet, scripted: Plugins, folder: Path
) -> None:
    """REG-001, 013, 018, 034: and lost when its socket goes."""
    plugin = scripted()
    plugin.send("a")
    plugin.serve(folder / "plugins_registry" / "found.sock")
    assert kubelet.wait(lambda: kubelet.node().allocatable == {GPU: 1})
    assert plugin.registration.wait_notified()
    assert plugin.registration.registered
    assert f"{REGISTRATIONS}{{{GPU}}}" not in kubelet.counts
    until(lambda: {"GetInfo", "NotifyRegistrationStatus"} <= {*rpcs(kubelet)})
    plugin.path.unlink()
    assert kubelet.wait(lambda: kubelet.node().allocatable == {GPU: 0})


def test_a_found_plugin_says_where_it_serves_as_it_sees_the_folder(
    folder: Path, kubelets: Kubelets, scripted: Plugins
) -> None:
    """SR-IOV has the path of its socket in its code, and is run where the folder is mounted."""
    kubelet = kubelets(seen_at="/seen/kubelet")
    plugin = scripted()
    plugin.registration.endpoint = "/seen/kubelet/plugins_registry/found.sock"
    plugin.send("a")
    plugin.serve(folder / "plugins_registry" / "found.sock")
    assert kubelet.wait(lambda: kubelet.node().allocatable == {GPU: 1}), kubelet.notes
    plugin.path.unlink()
    assert kubelet.wait(lambda: kubelet.node().allocatable == {GPU: 0})


@pytest.mark.usefixtures("kubelet")
@pytest.mark.parametrize(
    ("resource", "versions", "reason"),
    [("cpu", ("v1beta1",), "domain"), (NIC, ("1.0.0",), "v1beta1"), (NIC, (), "v1beta1")],
)
def test_a_found_plugin_is_told_why_it_is_refused(
    scripted: Plugins,
    folder: Path,
    resource: str,
    versions: tuple[str, ...],
    reason: str,
) -> None:
    """REG-011, 012, 031."""
    plugin = scripted()
    plugin.registration.name, plugin.registration.versions = resource, versions
    plugin.serve(folder / "plugins_registry" / "found.sock")
    assert plugin.registration.wait_notified()
    status = plugin.registration.notified[0]
    assert not status.registered
    assert reason in status.error


def test_other_types_have_handlers_of_their_own(
    folder: Path, kubelets: Kubelets, scripted: Plugins
) -> None:
    """REG-009, 023: one folder for all, and a type that nobody handles is told so."""
    drivers = Drivers()
    kubelets(handlers={"DRAPlugin": drivers})
    driver, storage = scripted("a.sock"), scripted("b.sock")
    driver.registration.type, storage.registration.type = "DRAPlugin", "CSIPlugin"
    for plugin in (driver, storage):
        plugin.serve(folder / "plugins_registry" / plugin.path.name)
        assert plugin.registration.wait_notified()
    assert drivers.taken == [GPU]
    assert driver.registration.registered
    assert "handled by nobody" in storage.registration.notified[0].error


def test_our_own_plugin_registers_either_way(kubelet: FakeKubelet, folder: Path) -> None:
    """REG-027: two sockets are two endpoints."""
    with FakePlugin(GPU, 3, folder=folder, register="both", pace=AT_ONCE) as plugin:
        assert plugin.wait_registered()
        assert kubelet.wait(lambda: kubelet.node().allocatable == {GPU: 3})
        assert len(kubelet.links) == 2
    assert kubelet.wait(lambda: kubelet.node().allocatable == {GPU: 0})


@pytest.mark.usefixtures("kubelet")
def test_the_folder_is_kubelets_own(folder: Path) -> None:
    """Contract 1.3: modes, and no DEPRECATION file."""
    modes = {each.name: oct(each.stat().st_mode & 0o777) for each in folder.iterdir()}
    assert modes == {
        "device-plugins": "0o750",
        "plugins_registry": "0o755",
        "pod-resources": "0o750",
        "pods-api": "0o750",
    }
    assert os.listdir(folder / "device-plugins") == ["kubelet.sock"]


def test_a_found_plugin_that_fails_is_tried_again_when_its_time_has_come(
    kubelets: Kubelets, scripted: Plugins, folder: Path
) -> None:
    """REG-007: on the clock that was given; nothing else has to happen than `wake`."""
    clock = VirtualClock()
    kubelet = kubelets(clock=clock)
    plugin = scripted()
    plugin.refused["GetInfo"] = Code.UNIMPLEMENTED
    plugin.serve(folder / "plugins_registry" / "found.sock")
    assert plugin.wait_for("GetInfo")

    def later() -> bool:
        clock.now += 4.0
        kubelet.wake()
        return True

    until(lambda: later() and len(plugin.calls("GetInfo")) >= 3)
    plugin.refused.clear()
    until(lambda: later() and plugin.registration.registered)
