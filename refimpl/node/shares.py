"""What the CPU manager, the memory manager and DRA drivers would add to pod resources: a count of
CPUs and of memory, and the devices of claims as they were allocated."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from refimpl.deviceplugin.api import podresources_v1_pb2 as pr
from refimpl.deviceplugin.devicemanager.podresources import Others
from refimpl.node.choices import CPUS_PER_NODE, KubeletChoices
from refimpl.node.pods import Claim, ContainerSpec, PodSpec

__all__ = ["Shares"]

_RESERVED = {0}
_NODE_MI = 4096
_MI = 1024 * 1024
_CLAIMS_GATE, _POD_GATE = "KubeletPodResourcesDynamicResources", "PodLevelResourceManagers"


class Shares:
    """Fills in `others` for a kubelet with these choices and gates. Nobody is ever refused: who
    comes too late gets what is left."""

    def __init__(self, choices: KubeletChoices, gates: Collection[str], others: Others) -> None:
        self._choices, self._gates, self._others = choices, gates, others
        self._held: dict[str, set[int]] = {}
        self._cpus = [n for n in range(len(choices.nodes) * CPUS_PER_NODE) if n not in _RESERVED]
        allocatable = others.allocatable
        if choices.cpu_policy == "static":
            allocatable.cpu_ids.extend(self._cpus)
        if choices.memory_policy == "Static":
            allocatable.memory.extend(_memory(_NODE_MI, node) for node in choices.nodes)

    def give(self, pod: PodSpec) -> None:
        """The pod is admitted: CPUs of its own for containers of whole CPUs, and what it claims."""
        containers = (*pod.init, *pod.app)
        guaranteed = all(each.amounts.cpus and each.amounts.memory_mi for each in containers)
        own = self._own(pod)
        if own:
            self._others.pods[pod.uid] = pr.PodResources(cpu_ids=own)
        for each in containers:
            entry = pr.ContainerResources()
            if guaranteed or (own and each.amounts.cpus):
                entry.MergeFrom(self._pinned(pod.uid, each, own))
            if _CLAIMS_GATE in self._gates:
                entry.dynamic_resources.extend(_claim(pod, claim) for claim in each.claims)
            self._others.containers[pod.uid, each.name] = entry

    def take_back(self, uid: str) -> None:
        """The pod is gone."""
        self._held.pop(uid, None)
        self._others.pods.pop(uid, None)
        for key in [key for key in self._others.containers if key[0] == uid]:
            del self._others.containers[key]

    def _own(self, pod: PodSpec) -> list[int]:
        """What the pod as such gets, which its containers share or take theirs from."""
        whole = pod.pod_level and pod.amounts.memory_mi and self._choices.scope == "pod"
        static = self._choices.cpu_policy == "static" and _POD_GATE in self._gates
        return self._take(pod.uid, pod.amounts.cpus) if whole and static else []

    def _pinned(self, uid: str, container: ContainerSpec, own: list[int]) -> pr.ContainerResources:
        entry, amounts = pr.ContainerResources(), container.amounts
        if self._choices.cpu_policy == "static":
            entry.cpu_ids.extend(own[: amounts.cpus] if own else self._take(uid, amounts.cpus))
        if self._choices.memory_policy == "Static":
            entry.memory.append(_memory(amounts.memory_mi, next(iter(self._choices.nodes))))
        return entry

    def _take(self, uid: str, count: int) -> list[int]:
        free = _without(self._cpus, self._held.values())[:count]
        self._held.setdefault(uid, set()).update(free)
        return free


def _without(cpus: Iterable[int], held: Iterable[Collection[int]]) -> list[int]:
    taken = {cpu for each in held for cpu in each}
    return [cpu for cpu in cpus if cpu not in taken]


def _memory(size_mi: int, node: int) -> pr.ContainerMemory:
    block = pr.ContainerMemory(memory_type="memory", size=size_mi * _MI)
    block.topology.nodes.add(ID=node)
    return block


def _claim(pod: PodSpec, claim: Claim) -> pr.DynamicResource:
    resource = pr.DynamicResource(claim_name=claim.name, claim_namespace=pod.namespace)
    device = resource.claim_resources.add(
        driver_name=claim.driver, pool_name=claim.pool, device_name=claim.device
    )
    for name in claim.cdi:
        device.cdi_devices.add(name=name)
    if claim.share:
        device.share_id = claim.share
    return resource
