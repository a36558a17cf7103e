"""Pod resources over a kubelet's state: who is listed, with what, and how often (PR-001 to 034)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import grpc
import pytest

from refimpl.deviceplugin.api import podresources_v1_pb2 as v1
from refimpl.deviceplugin.api import podresources_v1_pb2_grpc as v1_stubs
from refimpl.deviceplugin.api import podresources_v1alpha1_pb2 as alpha
from refimpl.deviceplugin.api import podresources_v1alpha1_pb2_grpc as alpha_stubs
from refimpl.deviceplugin.devicemanager.podresources import Limiter
from refimpl.deviceplugin.kubelet import Container, FakeKubelet
from refimpl.wire.client import Channel
from refimpl.wire.status import Code, Refused
from tests.deviceplugin.conftest import Kubelets, Plugins
from tests.deviceplugin.devicemanager.test_kubelet_lists import device
from tests.deviceplugin.kubelet_rig import GPU, VirtualClock, pod
from tests.deviceplugin.scripted_kubelet import until


class Client:
    """Both versions over one channel."""

    def __init__(self, channel: Channel) -> None:
        wire = cast("grpc.Channel", channel)
        self.v1 = v1_stubs.PodResourcesListerStub(wire)
        self.alpha = alpha_stubs.PodResourcesListerStub(wire)

    def list(self) -> dict[str, dict[str, list[tuple[str, tuple[int, ...] | None]]]]:
        """Pod -> container -> (id, nodes or None)."""
        reply = self.v1.List(v1.ListPodResourcesRequest())
        return {each.name: containers_of(each) for each in reply.pod_resources}

    def get(self, name: str, namespace: str = "default") -> v1.PodResources:
        request = v1.GetPodResourcesRequest(pod_name=name, pod_namespace=namespace)
        return self.v1.Get(request).pod_resources

    def allocatable(self) -> list[tuple[str, tuple[int, ...] | None]]:
        return entries_of(self.v1.GetAllocatableResources(v1.AllocatableResourcesRequest()))


def containers_of(
    shown: v1.PodResources,
) -> dict[str, list[tuple[str, tuple[int, ...] | None]]]:
    return {container.name: entries_of(container) for container in shown.containers}


def entries_of(
    message: v1.ContainerResources | v1.AllocatableResourcesResponse,
) -> list[tuple[str, tuple[int, ...] | None]]:
    entries = []
    for entry in message.devices:
        [name] = entry.device_ids
        nodes = tuple(node.ID for node in entry.topology.nodes)
        entries.append((name, nodes if entry.HasField("topology") else None))
    return sorted(entries, key=repr)


@pytest.fixture
def client(kubelet: FakeKubelet) -> Iterator[Client]:
    with Channel(kubelet.pod_resources) as channel:
        channel.wait_ready(30)
        yield Client(channel)


def test_a_node_without_pods_lists_none(client: Client) -> None:
    """PR-001."""
    assert client.list() == {}
    assert client.allocatable() == []


def test_pods_are_listed_with_one_entry_a_device_and_node(
    kubelet: FakeKubelet, client: Client, scripted: Plugins
) -> None:
    """PR-002 to 006, 032: also those without devices; no nodes are no topology."""
    plugin = scripted().join(kubelet, "x")
    empty = device("e")
    empty.topology.SetInParent()
    plugin.send(device("a", "Healthy", 1), device("b", "Healthy", 0, 1), "c", empty)
    assert kubelet.wait(lambda: len(kubelet.devices(GPU)) == 4)
    kubelet.admit(all_of := pod({GPU: 4}))
    kubelet.admit(none := pod({}))
    assert client.list() == {
        all_of.name: {"app": [("a", (1,)), ("b", (0,)), ("b", (1,)), ("c", None), ("e", None)]},
        none.name: {"app": []},
    }
    assert client.allocatable() == [("a", (1,)), ("b", (0,)), ("b", (1,)), ("c", None)]


def test_init_containers_are_listed_where_they_go_on(
    kubelet: FakeKubelet, client: Client, scripted: Plugins
) -> None:
    """PR-008, 009, 017: in v1 alone."""
    scripted().join(kubelet, "a", "b", "c")
    init = (Container("setup", {GPU: 1}), Container("sidecar", {GPU: 1}, restartable=True))
    kubelet.admit(asking := pod(init=init))
    listed = client.list()[asking.name]
    assert {*listed} == {"sidecar", "app"}
    [shown] = client.alpha.List(alpha.ListPodResourcesRequest()).pod_resources
    assert [container.name for container in shown.containers] == ["app"]
    [entry] = shown.containers[0].devices
    assert [(name, None) for name in entry.device_ids] == listed["app"]


def test_v1alpha1_has_an_entry_for_each_device(
    kubelet: FakeKubelet, client: Client, scripted: Plugins
) -> None:
    """As a real kubelet answers it."""
    scripted().join(kubelet, "a", "b")
    kubelet.admit(pod({GPU: 2}))
    [shown] = client.alpha.List(alpha.ListPodResourcesRequest()).pod_resources
    entries = shown.containers[0].devices
    assert sorted(list(entry.device_ids) for entry in entries) == [["a"], ["b"]]


@pytest.mark.parametrize(("profile", "shown"), [("1.33", True), ("1.37", False)])
def test_finished_pods_are_hidden_since_1_34(
    kubelets: Kubelets, scripted: Plugins, profile: str, shown: bool
) -> None:
    """PR-010, 017, 031: v1alpha1 shows them in every release, without devices."""
    kubelet = kubelets(profile=profile)
    scripted().join(kubelet, "a")
    kubelet.admit(asking := pod())
    kubelet.finish(asking.uid)
    with Channel(kubelet.pod_resources) as channel:
        client = Client(channel)
        assert (asking.name in client.list()) is shown
        [old] = client.alpha.List(alpha.ListPodResourcesRequest()).pod_resources
        assert list(old.containers[0].devices) == []
        with pytest.raises(Refused) as refused:
            client.get(asking.name)
    assert refused.value.code == Code.UNKNOWN


def test_allocatable_is_what_is_healthy_in_use_or_not(
    kubelet: FakeKubelet, client: Client, scripted: Plugins
) -> None:
    """PR-011 to 013: List goes on to show what was assigned."""
    plugin = scripted().join(kubelet, "a", "b")
    kubelet.admit(asking := pod())
    plugin.send("a", device("b", "Unhealthy"))
    assert kubelet.wait(lambda: kubelet.node().allocatable == {GPU: 1})
    assert client.allocatable() == [("a", None)]
    plugin.end()
    assert kubelet.wait(lambda: kubelet.node().allocatable == {GPU: 0})
    assert client.allocatable() == []
    assert client.list()[asking.name] == {"app": [("a", None)]}


def test_get_is_one_element_of_list(
    kubelet: FakeKubelet, client: Client, scripted: Plugins
) -> None:
    """PR-014, 015: unknown names, namespaces and empty ones are errors."""
    scripted().join(kubelet, "a")
    kubelet.admit(asking := pod())
    [listed] = client.v1.List(v1.ListPodResourcesRequest()).pod_resources
    assert client.get(asking.name) == listed
    for name, namespace in ((asking.name, "other"), ("nobody", "default"), ("", "")):
        with pytest.raises(Refused, match="List names") as refused:
            client.get(name, namespace)
        assert refused.value.code == Code.UNKNOWN


def test_get_is_behind_a_gate_before_1_34(kubelets: Kubelets) -> None:
    """PR-016."""
    kubelet = kubelets(profile="1.30")
    with Channel(kubelet.pod_resources) as channel, pytest.raises(Refused, match="gate") as refused:
        Client(channel).get("x")
    assert refused.value.code == Code.UNKNOWN


def test_calls_are_counted_by_method_and_version(kubelet: FakeKubelet, client: Client) -> None:
    """PR-030: v1alpha1 in the total alone."""
    client.list()
    client.alpha.List(alpha.ListPodResourcesRequest())
    with pytest.raises(Refused):
        client.get("x")
    v1_calls, total = '{server_api_version="v1"}', "kubelet_pod_resources_endpoint_requests_total"
    assert kubelet.counts == {
        total + v1_calls: 2,
        f"kubelet_pod_resources_endpoint_requests_list{v1_calls}": 1,
        f"kubelet_pod_resources_endpoint_requests_get{v1_calls}": 1,
        f"kubelet_pod_resources_endpoint_errors_get{v1_calls}": 1,
        total + '{server_api_version="v1alpha1"}': 1,
    }


def test_all_methods_and_versions_share_one_limit(kubelet: FakeKubelet, client: Client) -> None:
    """PR-019, 033: refused calls reach no metric, and later ones pass again."""
    codes = []
    for number in range(200):
        try:
            if number % 2:
                client.list()
            else:
                client.alpha.List(alpha.ListPodResourcesRequest())
        except Refused as refused:
            codes.append(refused.code)
    assert {*codes} == {Code.RESOURCE_EXHAUSTED}
    passed = sum(n for key, n in kubelet.counts.items() if "requests_total" in key)
    assert passed == 200 - len(codes)
    until(lambda: _passes(client))


def test_the_limit_is_a_burst_and_a_rate() -> None:
    """Contract 1.3: 100 a second, 10 at once."""
    clock = VirtualClock()
    limiter = Limiter(clock=clock)

    def passed() -> int:
        count = 0
        try:
            while True:
                limiter.take()
                count += 1
        except Refused:
            return count

    assert passed() == 10
    clock.now += 0.0625
    assert passed() == 6
    clock.now += 3600
    assert passed() == 10


def test_other_managers_may_add_what_they_know(kubelet: FakeKubelet, client: Client) -> None:
    """PR-021 to 025: CPUs, memory, claims."""
    kubelet.admit(asking := pod({}))
    kubelet.others.containers[asking.uid, "app"] = v1.ContainerResources(cpu_ids=[2, 3])
    kubelet.others.pods[asking.uid] = v1.PodResources(cpu_ids=[2, 3, 4])
    kubelet.others.allocatable.cpu_ids.extend([1, 2, 3, 4])
    shown = client.get(asking.name)
    assert (shown.name, list(shown.cpu_ids)) == (asking.name, [2, 3, 4])
    assert list(shown.containers[0].cpu_ids) == [2, 3]
    reply = client.v1.GetAllocatableResources(v1.AllocatableResourcesRequest())
    assert list(reply.cpu_ids) == [1, 2, 3, 4]


def test_after_a_restart_the_list_is_the_same_before_the_plugin_is_back(
    kubelet: FakeKubelet, client: Client, scripted: Plugins
) -> None:
    """PR-026."""
    scripted().join(kubelet, "a", "b")
    kubelet.admit(asking := pod())
    kubelet.start_container(asking.uid, "app")
    before = client.list()
    kubelet.restart("A", gap_s=0)
    with Channel(kubelet.pod_resources) as channel:
        channel.wait_ready(30)
        assert Client(channel).list() == before


def _passes(client: Client) -> bool:
    try:
        client.list()
    except Refused:
        return False
    return True
