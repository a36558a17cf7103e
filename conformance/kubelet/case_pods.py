"""Pods of a case on the node under test."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Protocol, TypeVar

from conformance.engine.verdict import expect
from conformance.kubelet.client import Client
from refimpl.node.pods import Amounts, ContainerSpec, ContainerStatus, PodSpec, PodStatus

__all__ = ["CasePods", "WaitUntil"]

T = TypeVar("T")

_BUSY = ("", "ContainerCreating", "PodInitializing")


class WaitUntil(Protocol):
    """Waits for something, while the client lives."""

    def __call__(self, predicate: Callable[[], T], what: str) -> T:
        """What the predicate returned at last; raises Broken."""


class CasePods:
    """Pods of their own names, `stem` and a number, on the client, which runs when it is first
    asked for."""

    def __init__(self, client: Callable[[], Client], stem: str, until: WaitUntil) -> None:
        self._client, self._stem, self._until = client, stem, until
        self._numbers = itertools.count(1)
        self._pods: list[PodSpec] = []

    def run(
        self,
        limits: Mapping[str, int] | None = None,
        *,
        app: tuple[ContainerSpec, ...] = (),
        init: tuple[ContainerSpec, ...] = (),
        restart: str = "Always",
        pod_level: bool | Amounts = False,
    ) -> PodSpec:
        """A pod bound to the node, with one container `main` of these limits or with those given;
        returns at once. `pod_level`: it sets resources of the pod as such, one CPU unless given."""
        number = next(self._numbers)
        pod = PodSpec(
            name=f"{self._stem}-{number}",
            uid=f"{self._stem}-uid-{number}",
            app=app or (ContainerSpec(limits=limits or {}),),
            init=init,
            restart=restart,  # type: ignore[arg-type]
            pod_level=bool(pod_level),
            amounts=pod_level if isinstance(pod_level, Amounts) else Amounts(cpus=1),
        )
        self._pods.append(pod)
        self._client().run(pod)
        return pod

    def state(self, pod: PodSpec) -> PodStatus:
        """What the client says of the pod, an empty state before it says anything."""
        return self._client().state(pod.uid) or PodStatus()

    def container(self, pod: PodSpec, name: str = "main") -> ContainerStatus:
        """What the client says of a container; it waits before the client says anything."""
        return self.state(pod).containers.get(name, ContainerStatus(name))

    def settled(self, pod: PodSpec) -> PodStatus:
        """Waits until the pod runs, has ended, or a container of it waits for a reason."""
        state = self._until(lambda: _settled(self.state(pod)), f"pod {pod.name} gets somewhere")
        assert state is not None
        return state

    def running(
        self, pod: PodSpec | None = None, limits: Mapping[str, int] | None = None
    ) -> PodSpec:
        """Waits until the pod, or a new one of these limits, runs; raises Broken."""
        pod = pod or self.run(limits)
        state = self.settled(pod)
        runs = all(each.state != "waiting" for each in state.containers.values())
        expect(
            state.phase == "Running" and runs,
            "a pod whose devices can be had runs",
            wanted="phase Running",
            got=f"{state.phase} {state.reason} {state.message} {_waiting(state)}",
        )
        return pod

    def refused(self, pod: PodSpec, reason: str = "UnexpectedAdmissionError") -> PodStatus:
        """Waits until the pod has been refused for that reason; raises Broken."""
        state = self.settled(pod)
        expect(
            state.phase == "Failed" and state.reason == reason,
            "the pod is refused",
            wanted=f"phase Failed, reason {reason}",
            got=f"phase {state.phase}, reason {state.reason or 'none'} {state.message}",
        )
        return state

    def delete(self, pod: PodSpec) -> None:
        """Deletes it and waits until it is gone."""
        self._pods.remove(pod)
        self._client().delete(pod.uid)

    def forget(self, client: Client) -> None:
        """Takes all of them out of the API of the client, whether it runs or not."""
        for pod in self._pods:
            client.forget(pod.uid)
        self._pods.clear()


def _settled(state: PodStatus) -> PodStatus | None:
    if state.phase in ("Failed", "Succeeded"):
        return state
    containers = state.containers.values()
    if any(each.state == "waiting" and each.reason not in _BUSY for each in containers):
        return state
    runs = state.phase == "Running" and all(each.state != "waiting" for each in containers)
    return state if runs else None


def _waiting(state: PodStatus) -> str:
    return "; ".join(
        f"{each.name}: {each.reason} {each.message}"
        for each in state.containers.values()
        if each.state == "waiting"
    )
