"""The client of pod resources, before the fake kubelet."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from refimpl.deviceplugin.api import deviceplugin_pb2 as pb
from refimpl.deviceplugin.api import podresources_v1_pb2 as v1
from refimpl.deviceplugin.kubelet import FakeKubelet
from refimpl.deviceplugin.lister import PodResourcesClient, devices_of
from refimpl.wire.client import Unreachable
from refimpl.wire.endpoint import Endpoint
from refimpl.wire.status import Refused
from tests.deviceplugin.kubelet_rig import GPU, Scripted, pod


@pytest.fixture
def client(kubelet: FakeKubelet) -> Iterator[PodResourcesClient]:
    """Connected to the kubelet."""
    with PodResourcesClient(kubelet.pod_resources) as client:
        yield client


def test_a_device_of_two_nodes_is_one_device(
    kubelet: FakeKubelet, client: PodResourcesClient, folder: Path
) -> None:
    """Kubelet tells it once for each node."""
    wide = pb.Device(ID="a", health="Healthy")
    wide.topology.nodes.add(ID=0)
    wide.topology.nodes.add(ID=1)
    plugin = Scripted(folder)
    plugin.serve().enrol(kubelet)
    plugin.send(wide)
    assert kubelet.wait(lambda: bool(kubelet.devices(GPU)))
    wanted = pod()
    assert kubelet.admit(wanted).accepted
    assert devices_of(client.allocatable().devices) == {GPU: {"a": frozenset({0, 1})}}
    (listed,) = client.pods()
    assert listed == client.get(wanted.name)
    assert devices_of(listed.containers[0].devices) == {GPU: {"a": frozenset({0, 1})}}
    assert [each.name for each in client.pods_v1alpha1()] == [wanted.name]
    plugin.stop()


def test_what_was_asked_too_often_is_asked_again(client: PodResourcesClient) -> None:
    """More than kubelet answers at once."""
    assert [client.pods() for _ in range(40)] == [[]] * 40


def test_an_unknown_pod_is_an_error(client: PodResourcesClient) -> None:
    """At once: asking again would not help."""
    with pytest.raises(Refused):
        client.get("nobody")


def test_a_kubelet_that_comes_later_is_waited_for(folder: Path) -> None:
    """PR-029: an agent may be started before kubelet."""
    kubelet = FakeKubelet(folder)
    later = threading.Timer(0.2, kubelet.start)
    with PodResourcesClient(kubelet.pod_resources) as client:
        later.start()
        assert client.pods() == []
    later.join()
    kubelet.stop()


def test_nobody_is_told_by_a_sentence(folder: Path) -> None:
    """After its patience."""
    endpoint = Endpoint.parse(folder / "no.sock")
    with PodResourcesClient(endpoint, patience_s=0.1) as client, pytest.raises(Unreachable):
        client.pods()


def test_entries_without_nodes_have_none() -> None:
    """As of a device without topology."""
    entry = v1.ContainerDevices(resource_name=GPU, device_ids=["b", "a"])
    assert devices_of([entry]) == {GPU: {"a": frozenset(), "b": frozenset()}}
