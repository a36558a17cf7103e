"""What becomes of one pod on our kubelet: admitted, its containers started in their order."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

import attrs

from refimpl.deviceplugin.devicemanager.workload import PodRun
from refimpl.deviceplugin.kubelet import Died, FakeKubelet, NotStarted
from refimpl.node.pods import ContainerSpec, ContainerStatus, PodSpec, PodStatus, device_pod

__all__ = ["PodHost", "PodWorker"]

# A real kubelet tries again after about a second.
_AGAIN_S = 0.02

Health = Mapping[str, Mapping[str, str]]
"""Resource -> device -> health."""


class PodHost(Protocol):
    """The kubelet that a pod is on. `starts` counts its processes."""

    starts: int

    @property
    def devices(self) -> FakeKubelet:
        """Its device manager of now."""

    def running(self) -> bool:
        """Whether its process lives."""

    def died(self, reason: str) -> None:
        """Its process ends by itself."""

    def started(self, uid: str, container: str, config: dict[str, Any]) -> None:
        """A container of the pod was started with this ContainerConfig."""


@attrs.define
class _Container:
    """How often it was started, how its process ended, and whether that runs. `regular`: an init
    container that ends before the next begins."""

    spec: ContainerSpec
    regular: bool = False
    starts: int = 0
    exit: int | None = None
    runs: bool = False


class PodWorker:
    """A thread that does what kubelet does for a pod."""

    def __init__(self, host: PodHost, pod: PodSpec) -> None:
        self._host, self._pod, self._model = host, pod, device_pod(pod)
        regular = [each.name for each in pod.init if not each.restartable]
        self._containers = {
            each.name: _Container(each, each.name in regular) for each in (*pod.init, *pod.app)
        }
        self._changed = threading.Condition()
        self._stopped = False
        self._seen: object = None
        self._health: dict[str, Health] = {}
        self._bound = not host.running()
        if self._bound:
            self._bind()
        self._thread = threading.Thread(target=self._work, name="refimpl-pod", daemon=True)
        self._thread.start()

    def _bind(self) -> None:
        """Kubelet will find the pod when it starts, as it is by then, with what runs of it."""
        run = self._host.devices.workload.put(self._model)
        for name in run.running:
            self._containers[name].runs, self._containers[name].starts = True, 1

    def stop(self) -> None:
        """No container of it is started any more."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

    def exited(self, container: str, status: int) -> None:
        """The process of a container has ended."""
        with self._changed:
            ended = self._containers[container]
            ended.runs, ended.exit = False, status
            self._host.devices.stop_container(self._pod.uid, container)
            self._changed.notify_all()

    def rebooted(self) -> None:
        """All processes are gone."""
        with self._changed:
            for container in self._containers.values():
                container.runs = False
            self._changed.notify_all()

    def state(self) -> PodStatus | None:
        """As the API server has it; None before kubelet has taken it in."""
        kubelet, uid = self._host.devices, self._pod.uid
        try:
            refreshed = kubelet.refreshed.count(uid)  # before what may be newer
            status, run = kubelet.status(uid), kubelet.workload[uid]
        except (LookupError, RuntimeError):
            return None
        # Kubelet looks at the health of devices when a list is about them, or it syncs the pod.
        seen = (refreshed, self._host.starts, {*run.running})
        if seen != self._seen:
            self._seen = seen
            self._health = {each["name"]: _health(each) for each in status["containerStatuses"]}
        states = {name: self._container_state(name, run) for name in self._containers}
        return PodStatus(status["phase"], run.reason, run.message, states)

    def _container_state(self, name: str, run: PodRun) -> ContainerStatus:
        container = self._containers[name]
        state = ContainerStatus(
            name, restarts=max(container.starts - 1, 0), health=self._health.get(name, {})
        )
        if name in run.running:
            return attrs.evolve(state, state="running")
        if name in run.waiting:
            reason, _, message = run.waiting[name].partition(": ")
            return attrs.evolve(state, reason=reason, message=message)
        ended = container.exit is not None or not run.active
        return attrs.evolve(state, state="terminated") if ended else state

    # -- the thread -----------------------------------------------------------------------------

    def _admitted(self) -> bool:
        try:
            return self._bound or self._host.devices.admit(self._model).accepted
        except Died as died:
            self._host.died(str(died))
            return False
        except RuntimeError:  # kubelet ended meanwhile
            self._bind()
            return True

    def _work(self) -> None:
        if not self._admitted():
            return
        while not self._stopped:
            for container in self._due():
                self._start(container)
            with self._changed:
                if self._over():
                    return
                waits = any(True for _ in self._due())
                self._changed.wait(_AGAIN_S if waits else None)

    def _due(self) -> Iterator[_Container]:
        """The containers that ought to run and do not."""
        for container in tuple(self._containers.values()):
            if container.regular and container.exit == 0:
                continue
            if not container.runs and self._restarts(container):
                yield container
            if container.regular or (not container.runs and container.spec.restartable):
                return  # those behind it have to wait

    def _restarts(self, container: _Container) -> bool:
        if container.exit is None or container.spec.restartable:
            return True
        if self._pod.restart == "Always" and not container.regular:
            return True
        return self._pod.restart != "Never" and container.exit != 0

    def _over(self) -> bool:
        """Whether nothing is to run any more; the pod has its last phase then."""
        kubelet, uid = self._host.devices, self._pod.uid
        try:
            if not kubelet.workload[uid].active:
                return True  # refused when kubelet came back
        except LookupError:
            return True
        app = [self._containers[each.name] for each in self._pod.app]
        if not all(each.exit is not None and not self._restarts(each) for each in app):
            return False
        failed = any(each.exit for each in app)
        kubelet.finish(uid, "Failed" if failed else "Succeeded")
        return True

    def _start(self, container: _Container) -> None:
        name, uid = container.spec.name, self._pod.uid
        envs = [{"key": key, "value": value} for key, value in container.spec.env.items()]
        try:
            config = self._host.devices.start_container(uid, name, {"envs": envs})
        except NotStarted:
            return
        except Died as died:
            self._host.died(str(died))
            return
        except (RuntimeError, LookupError):
            return  # kubelet does not run, or the pod is gone
        self._host.started(uid, name, config)
        with self._changed:
            container.runs, container.exit = True, None
            container.starts += 1


def _health(status: Mapping[str, Any]) -> Health:
    return {
        entry["name"]: {each["resourceID"]: each["health"] for each in entry["resources"]}
        for entry in status.get("allocatedResourcesStatus", ())
    }
