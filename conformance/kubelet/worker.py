"""What becomes of one pod on our fake kubelet: admitted, its containers started in their order."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

import attrs

from conformance.kubelet.pods import ContainerSpec, ContainerState, PodSpec, PodState
from refimpl.deviceplugin.kubelet import Died, NotStarted, Pod

if TYPE_CHECKING:
    from conformance.kubelet.ours import OurKubelet

__all__ = ["PodWorker"]

# A real kubelet tries again after about a second.
_AGAIN_S = 0.02


@attrs.define
class _Life:
    """One container: how often it was started, and how its process ended."""

    spec: ContainerSpec
    regular: bool = False
    starts: int = 0
    exit: int | None = None
    runs: bool = False


class PodWorker:
    """A thread that does what kubelet does for a pod."""

    def __init__(self, client: OurKubelet, pod: PodSpec, model: Pod) -> None:
        self._client, self._pod, self._model = client, pod, model
        regular = [each.name for each in pod.init if not each.restartable]
        self._lives = {
            each.name: _Life(each, each.name in regular) for each in (*pod.init, *pod.app)
        }
        self._bound = not client.running()
        if self._bound:
            self._bind()
        self._changed = threading.Condition()
        self._stopped = False
        self._seen: object = None
        self._health: dict[str, dict[str, dict[str, str]]] = {}
        self._thread = threading.Thread(target=self._work, name="refimpl-pod", daemon=True)
        self._thread.start()

    def _bind(self) -> None:
        """Kubelet will find the pod when it starts, as it is by then, with what runs of it."""
        run = self._client.kubelet.workload.put(self._model)
        for name in run.running:
            self._lives[name].runs, self._lives[name].starts = True, 1

    def stop(self) -> None:
        """No container of it is started any more."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

    def exited(self, container: str, status: int) -> None:
        """The process of a container has ended."""
        with self._changed:
            life = self._lives[container]
            life.runs, life.exit = False, status
            self._client.kubelet.stop_container(self._pod.uid, container)
            self._changed.notify_all()

    def rebooted(self) -> None:
        """All processes are gone."""
        with self._changed:
            for life in self._lives.values():
                life.runs = False
            self._changed.notify_all()

    def state(self) -> PodState | None:
        """As the API server has it; None before kubelet has taken it in."""
        kubelet = self._client.kubelet
        try:
            refreshed = kubelet.refreshed.count(self._pod.uid)  # before what may be newer
            status, run = kubelet.status(self._pod.uid), kubelet.workload[self._pod.uid]
        except (LookupError, RuntimeError):
            return None
        found: dict[str, ContainerState] = {}
        # Kubelet looks at the health of devices when a list is about them, or it syncs the pod.
        seen = (refreshed, self._client.starts, {*run.running})
        if seen != self._seen:
            self._seen = seen
            self._health = {each["name"]: _health(each) for each in status["containerStatuses"]}
        for name, life in self._lives.items():
            kind, reason, message = "waiting", "", ""
            if name in run.running:
                kind = "running"
            elif name in run.waiting:
                reason, _, message = run.waiting[name].partition(": ")
            elif life.exit is not None or not run.active:
                kind = "terminated"
            found[name] = ContainerState(
                name=name,
                state=kind,  # type: ignore[arg-type]
                reason=reason,
                message=message,
                restarts=max(life.starts - 1, 0),
                health=self._health.get(name, {}),
            )
        return PodState(status["phase"], run.reason, run.message, found)

    # -- the thread -----------------------------------------------------------------------------

    def _admitted(self) -> bool:
        try:
            return self._bound or self._client.kubelet.admit(self._model).accepted
        except Died as died:
            self._client.died(str(died))
            return False
        except RuntimeError:  # kubelet ended meanwhile
            self._bind()
            return True

    def _work(self) -> None:
        if not self._admitted():
            return
        while not self._stopped:
            for life in self._due():
                self._start(life)
            with self._changed:
                if self._over():
                    return
                waits = any(True for _ in self._due())
                self._changed.wait(_AGAIN_S if waits else None)

    def _due(self) -> Iterator[_Life]:
        """The containers that ought to run and do not."""
        for life in tuple(self._lives.values()):
            if life.regular and life.exit == 0:
                continue
            if not life.runs and self._restarts(life):
                yield life
            if life.regular or (not life.runs and life.spec.restartable):
                return  # those behind it have to wait

    def _restarts(self, life: _Life) -> bool:
        if life.exit is None or life.spec.restartable:
            return True
        if self._pod.restart == "Always" and not life.regular:
            return True
        return self._pod.restart != "Never" and life.exit != 0

    def _over(self) -> bool:
        """Whether nothing is to run any more; the pod has its last phase then."""
        try:
            if not self._client.kubelet.workload[self._pod.uid].active:
                return True  # refused when kubelet came back
        except LookupError:
            return True
        app = [self._lives[each.name] for each in self._pod.app]
        if not all(life.exit is not None and not self._restarts(life) for life in app):
            return False
        failed = any(life.exit for life in app)
        self._client.kubelet.finish(self._pod.uid, "Failed" if failed else "Succeeded")
        return True

    def _start(self, life: _Life) -> None:
        name, kubelet = life.spec.name, self._client.kubelet
        envs = [{"key": key, "value": value} for key, value in life.spec.env.items()]
        try:
            config = kubelet.start_container(self._pod.uid, name, {"envs": envs})
        except NotStarted:
            return
        except Died as died:
            self._client.died(str(died))
            return
        except (RuntimeError, LookupError):
            return  # kubelet does not run, or the pod is gone
        self._client.started(self._pod.uid, name, config)
        with self._changed:
            life.runs, life.exit = True, None
            life.starts += 1


def _health(status: dict[str, object]) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for entry in status.get("allocatedResourcesStatus", ()):  # type: ignore[attr-defined]
        ids = {one["resourceID"]: one["health"] for one in entry["resources"]}
        found[entry["name"]] = ids
    return found
