"""The pods API of the fake kubelet: what there is, one pod, and what changes (PR-035)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import grpc
import pytest

from refimpl.deviceplugin.api import pods_v1alpha1_pb2 as pb
from refimpl.deviceplugin.api.pods_v1alpha1_pb2_grpc import PodsStub
from refimpl.deviceplugin.devicemanager.podbytes import PodNote, from_bytes
from refimpl.deviceplugin.kubelet import FakeKubelet, Pod
from refimpl.wire.client import Channel
from refimpl.wire.status import Code, Refused
from tests.deviceplugin.conftest import Kubelets
from tests.deviceplugin.kubelet_rig import pod


@pytest.fixture
def pods(kubelet: FakeKubelet) -> Iterator[PodsStub]:
    with Channel(kubelet.pods_api) as channel:
        channel.wait_ready(30)
        yield PodsStub(cast("grpc.Channel", channel))


def note(of: Pod, phase: str = "Pending") -> PodNote:
    names = tuple(each.name for each in of.app)
    return PodNote(of.name, of.namespace, of.uid, app=names, phase=phase)


def test_all_pods_are_listed_by_uid_and_had_one_by_one(
    kubelet: FakeKubelet, pods: PodsStub
) -> None:
    """Finished ones as well."""
    first, second = pod({}, uid="b"), pod({}, uid="a")
    for each in (first, second):
        kubelet.admit(each)
    kubelet.start_container("b", "app")
    kubelet.finish("a")
    listed = [from_bytes(each) for each in pods.ListPods(pb.ListPodsRequest()).pods]
    assert listed == [note(second, "Succeeded"), note(first, "Running")]
    reply = pods.GetPod(pb.GetPodRequest(podUID="b"))
    assert from_bytes(reply.pod) == note(first, "Running")


def test_a_pod_that_is_not_there_is_not_found(pods: PodsStub) -> None:
    """By uid, not by name."""
    with pytest.raises(Refused, match="ListPods names") as refused:
        pods.GetPod(pb.GetPodRequest(podUID="x"))
    assert refused.value.code == Code.NOT_FOUND


def test_a_watch_tells_what_there_is_and_then_what_changes(
    kubelet: FakeKubelet, pods: PodsStub
) -> None:
    """A pod that is gone is told by its name alone."""
    kubelet.admit(first := pod({}))
    events = iter(pods.WatchPods(pb.WatchPodsRequest(), timeout=30))

    def next_event() -> tuple[str, PodNote | None]:
        event = next(events)
        return pb.EventType.Name(event.type), from_bytes(event.pod) if event.pod else None

    assert next_event() == ("ADDED", note(first))
    assert next_event() == ("INITIAL_SYNC_COMPLETE", None)
    kubelet.admit(second := pod({}))
    assert next_event() == ("ADDED", note(second))
    kubelet.start_container(first.uid, "app")
    assert next_event() == ("MODIFIED", note(first, "Running"))
    kubelet.remove(second.uid)
    assert next_event() == ("DELETED", PodNote(second.name, second.namespace, second.uid))


def test_a_kubelet_that_has_not_heard_of_its_pods_says_so(
    kubelet: FakeKubelet, pods: PodsStub
) -> None:
    """An empty list would read as a node without pods."""
    kubelet.state.tables.sources_ready = False
    for call in (
        lambda: pods.ListPods(pb.ListPodsRequest()),
        lambda: pods.GetPod(pb.GetPodRequest(podUID="x")),
        lambda: list(pods.WatchPods(pb.WatchPodsRequest(), timeout=30)),
    ):
        with pytest.raises(Refused) as refused:
            call()
        assert refused.value.code == Code.FAILED_PRECONDITION


def test_older_kubelets_have_no_such_socket(kubelets: Kubelets) -> None:
    """Nor is there one where the gate is off; both stop without leaving one."""
    kubelet = kubelets(gates={"PodsAPI": False})
    assert not (kubelet.layout.root / "pods-api").exists()
    kubelet.stop()
    newer = kubelets()
    assert (newer.layout.root / "pods-api" / "pods-api.sock").is_socket()
    newer.stop()
    assert not (newer.layout.root / "pods-api" / "pods-api.sock").exists()


def test_open_watches_end_with_kubelet(kubelet: FakeKubelet, pods: PodsStub) -> None:
    """So that it can stop."""
    events = iter(pods.WatchPods(pb.WatchPodsRequest(), timeout=30))
    assert next(events).type == pb.INITIAL_SYNC_COMPLETE
    kubelet.kill()
    with pytest.raises(Refused) as refused:
        list(events)
    assert refused.value.code == Code.UNAVAILABLE
