"""One story told to a real kubelet and to ours: plugins hear the same calls in the same order, and
pod resources tell the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from google.protobuf.json_format import MessageToDict

from conformance.engine.targets.revision import Revision
from conformance.kubelet.client import Client
from conformance.kubelet.node import NodeUnderTest
from conformance.kubelet.ours import OurKubelet
from conformance.kubelet.real import RealKubelet
from refimpl.deviceplugin.api import deviceplugin_pb2 as dp
from refimpl.deviceplugin.api import podresources_v1_pb2 as pr
from refimpl.deviceplugin.api import podresources_v1alpha1_pb2 as pa
from refimpl.deviceplugin.scripted import ScriptedPlugin
from refimpl.node.pods import ContainerSpec, PodSpec
from refimpl.wire.journal import Journal
from tests.live.peers import kubelet_command
from tests.live.rigs.namespaces import why_not

NEWEST = Revision("kubernetes", "1.37")

pytestmark = pytest.mark.timeout(300)

GPU, NIC = "example.com/gpu", "example.com/nic"
Record = list[tuple[str, str, Any]]


class Story:
    """Two plugins, one of each way to register; pods; health; deaths; a restart.

    After each chapter `record` gets what each plugin was asked in it, and what pod resources say.
    In every allocation all devices that are left are taken, as which of them comes first is chance.
    """

    def __init__(self, client: Client) -> None:
        client.start()
        self.client = client
        self.node = NodeUnderTest(client, Journal(), NEWEST, name="story", quiet_s=0.2)
        self.record: Record = []
        self._journals: dict[str, Journal] = {}

    def tell(self) -> Record:
        """All chapters."""
        gpu, nic = self._gpu(), self._nic()
        self._chapter("both are registered")
        pod = self._pod()
        self._chapter("a pod has devices of both")
        self._sick(gpu, pod)
        self._chapter("one of them is unhealthy")
        self._sound(gpu, pod)
        self._chapter("healthy again, and the container was started again")
        self.node.pods.refused(self.node.pods.run({GPU: 1}))
        self._chapter("another pod found none")
        gpu.stop()
        self._offered(GPU)
        self._chapter("a plugin is gone")
        gpu = self._gpu()
        self._chapter("it registered again, at another socket")
        nic.stop()
        self._offered(NIC)
        self._nic()
        self._chapter("the found one was found again")
        self._crash(gpu, pod)
        self._chapter("kubelet came back with its checkpoint")
        self._gpu()
        self._chapter("and has the plugin again")
        self.node.pods.delete(pod)
        self._unlisted(pod)
        self.node.pods.running(limits={GPU: 2})
        self._chapter("the next pod has the devices")
        return self.record

    # Chapters

    def _gpu(self) -> ScriptedPlugin:
        made = self.node.plugin(GPU)
        made.options.pre_start_required = True
        made.options.get_preferred_allocation_available = True
        made.preferred = _in_order
        return self._join("gpu", made)

    def _nic(self) -> ScriptedPlugin:
        return self._join("nic", self.node.plugin(NIC, watched=True))

    def _join(self, name: str, plugin: ScriptedPlugin) -> ScriptedPlugin:
        self._journals.setdefault(name, Journal())
        plugin.journal = self._journals[name]
        return self.node.join(plugin, _device("a"), _device("b"))

    def _pod(self) -> PodSpec:
        first, second = ContainerSpec("first", {GPU: 2, NIC: 2}), ContainerSpec("second")
        return self.node.pods.running(self.node.pods.run(app=(first, second)))

    def _sick(self, gpu: ScriptedPlugin, pod: PodSpec) -> None:
        gpu.send(_device("a", "Unhealthy"), _device("b"))
        self._offered(GPU, "b")
        self._health(pod, {"a": "Unhealthy", "b": "Healthy"})

    def _sound(self, gpu: ScriptedPlugin, pod: PodSpec) -> None:
        gpu.send(_device("a"), _device("b"))
        self._offered(GPU, "a", "b")
        self._health(pod, {"a": "Healthy", "b": "Healthy"})
        self.client.exit(pod.uid, "first", 1)
        self.node.until(
            lambda: self.node.pods.state(pod).containers["first"].restarts == 1, "it starts again"
        )

    def _crash(self, gpu: ScriptedPlugin, pod: PodSpec) -> None:
        self.node.restart()
        self.node.until(lambda: not gpu.path.exists(), "the socket of the plugin is removed")
        self._offered(NIC, "a", "b")
        self.node.until(
            lambda: self.node.podresources.assigned(pod, GPU, "first"), "the pod is known again"
        )

    def _offered(self, resource: str, *ids: str) -> None:
        self.node.until(
            lambda: self.node.podresources.allocatable(resource) == {*ids},
            f"{resource} offers {ids}",
        )

    def _health(self, pod: PodSpec, wanted: dict[str, str]) -> None:
        self.node.until(
            lambda: self.node.pods.state(pod).containers["first"].health.get(GPU) == wanted,
            f"the status of the pod says {wanted}",
        )

    def _unlisted(self, pod: PodSpec) -> None:
        self.node.until(
            lambda: all(each.name != pod.name for each in self.node.podresources.listed()),
            "the pod is no longer listed",
        )

    # The record

    def _chapter(self, title: str) -> None:
        for name, journal in self._journals.items():
            served = [entry for entry in journal.entries if entry.side == "server"]
            asked = [(entry.rpc, _plain(entry.requests[0])) for entry in served]
            self.record.append((title, name, asked))
            journal.clear()
        self.record += [(title, name, said) for name, said in self._resources().items()]

    def _resources(self) -> dict[str, Any]:
        asking = self.node.podresources
        v1, alpha, call = asking.v1(), asking.v1alpha1(), asking.patiently
        listed = call(lambda: v1.List(pr.ListPodResourcesRequest()))
        older = call(lambda: alpha.List(pa.ListPodResourcesRequest()))
        can = call(lambda: v1.GetAllocatableResources(pr.AllocatableResourcesRequest()))
        del can.cpu_ids[:], can.memory[:]  # those of the machine
        return {"List": _plain(listed), "v1alpha1": _plain(older), "allocatable": _plain(can)}


def _device(id: str, health: str = "Healthy") -> dp.Device:
    made = dp.Device(ID=id, health=health)
    made.topology.nodes.add(ID=0)
    return made


def _in_order(request: dp.PreferredAllocationRequest) -> dp.PreferredAllocationResponse:
    reply = dp.PreferredAllocationResponse()
    for wanted in request.container_requests:
        chosen = sorted(wanted.available_deviceIDs)[: wanted.allocation_size]
        reply.container_responses.add(deviceIDs=chosen)
    return reply


def _plain(message: Any) -> Any:
    """As JSON, with lists in order: neither side promises one."""
    return _sorted(MessageToDict(message, preserving_proto_field_name=True))


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(each) for key, each in sorted(value.items())}
    if isinstance(value, list):
        return sorted(map(_sorted, value), key=str)
    return value


def _told(client: Client) -> Record:
    try:
        return Story(client).tell()
    finally:
        client.close()


def test_a_real_kubelet_and_ours_say_the_same(kubernetes: Path) -> None:
    """Calls to the plugins in their order, and the answers of pod resources, chapter by chapter."""
    if reason := why_not():
        pytest.skip(reason)
    real = _told(RealKubelet(kubelet_command(kubernetes)))
    ours = _told(OurKubelet("1.37"))
    assert [(title, name) for title, name, _ in ours] == [(t, n) for t, n, _ in real]
    for theirs, mine in zip(real, ours, strict=True):
        assert mine == theirs
