"""Pods of a case on the node under test."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import TypeVar

from conformance.engine.verdict import expect
from conformance.kubelet.client import Client
from refimpl.node.pods import Amounts, ContainerSpec, ContainerState, PodSpec, PodState

__all__ = ["Hosted"]

T = TypeVar("T")


class Hosted:
    """Part of `node.Node`."""

    _name: str
    _numbers: itertools.count[int]
    _pods: list[PodSpec]

    @property
    def client(self) -> Client:
        """The client under test."""
        raise NotImplementedError

    def until(self, predicate: Callable[[], T], what: str, deadline_s: float | None = None) -> T:
        """Waits until it is true."""
        raise NotImplementedError

    def pod(
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
        made = PodSpec(
            name=f"{self._name}-{number}",
            uid=f"{self._name}-uid-{number}",
            app=app or (ContainerSpec(limits=limits or {}),),
            init=init,
            restart=restart,  # type: ignore[arg-type]
            pod_level=bool(pod_level),
            amounts=pod_level if isinstance(pod_level, Amounts) else Amounts(cpus=1),
        )
        self._pods.append(made)
        self.client.run(made)
        return made

    def state(self, pod: PodSpec) -> PodState:
        """What the client says of the pod, an empty state before it says anything."""
        return self.client.state(pod.uid) or PodState()

    def container(self, pod: PodSpec, name: str = "main") -> ContainerState:
        """What the client says of a container; it waits before the client says anything."""
        return self.state(pod).containers.get(name, ContainerState(name))

    def settled(self, pod: PodSpec) -> PodState:
        """Waits until the pod runs, has ended, or a container of it waits for a reason."""
        found = self.until(lambda: _settled(self.state(pod)), f"pod {pod.name} gets somewhere")
        assert found is not None
        return found

    def running(
        self, pod: PodSpec | None = None, limits: Mapping[str, int] | None = None
    ) -> PodSpec:
        """Waits until the pod, or a new one of these limits, runs; raises Broken."""
        found = pod or self.pod(limits)
        state = self.settled(found)
        runs = all(each.state != "waiting" for each in state.containers.values())
        expect(
            state.phase == "Running" and runs,
            "a pod whose devices can be had runs",
            wanted="phase Running",
            got=f"{state.phase} {state.reason} {state.message} {_waiting(state)}",
        )
        return found

    def refused(self, pod: PodSpec, reason: str = "UnexpectedAdmissionError") -> PodState:
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
        self.client.delete(pod.uid)


def _settled(state: PodState) -> PodState | None:
    if state.phase in ("Failed", "Succeeded"):
        return state
    found = state.containers.values()
    if any(each.state == "waiting" and each.reason not in _BUSY for each in found):
        return state
    runs = state.phase == "Running" and all(each.state != "waiting" for each in found)
    return state if runs else None


_BUSY = ("", "ContainerCreating", "PodInitializing")


def _waiting(state: PodState) -> str:
    return "; ".join(
        f"{each.name}: {each.reason} {each.message}"
        for each in state.containers.values()
        if each.state == "waiting"
    )
