"""Pods on the fake node: what the API server and the runtime know, which outlives kubelet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

from attrs import define, field

from refimpl.deviceplugin.state.models import Config, Container, Pod

__all__ = ["Phase", "PodRun", "Workload", "base_config"]

Phase = Literal["Pending", "Running", "Succeeded", "Failed"]


@define(eq=False)
class PodRun:
    """A pod that was bound to the node. `running`: its containers that run; `waiting`: those that
    could not be started, and why; `attempts`: how often a container was started."""

    pod: Pod
    phase: Phase = "Pending"
    reason: str = ""
    message: str = ""
    running: set[str] = field(factory=set)
    waiting: dict[str, str] = field(factory=dict)
    attempts: dict[str, int] = field(factory=dict)

    @property
    def active(self) -> bool:
        """Not finished: only then it holds devices."""
        return self.phase in ("Pending", "Running")

    def container(self, name: str) -> Container:
        """One of its containers; LookupError where there is none of that name."""
        for container in self.pod.containers:
            if container.name == name:
                return container
        known = ", ".join(container.name for container in self.pod.containers)
        raise LookupError(f"pod {self.pod.uid} has no container {name!r}; it has {known}")

    def started(self, name: str) -> None:
        """A container runs; the pod does with the first one of its own."""
        if any(each.name == name for each in self.pod.app):
            self.phase = "Running"
        self.attempts[name] = self.attempts.get(name, 0) + 1
        self.waiting.pop(name, None)
        self.running.add(name)

    def end(self, phase: Phase, reason: str = "", message: str = "") -> None:
        """It is finished."""
        self.phase, self.reason, self.message = phase, reason, message
        self.running.clear()
        self.waiting.clear()

    def status(self, health: Mapping[str, Mapping[str, Mapping[str, str]]]) -> dict[str, Any]:
        """As the pod's status in the API. `health`: container -> resource -> id -> health."""
        words = {"phase": self.phase, "reason": self.reason, "message": self.message}
        containers = [self._container_status(each, health) for each in self.pod.app]
        return {key: word for key, word in words.items() if word} | {
            "containerStatuses": containers
        }

    def _container_status(
        self, container: Container, health: Mapping[str, Mapping[str, Mapping[str, str]]]
    ) -> dict[str, Any]:
        resources = [
            {
                "name": resource,
                "resources": [{"resourceID": id, "health": word} for id, word in ids.items()],
            }
            for resource, ids in health.get(container.name, {}).items()
        ]
        status: dict[str, Any] = {"name": container.name, "state": self._state(container.name)}
        return status | ({"allocatedResourcesStatus": resources} if resources else {})

    def _state(self, name: str) -> dict[str, Any]:
        if name in self.running:
            return {"running": {}}
        if not self.active:
            return {"terminated": {}}
        reason, _, message = self.waiting.get(name, "ContainerCreating").partition(": ")
        return {"waiting": {"reason": reason} | ({"message": message} if message else {})}


class Workload:
    """Pods by uid, in the order in which they came."""

    def __init__(self) -> None:
        self._pods: dict[str, PodRun] = {}

    def __iter__(self) -> Iterator[PodRun]:
        return iter(tuple(self._pods.values()))

    def __getitem__(self, uid: str) -> PodRun:
        if uid not in self._pods:
            raise LookupError(f"there is no pod {uid!r} on this node; admit it first")
        return self._pods[uid]

    def put(self, pod: Pod) -> PodRun:
        """Bind a pod, or another version of it: what runs of it goes on."""
        run = self._pods.setdefault(pod.uid, PodRun(pod))
        run.pod = pod
        return run

    def remove(self, uid: str) -> None:
        """The pod is deleted; LookupError where there is none."""
        del self._pods[self[uid].pod.uid]

    def pods(self, *, active: bool) -> Iterable[Pod]:
        """All pods, or those that are not finished."""
        return [run.pod for run in self if run.active or not active]

    def running(self) -> frozenset[tuple[str, str]]:
        """(pod uid, container) that the runtime reports."""
        return frozenset((run.pod.uid, name) for run in self for name in (*run.running,))


def base_config(run: PodRun, name: str, given: Mapping[str, Any] | None) -> Config:
    """A ContainerConfig before plugins: its name, and annotations that are kubelet's own."""
    attempt = run.attempts.get(name, 0)
    config: Config = {"metadata": {"name": name, "attempt": attempt}, **(given or {})}
    own = {"io.kubernetes.container.restartCount": str(attempt)}
    return config | {"annotations": {**config.get("annotations", {}), **own}}
