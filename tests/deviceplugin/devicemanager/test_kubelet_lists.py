"""What kubelet makes of lists, of their end, and of silence (DP-KUB-010 to 030)."""

from __future__ import annotations

from pathlib import Path

import pytest

from refimpl.deviceplugin.api import deviceplugin_pb2 as pb
from refimpl.deviceplugin.fake import FakePlugin
from refimpl.deviceplugin.kubelet import FakeKubelet
from refimpl.wire.status import Code, Refused
from tests.deviceplugin.conftest import Kubelets, Plugins
from tests.deviceplugin.kubelet_rig import GPU, NIC, VirtualClock, pod


def device(name: str, health: str = "Healthy", *nodes: int) -> pb.Device:
    message = pb.Device(ID=name, health=health)
    for node in nodes:
        message.topology.nodes.add(ID=node)
    return message


def test_before_the_first_list_the_resource_is_not_there(
    kubelet: FakeKubelet, scripted: Plugins
) -> None:
    """DP-KUB-010, 013: and an empty list is a list."""
    plugin = scripted().serve()
    plugin.enrol(kubelet)
    plugin.wait_for("ListAndWatch")
    assert kubelet.node().capacity == {}
    plugin.send()
    assert kubelet.wait(lambda: kubelet.node().capacity == {GPU: 0})
    assert not kubelet.links[0].ended


def test_only_the_one_word_is_healthy(kubelet: FakeKubelet, scripted: Plugins) -> None:
    """DP-KUB-011, 012, 016: an id of both kinds counts twice for capacity, as a quirk."""
    plugin = scripted().join(kubelet, "a", "b", "c")
    plugin.send("a", "b", "c", device("d", "healthy"), device("e", ""), device("a", "Unknown"))
    assert kubelet.wait(lambda: kubelet.node().capacity == {GPU: 6})
    assert kubelet.node().allocatable == {GPU: 3}


def test_each_list_replaces_the_one_before(kubelet: FakeKubelet, scripted: Plugins) -> None:
    """DP-KUB-014, 017: ids are not judged."""
    plugin = scripted().join(kubelet, "a", "b", "c")
    odd = ("", "x" * 300, "Gerät,1\n")
    plugin.send(*odd)
    assert kubelet.wait(lambda: {*kubelet.devices(GPU)} == {*odd})
    assert kubelet.node().capacity == {GPU: 3}


@pytest.mark.parametrize("refused", [None, Refused(Code.INTERNAL, "scripted")])
def test_when_the_stream_ends_nothing_is_allocatable_and_capacity_stays(
    kubelet: FakeKubelet, scripted: Plugins, refused: Refused | None
) -> None:
    """DP-KUB-021, 022: well or badly, and the stream is not opened again."""
    plugin = scripted().join(kubelet, "a", "b")
    plugin.end(refused)
    assert kubelet.wait(lambda: kubelet.node().allocatable == {GPU: 0})
    assert kubelet.node().capacity == {GPU: 2}
    assert len(plugin.asked["ListAndWatch"]) == 1
    [stream] = kubelet.journal.calls("ListAndWatch")
    assert stream.code == (refused.code if refused else Code.OK)


def test_a_lost_resource_goes_with_the_count_after_five_minutes(
    kubelets: Kubelets, scripted: Plugins
) -> None:
    """DP-KUB-023, 024: the key stays, with 0; back in time, nothing is lost."""
    clock = VirtualClock()
    kubelet = kubelets(clock=clock)
    gone, back = scripted().join(kubelet, "a"), scripted("nic.sock", NIC).join(kubelet, "b")
    for plugin in (gone, back):
        plugin.end()
    assert kubelet.wait(lambda: kubelet.node().allocatable == {GPU: 0, NIC: 0})
    clock.now += 299
    back.enrol(kubelet)
    assert kubelet.wait(lambda: kubelet.node().allocatable[NIC] == 1)
    assert kubelet.node().capacity == {GPU: 1, NIC: 1}
    clock.now += 2
    assert kubelet.node().capacity == {GPU: 0, NIC: 1}
    assert kubelet.admit(pod()).configs == {}, "asked for, unknown, and so left out"


def test_a_list_above_grpcs_limit_ends_the_stream(kubelet: FakeKubelet, scripted: Plugins) -> None:
    """DP-KUB-019: others are not affected."""
    plugin, other = scripted(), scripted("nic.sock", NIC)
    plugin.join(kubelet, "a")
    other.join(kubelet, "b")
    plugin.send("x" * (4 * 1024 * 1024))
    assert kubelet.wait(lambda: "RESOURCE_EXHAUSTED" in kubelet.links[0].ended)
    assert kubelet.node().allocatable == {GPU: 0, NIC: 1}
    assert [*kubelet.devices(GPU)] == ["a"]


def test_of_a_storm_of_lists_the_last_one_wins(kubelet: FakeKubelet, scripted: Plugins) -> None:
    """DP-KUB-020: none is left out, and admission goes on meanwhile."""
    plugin = scripted().join(kubelet, "a")
    for number in range(1000):
        plugin.send("a", *(f"b{number}-{n}" for n in range(number % 7)))
    assert kubelet.admit(pod()).accepted
    plugin.send("a", "last")
    assert kubelet.wait(lambda: "last" in kubelet.devices(GPU))
    assert kubelet.links[0].lists == 1002
    assert kubelet.node().allocatable == {GPU: 2}


def test_ten_thousand_flapping_devices_do_not_hold_anything_up(
    kubelet: FakeKubelet, folder: Path
) -> None:
    """DP-KUB-018: a hundred changes at once, and the last state is what counts."""
    with FakePlugin(GPU, folder=folder, persona="many") as plugin:
        assert kubelet.wait(lambda: kubelet.node().allocatable.get(GPU) == 10_000)
        for number in range(99):
            plugin.set_health("gpu-7", "Healthy" if number % 2 else "Unhealthy")
        assert kubelet.admit(asking := pod({GPU: 100})).accepted
        assert kubelet.wait(lambda: kubelet.node().allocatable == {GPU: 9_999})
        assert len(kubelet.allocated(asking.uid, "app", GPU)) == 100


def test_a_frozen_kubelet_notices_what_happened_when_it_thaws(
    kubelet: FakeKubelet, scripted: Plugins
) -> None:
    """A stopped process: nothing is read, and nothing is lost."""
    plugin = scripted().join(kubelet, "a")
    kubelet.freeze()
    plugin.send("a", "b")
    plugin.end()
    assert kubelet.node().allocatable == {GPU: 1}
    kubelet.thaw()
    assert kubelet.wait(lambda: kubelet.node().allocatable == {GPU: 0})
    assert kubelet.node().capacity == {GPU: 2}


def test_what_comes_after_the_end_of_kubelet_is_not_taken_in(
    kubelet: FakeKubelet, scripted: Plugins
) -> None:
    """Streams end with the process, and lose nobody."""
    plugin = scripted().join(kubelet, "a")
    state = kubelet.state
    kubelet.kill()
    plugin.send("a", "b")
    assert state.count().allocatable == {GPU: 1}
    with pytest.raises(RuntimeError, match="no kubelet runs"):
        kubelet.node()
