"""Connections to plugins where kubelet's own end is the point: limits, closing, late calls."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from refimpl.deviceplugin.api import deviceplugin_pb2 as pb
from refimpl.deviceplugin.fake import FakePlugin, Pace
from refimpl.deviceplugin.kubelet import Capacity, FakeKubelet
from refimpl.deviceplugin.state.effects import Allocate
from refimpl.deviceplugin.state.endpoints import Connection
from refimpl.wire.client import Unreachable
from refimpl.wire.status import Code, Refused
from tests.deviceplugin.conftest import Kubelets, Plugins
from tests.deviceplugin.kubelet_rig import GPU, VirtualClock, pod
from tests.deviceplugin.scripted_kubelet import until


def test_an_answer_above_grpcs_limit_fails_the_pod(kubelet: FakeKubelet, scripted: Plugins) -> None:
    """Contract 1.3: 4 MiB, of replies as of lists."""
    plugin = scripted().join(kubelet, "a")
    huge = pb.AllocateResponse()
    huge.container_responses.add(envs={"X": "x" * (4 * 1024 * 1024)})
    plugin.answers = lambda _: huge
    outcome = kubelet.admit(pod())
    assert "RESOURCE_EXHAUSTED" in outcome.message


def test_a_connection_that_never_was_cannot_be_called(kubelet: FakeKubelet) -> None:
    """What a checkpoint names has none."""
    links = kubelet.process.links
    with pytest.raises(Refused, match="no connection") as refused:
        links.allocate(Allocate(Connection(0, GPU, ""), ("a",)))
    assert refused.value.code == Code.UNAVAILABLE


def test_a_dial_is_timed_by_the_clock(kubelets: Kubelets, scripted: Plugins) -> None:
    """DP-KUB-005: ten seconds that nobody has to wait for."""
    clock = VirtualClock()
    kubelet = kubelets(clock=clock)
    ended = beside(lambda: scripted().enrol(kubelet))

    def later() -> bool:
        clock.now += 1
        return bool(ended)

    until(later)
    [error] = ended
    assert isinstance(error, Refused)
    assert "no such file" in error.message
    assert kubelet.node().capacity == {}


def test_a_dial_ends_with_the_process(kubelets: Kubelets, scripted: Plugins) -> None:
    """Whatever time it still has."""
    kubelet = kubelets(clock=VirtualClock())
    ended = beside(lambda: scripted().enrol(kubelet))
    until(lambda: bool(kubelet.process.links._dialling))
    kubelet.kill()
    until(lambda: bool(ended))
    assert isinstance(ended[0], Refused)


def beside(call: Callable[[], object]) -> list[Exception | None]:
    """Runs it in a thread; the list gets what it raised, or None, when it ends."""
    ended: list[Exception | None] = []

    def run() -> None:
        try:
            call()
        except (Refused, Unreachable) as error:
            ended.append(error)
        else:
            ended.append(None)

    threading.Thread(target=run, daemon=True).start()
    return ended


def test_after_the_end_nothing_is_called_or_registered(
    kubelet: FakeKubelet, scripted: Plugins
) -> None:
    """By a process that has ended; the next one does as it likes."""
    plugin = scripted().join(kubelet, "a")
    links = kubelet.process.links
    [link] = links.all
    kubelet.kill()
    with pytest.raises(Refused, match="closed") as refused:
        links.allocate(Allocate(link.connection, ("a",)))
    assert refused.value.code == Code.CANCELLED
    with pytest.raises(Refused, match="stopping"):
        links.register("example.com/late", str(plugin.path))
    assert "Allocate" not in plugin.asked


def test_a_stream_can_be_dropped_alone(kubelet: FakeKubelet, folder: Path) -> None:
    """DP-PLG-027: the socket stays, and our own plugin registers again."""
    pace = Pace(debounce_s=0.0, first_s=0.01, longest_s=0.05)
    with FakePlugin(GPU, 2, folder=folder, pace=pace) as plugin:
        assert kubelet.wait(lambda: kubelet.node().allocatable == {GPU: 2})
        assert plugin.wait_registered()
        kubelet.links[0].drop()
        assert plugin.wait_registered(2)
        assert kubelet.wait(lambda: kubelet.node().allocatable == {GPU: 2})
        assert "CANCELLED" in kubelet.links[0].ended


def test_a_plugin_that_serves_no_lists_is_lost_after_two_calls(
    kubelet: FakeKubelet, scripted: Plugins
) -> None:
    """Contract 2.3: 0/0 or nothing at all, and no retry."""
    plugin = scripted().serve()
    plugin.refused["ListAndWatch"] = Code.UNIMPLEMENTED
    plugin.enrol(kubelet)
    assert kubelet.wait(lambda: bool(kubelet.links[0].ended))
    assert "UNIMPLEMENTED" in kubelet.links[0].ended
    assert {rpc: len(requests) for rpc, requests in plugin.asked.items()} == {
        "GetDevicePluginOptions": 1,
        "ListAndWatch": 1,
    }
    assert kubelet.node() == Capacity({GPU: 0}, {GPU: 0})
