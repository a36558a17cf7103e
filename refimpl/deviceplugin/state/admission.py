"""From a pod to its admission, and from a container to its start (2.6, 2.8, 2.11)."""

from __future__ import annotations

from collections.abc import Mapping

from refimpl.deviceplugin.state.allocate import Allocator, NotAllocated
from refimpl.deviceplugin.state.effects import Flow, PreStartContainer
from refimpl.deviceplugin.state.hints import Hints, resource_hints
from refimpl.deviceplugin.state.models import Admission, Container, ContainerResponse, Pod
from refimpl.deviceplugin.state.scopes import container_request, pod_request
from refimpl.deviceplugin.state.tables import Tables
from refimpl.wire.status import Refused

UNEXPECTED = "UnexpectedAdmissionError"
TOPOLOGY = "TopologyAffinityError"
OUT_OF = "OutOf"
"""Reasons of a refusal; the last is followed by the name of the resource."""
CONFIG_ERROR = "CreateContainerConfigError"
"""Why a container waits whose `start` raised NotStarted; kubelet tries again later."""


class NotStarted(Exception):
    """A container of an admitted pod cannot be started now; the text says why."""


class _Misplaced(Exception):
    """The topology policy refuses the pod."""


class Admissions:
    """What happens to pods on one kubelet. Flows run one after another, as kubelet admits."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._allocator = Allocator(tables)

    def admit(self, pod: Pod) -> Flow[Admission]:
        """Judge a pod and give its containers their devices. A refusal is final; devices that some
        of its containers got are freed when next devices are collected."""
        self._tables.admitting = pod.uid
        try:
            yield from self._allocate(pod)
        except _Misplaced as misplaced:
            return _refusal(TOPOLOGY, str(misplaced))
        except NotAllocated as failure:
            text = f"Allocate failed due to {failure}, which is unexpected"
            return _refusal(UNEXPECTED, text)
        finally:
            self._tables.admitting = ""
        if misfit := self._misfit(pod):
            return misfit
        self._tables.pods[pod.uid] = pod
        return Admission(True)

    def remove(self, uid: str) -> None:
        """The pod is active no more. Its devices are freed when next they are collected."""
        self._tables.pods.pop(uid, None)
        self._tables.scope.forget(uid)

    def start(self, pod: Pod, container: Container) -> Flow[tuple[ContainerResponse, ...]]:
        """Before each start of a container: PreStartContainer where plugins want it, and Allocate
        if nothing is recorded yet. What the plugins want in the container, by resource in the order
        of its records. NotStarted if it has to wait."""
        tables = self._tables
        missing = False
        for resource in tables.order(container.limits):
            if not tables.ours(resource, container) or not container.limits[resource]:
                continue
            # In this order, kubelet never starts a container whose devices are still to be
            # allocated if the plugin wants PreStartContainer as well.
            yield from self._pre_start(pod, container, resource)
            recorded = tables.records.get(pod.uid, container.name, resource)
            missing = missing or (pod.uid in tables.pods and recorded is None)
        if missing:
            yield from self._allocate_late(pod, container)
        records = tables.records.of_container(pod.uid, container.name)
        return tuple(record.response for record in records)

    # -- admission ----------------------------------------------------------------------------

    def _allocate(self, pod: Pod) -> Flow[None]:
        scope = self._tables.scope
        whole = scope.name == "pod" and not scope.off
        if whole:
            self._place(pod, None)
        if whole and pod.pod_level and "PodLevelResourceManagers" in self._tables.settings.gates:
            return
        for container in pod.containers:
            if not whole and not scope.off:
                self._place(pod, container)
            yield from self._allocator.allocate(pod, container)

    def _place(self, pod: Pod, container: Container | None) -> None:
        self._tables.collect()
        hints = self._pod_hints(pod) if container is None else self._hints(pod, container)
        merged = self._tables.scope.decide(hints, pod, container)
        if not merged.admitted:
            policy = self._tables.scope.policy.name
            whom = "the pod" if container is None else f"container {container.name}"
            raise _Misplaced(
                f"policy {policy} finds no placement for {whom}; the best is {merged.hint}"
            )

    def _hints(self, pod: Pod, container: Container) -> Mapping[str, Hints]:
        tables = self._tables
        pool = tables.reusable if tables.reusable_of == pod.uid else {}
        hints: dict[str, Hints] = {}
        for name, request in container_request(container, tables.names()).items():
            record = tables.records.get(pod.uid, container.name, name)
            held = record.ids if record else frozenset()
            hints[name] = self._resource_hints(name, request, held, pool.get(name, set()))
        return hints

    def _pod_hints(self, pod: Pod) -> Mapping[str, Hints]:
        requests = pod_request(pod, self._tables.names())
        records = self._tables.records
        return {
            name: self._resource_hints(name, request, records.pod_ids(pod.uid, name))
            for name, request in requests.items()
        }

    def _resource_hints(
        self, name: str, request: int, held: frozenset[str], reusable: set[str] | None = None
    ) -> Hints:
        tables = self._tables
        return resource_hints(
            tables.devices,
            tables.settings,
            tables.scope.policy.nodes,
            name,
            request,
            free=tables.free(name),
            reusable=reusable or (),
            allocated=held,
        )

    # -- the node's own check -----------------------------------------------------------------

    def _misfit(self, pod: Pod) -> Admission | None:
        """The scheduler's rule, asked again on the node: the counts of all pods fit.

        A resource that the node does not have is left out. What pods hold counts as offered, so
        that they outlive an outage of the plugin.
        """
        tables = self._tables
        offered = {name: len(ids) for name, ids in tables.devices.healthy.items()}
        if tables.records.of_pod(pod.uid):
            for name, ids in tables.in_use.items():
                offered[name] = max(offered.get(name, 0), len(ids))
        others = [other for uid, other in tables.pods.items() if uid != pod.uid]
        for name, wanted in sorted(self._fitted(pod, offered).items()):
            used = sum(self._fitted(other, offered).get(name, 0) for other in others)
            if wanted and used + wanted > offered[name]:
                text = f"{wanted} of {name} requested, {used} of {offered[name]} in use"
                return _refusal(OUT_OF + name, text)
        return None

    def _fitted(self, pod: Pod, offered: Mapping[str, int]) -> dict[str, int]:
        gated = "DRAExtendedResource" in self._tables.settings.gates
        claimed = {name for c in pod.containers for name in c.claimed} if gated else set()
        return pod_request(pod, offered.keys() - claimed)

    # -- start --------------------------------------------------------------------------------

    def _pre_start(self, pod: Pod, container: Container, resource: str) -> Flow[None]:
        tables = self._tables
        connection = tables.endpoints.primary.get(resource)
        if connection is None:
            raise NotStarted(f"{resource} has no plugin")
        waits = tables.settings.trusts_checkpoint and connection.stopped is not None
        if waits:
            raise NotStarted(f"the plugin of {resource} has not reported since kubelet started")
        if not connection.options.pre_start:
            return
        record = tables.records.get(pod.uid, container.name, resource)
        if record is None:
            raise NotStarted(f"no device of {resource} is recorded for {container.name}")
        if connection.stopped is not None:
            raise NotStarted(f"the plugin of {resource} has stopped")
        try:
            yield PreStartContainer(connection, tuple(tables.order(record.ids)))
        except Refused as refused:
            raise NotStarted(f"{resource}: PreStartContainer failed: {refused}") from refused

    def _allocate_late(self, pod: Pod, container: Container) -> Flow[None]:
        try:
            yield from self._allocator.allocate(pod, container)
        except NotAllocated as failure:
            raise NotStarted(str(failure)) from failure


def _refusal(reason: str, text: str) -> Admission:
    return Admission(False, reason, f"Pod was rejected: {text}")
