"""A real kubelet behind the port of the suites, with an API server and a runtime of ours."""

from __future__ import annotations

import os
import re
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar, cast

import grpc
import pytest

from conformance.engine.options import BadOption
from conformance.kubelet.client import ABILITIES
from conformance.kubelet.listener import can_break
from conformance.kubelet.real import RealKubelet
from refimpl.csi.fake import FakeDriver
from refimpl.deviceplugin.api import podresources_v1_pb2 as pb
from refimpl.deviceplugin.api.podresources_v1_pb2_grpc import PodResourcesListerStub
from refimpl.deviceplugin.fake import FakePlugin
from refimpl.deviceplugin.plugin.inventory import HEALTHY, UNHEALTHY, Device
from refimpl.deviceplugin.scripted import ScriptedPlugin
from refimpl.node.choices import KubeletChoices
from refimpl.node.pods import Amounts, ContainerSpec, PodSpec, PodStatus
from refimpl.wire.client import Channel
from refimpl.wire.endpoint import Endpoint
from tests.live.peers import kubelet_command
from tests.live.rigs.namespaces import until, why_not

pytestmark = pytest.mark.timeout(900)

T = TypeVar("T")
TWO = {0: (10, 21), 1: (21, 10)}


@contextmanager
def kubelet(folder: Path) -> Iterator[RealKubelet]:
    """One that is not started."""
    client = RealKubelet(kubelet_command(folder))
    try:
        yield client
    finally:
        client.close()


@pytest.fixture(scope="module")
def shared(kubernetes: Path) -> Iterator[RealKubelet]:
    """One for all tests."""
    if reason := why_not():
        pytest.skip(reason)
    with kubelet(kubernetes) as client:
        yield client


class Case:
    """What a test has on the kubelet."""

    def __init__(self, client: RealKubelet, name: str) -> None:
        self.client, self._name = client, name
        self.resource = f"refimpl.example/{name}"
        self._chosen = False
        self._pods: list[str] = []
        self._plugins: list[FakePlugin] = []

    def choose(self, choices: KubeletChoices) -> None:
        """Has it run otherwise than for other tests."""
        self._chosen = True
        self.client.end()
        self.client.start(choices)

    def gpus(self, count: int, name: str = "main", **choices: Any) -> ContainerSpec:
        """A container with devices."""
        return ContainerSpec(name, {self.resource: count}, **choices)

    def plugin(self, devices: int | list[Device] = 4, **choices: Any) -> FakePlugin:
        """One that runs, and whose devices have been counted."""
        made = FakePlugin(self.resource, devices, folder=self.client.folder, **choices)
        self._plugins.append(made)
        made.start()
        count = len(made.devices)
        until(lambda: self.counts() == (count, count), "the devices are counted")
        return made

    def run(self, *containers: ContainerSpec, phase: str = "Running") -> str:
        """A pod of these containers that has come to the phase; its uid."""
        uid = f"{self._name}-{len(self._pods)}"
        self._pods.append(uid)
        self.client.run(PodSpec(uid, uid, containers))
        until(lambda: self.state(uid).phase == phase, f"{uid} is {phase}")
        return uid

    def state(self, uid: str) -> PodStatus:
        """Of a pod that is there."""
        found = self.client.state(uid)
        assert found is not None
        return found

    def counts(self) -> tuple[int | None, int | None]:
        """Of the resource: capacity and allocatable."""
        told = self.client.node()
        return told.capacity.get(self.resource), told.allocatable.get(self.resource)

    def health(self, uid: str, container: str = "main") -> dict[str, str]:
        """Device and health in the status of a pod."""
        found = self.state(uid).containers.get(container)
        return dict(found.health.get(self.resource, {})) if found else {}

    def resources(self, ask: Callable[[PodResourcesListerStub], T]) -> T:
        """An answer of pod resources."""
        socket = Endpoint.parse(self.client.folder / "pod-resources" / "kubelet.sock")
        channel = Channel(socket)
        try:
            return ask(PodResourcesListerStub(cast("grpc.Channel", channel)))
        finally:
            channel.close()

    def close(self) -> None:
        """Takes all of it away."""
        for plugin in self._plugins:
            plugin.stop()
        for uid in self._pods:
            self.client.forget(uid)
        if self._chosen:
            self.client.end()


@pytest.fixture
def case(shared: RealKubelet, request: pytest.FixtureRequest) -> Iterator[Case]:
    """On the shared kubelet, as it is by default."""
    if not shared.running():
        shared.start(KubeletChoices())
    made = Case(shared, re.sub("[^a-z0-9]+", "-", request.node.name)[:50].strip("-"))
    yield made
    made.close()


def test_it_is_known_by_its_version_and_lacks_clock_and_questions(shared: RealKubelet) -> None:
    """All else it can."""
    assert (shared.name, shared.version, shared.profile) == ("kubelet", "1.37.2", "1.37")
    lacks = {"clock", "topology"} | (set() if can_break() else {"listener"})
    assert ABILITIES - shared.able == lacks


def test_a_pod_has_its_device_and_the_node_counts_by_health(case: Case) -> None:
    """Status, CRI configuration and node agree; resources of kubelet's own are left out."""
    plugin = case.plugin()
    uid = case.run(case.gpus(1))
    ((device, health),) = case.health(uid).items()
    assert health == HEALTHY
    (config,) = case.client.configs(uid, "main")
    assert {"container_path": f"/dev/{device}", "host_path": "/dev/null", "permissions": "rw"} in (
        config["devices"]
    )
    plugin.set_health(device, UNHEALTHY)
    until(lambda: case.health(uid) == {device: UNHEALTHY}, "the pod tells it")
    until(lambda: case.counts() == (4, 3), "the node tells it")
    told = case.client.node()
    assert [name for name in told.capacity if "/" not in name] == []


def test_deleting_a_pod_frees_its_devices(case: Case) -> None:
    """The next one gets all of them."""
    case.plugin()
    first = case.run(case.gpus(4))
    case.client.delete(first)
    assert case.client.state(first) is None
    assert len(case.health(case.run(case.gpus(4)))) == 4


def test_a_container_that_exits_is_started_again(case: Case) -> None:
    """With the same devices."""
    case.plugin()
    uid = case.run(case.gpus(2))
    held = case.health(uid)
    case.client.exit(uid, "main", 3)
    until(lambda: case.state(uid).containers["main"].restarts == 1, "it was started again")
    assert case.health(uid) == held
    assert len(case.client.configs(uid, "main")) == 2


@pytest.mark.parametrize("kill", [False, True])
def test_a_pod_keeps_its_device_over_a_restart(case: Case, kill: bool) -> None:
    """Its container runs on, and the device is not given away."""
    plugin = case.plugin()
    uid = case.run(case.gpus(3))
    held = case.health(uid)
    case.client.end(kill=kill)
    assert not case.client.running()
    assert case.client.fate() == ""
    case.client.start()
    assert plugin.wait_registered(2)
    until(lambda: case.counts() == (4, 4), "the devices are back")
    (other,) = case.health(case.run(case.gpus(1)))
    assert other not in held
    assert case.health(uid) == held
    assert len(case.client.configs(uid, "main")) == 1


def test_a_reboot_leaves_no_container_and_another_boot_id(case: Case) -> None:
    """The pod is run once more."""
    uid = case.run(ContainerSpec())
    before = _boot_id(case.client)
    case.client.end(kill=True)
    case.client.reboot()
    case.client.start()
    until(lambda: _boot_id(case.client) != before, "the node has booted")
    until(lambda: len(case.client.configs(uid, "main")) == 2, "the container was made again")


def _boot_id(client: RealKubelet) -> str:
    node = client.api.get("v1/nodes", "refimpl-node")
    assert node is not None
    told: str = node["status"]["nodeInfo"]["bootID"]
    return told


def test_a_pod_that_was_forgotten_meanwhile_gives_its_devices_back(case: Case) -> None:
    """It is an orphan after the restart."""
    case.plugin()
    uid = case.run(case.gpus(4))
    case.client.end()
    case.client.forget(uid)
    case.client.start()
    until(lambda: case.counts() == (4, 4), "the devices are back")
    assert len(case.health(case.run(case.gpus(4)))) == 4


def test_numa_nodes_are_as_they_were_chosen(case: Case) -> None:
    """Exclusive CPUs and memory of both nodes can be had, and a policy tells them apart."""
    case.choose(
        KubeletChoices("single-numa-node", nodes=TWO, cpu_policy="static", memory_policy="Static")
    )
    case.plugin([Device("a", nodes=(0,)), Device("b", nodes=(1,))])
    told = case.resources(lambda s: s.GetAllocatableResources(pb.AllocatableResourcesRequest()))
    assert sorted(told.cpu_ids) == [1, 2, 3, 4, 5, 6, 7]  # 0 is reserved
    assert sorted(m.topology.nodes[0].ID for m in told.memory) == [0, 1]
    rejected = case.run(case.gpus(2), phase="Failed")
    assert case.state(rejected).reason == "TopologyAffinityError"
    uid = case.run(case.gpus(1, amounts=Amounts(4, 128)))  # only one node has as many
    assert case.health(uid) == {"b": HEALTHY}
    listed = case.resources(lambda s: s.List(pb.ListPodResourcesRequest()))
    (cpus,) = (sorted(p.containers[0].cpu_ids) for p in listed.pod_resources if p.name == uid)
    assert cpus == [4, 5, 6, 7]


def test_a_resource_that_a_claim_backs_is_left_to_the_claim(case: Case) -> None:
    """The plugin is asked for the other container only."""
    plugin = case.plugin()
    claimed = case.gpus(1, "claimed", claimed=frozenset({case.resource}))
    uid = case.run(claimed, case.gpus(2, "plain"))
    until(lambda: len(case.health(uid, "plain")) == 2, "the plain one has its devices")
    assert case.health(uid, "claimed") == {}
    assert len(plugin.journal.calls("Allocate")) == 1


@pytest.mark.parametrize(
    ("choices", "says"),
    [
        (KubeletChoices("loose"), "loose.* must be one of"),
        (KubeletChoices(gates={"NoSuchGate": True}), "unrecognized feature gate: NoSuchGate"),
        (
            KubeletChoices("restricted", nodes=dict.fromkeys(range(9), (10,) * 9)),
            "more than 8 NUMA Nodes",
        ),
    ],
    ids=["policy", "gate", "nodes"],
)
def test_refused_choices_are_told_and_forgotten(
    case: Case, choices: KubeletChoices, says: str
) -> None:
    """In kubelet's words; a start after that is one as before."""
    case.client.end()
    with pytest.raises(BadOption, match=says):
        case.client.start(choices)
    assert not case.client.running()
    assert case.client.fate() == ""
    case.client.start()
    assert case.client.running()


def test_its_metrics_can_be_read(case: Case) -> None:
    """Under kubelet's names."""
    case.plugin()
    name = f'kubelet_device_plugin_registration_total{{resource_name="{case.resource}"}}'
    assert case.client.metrics()[name] == 1


@pytest.mark.parametrize(
    ("number", "fate"),
    [(signal.SIGABRT, "exit status 2: SIGABRT: abort"), (signal.SIGKILL, "ended by SIGKILL")],
)
def test_it_tells_what_became_of_it(case: Case, number: signal.Signals, fate: str) -> None:
    """Until it is started again."""
    assert case.client.fate() == ""
    os.kill(case.client.process.pid, number)
    until(lambda: not case.client.running(), "it has ended")
    assert case.client.fate() == fate
    case.client.start()
    assert case.client.fate() == ""


def test_a_crash_of_its_own_is_told_with_the_place(case: Case) -> None:
    """1.37.2 does not survive that a device goes while it is being allocated."""
    folder = case.client.folder / "device-plugins"
    plugin = ScriptedPlugin(folder / "vanishing.sock", case.resource).serve()

    def vanishes() -> None:
        plugin.send()
        until(lambda: case.counts() == (0, 0), "the empty list has arrived")

    plugin.before_answer = vanishes
    plugin.send("a")
    plugin.register(folder)
    until(lambda: case.counts() == (1, 1), "the device is counted")
    case.client.run(PodSpec("vanishing", "vanishing", (case.gpus(1),)))
    until(lambda: not case.client.running(), "it has crashed")
    plugin.stop()
    case.client.forget("vanishing")
    assert case.client.fate().startswith("exit status 2: panic: ")
    assert "devicemanager" in case.client.fate()


def test_two_run_side_by_side_and_leave_nothing(kubernetes: Path) -> None:
    """Each has its folder; at the end neither folder nor process is there."""
    if reason := why_not():
        pytest.skip(reason)
    resource = "refimpl.example/gpu"
    with kubelet(kubernetes) as one, kubelet(kubernetes) as other:
        starts = [threading.Thread(target=each.start) for each in (one, other)]
        for start in starts:
            start.start()
        for start in starts:
            start.join()
        plugins = [FakePlugin(resource, n, folder=k.folder) for n, k in ((1, one), (2, other))]
        for plugin in plugins:
            plugin.start()
        until(lambda: one.node().capacity == {resource: 1}, "one has its plugin")
        until(lambda: other.node().capacity == {resource: 2}, "the other has its plugin")
        for plugin in plugins:
            plugin.stop()
    for each in (one, other):
        assert not each.running()
        assert not each.folder.parent.exists()


def test_our_csi_driver_registers_without_a_sidecar(case: Case) -> None:
    """The node's CSINode names it with its node, its limit and its topology, until it ends."""
    folder = case.client.folder

    def drivers() -> list[dict[str, Any]]:
        found = case.client.api.get("storage.k8s.io/v1/csinodes", "refimpl-node") or {}
        return list((found.get("spec") or {}).get("drivers") or ())

    with FakeDriver(
        folder / "plugins" / "csi.sock", profile="topology", register=folder / "plugins_registry"
    ) as driver:
        assert driver.registration.wait_notified(timeout_s=60)
        assert driver.registration.registered
        until(lambda: len(drivers()) == 1, "the driver is in CSINode")
        (told,) = drivers()
    assert (told["name"], told["nodeID"]) == ("csi.refimpl.example", "node-0")
    assert told["allocatable"]["count"] > 0
    assert told["topologyKeys"]
    until(lambda: not drivers(), "it is gone from CSINode")


@pytest.mark.skipif(not can_break(), reason="strace is not installed")
def test_the_socket_where_plugins_register_can_be_broken(case: Case) -> None:
    """Kubelet says so in its health check and is mended by a restart only (seen in 1.37.2)."""
    assert case.client.healthy()
    case.client.deafen()
    until(lambda: not case.client.healthy(), "it is unhealthy")
    assert not (case.client.folder / "device-plugins" / "kubelet.sock").exists()
    case.choose(KubeletChoices())
    assert case.client.healthy()
