"""The fake kubelet's pods: admitted, started, finished, deleted, and asked how they are."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from refimpl.deviceplugin.devicemanager.node import NodeRecord, Setup
from refimpl.deviceplugin.devicemanager.process import Process
from refimpl.deviceplugin.devicemanager.workload import Admission, PodRun, Workload, base_config
from refimpl.deviceplugin.state import DeviceState
from refimpl.deviceplugin.state.admission import CONFIG_ERROR, NotStarted
from refimpl.deviceplugin.state.allocate import Died
from refimpl.deviceplugin.state.containers import Config, merge
from refimpl.deviceplugin.state.models import ContainerResponse, Pod

__all__ = ["Hosting"]


class Hosting:
    """Part of `kubelet.FakeKubelet`."""

    _setup: Setup
    _node: NodeRecord
    _process: Process | None

    @property
    def workload(self) -> Workload:
        """The pods of the node; they outlive restarts."""
        return self._node.workload

    @property
    def state(self) -> DeviceState:
        """What the running process knows; RuntimeError while none runs."""
        return self._living().state

    def kill(self) -> None:
        """End the process."""
        raise NotImplementedError

    def admit(self, pod: Pod) -> Admission:
        """Bind a pod to the node: placement, preferred devices, Allocate, the node's own check. A
        refusal is final: the pod is Failed.

        Raises ValueError for a uid that is finished, RuntimeError if kubelet ends meanwhile.
        """
        process = self._living()
        run = self.workload.put(pod)
        if not run.active:
            raise ValueError(f"pod {pod.uid} is {run.phase}, which is final: give it another uid")
        self._node.touch()
        return self._judge(process, run)

    def start_container(
        self, uid: str, name: str, config: Mapping[str, Any] | None = None
    ) -> Config:
        """Start a container, for the first time or again: PreStartContainer where the plugin wants
        it. `config`, a CRI ContainerConfig, comes back with all that the plugins want in it.

        Raises NotStarted where the container has to wait (try again), LookupError, RuntimeError.
        """
        process, run = self._living(), self.workload[uid]
        container = run.container(name)
        if not run.active:
            raise NotStarted(f"pod {uid} is {run.phase}")
        if uid not in process.state.tables.pods:
            raise NotStarted(f"pod {uid} is yet to be admitted by this kubelet")
        try:
            with self._death():
                responses = process.run(process.state.admissions.start(run.pod, container))
        except NotStarted as error:
            run.waiting[name] = f"{CONFIG_ERROR}: {error}"
            raise
        merged = self._merged(run, name, config, responses)
        run.started(name)
        self._node.touch()
        return merged

    def stop_container(self, uid: str, name: str) -> None:
        """A container of a pod has ended; the pod has not. Raises LookupError."""
        run = self.workload[uid]
        run.running.discard(run.container(name).name)

    def restart_container(
        self, uid: str, name: str, config: Mapping[str, Any] | None = None
    ) -> Config:
        """Both: no Allocate, but PreStartContainer again. Raises what `start_container` does."""
        self.stop_container(uid, name)
        return self.start_container(uid, name, config)

    def finish(self, uid: str, phase: Literal["Succeeded", "Failed"] = "Succeeded") -> None:
        """All containers have ended for good. Devices are freed when next they are collected.

        Raises LookupError.
        """
        self.workload[uid].end(phase)
        self._leave(uid)

    def remove(self, uid: str) -> None:
        """The pod is deleted; its devices as with `finish`. Raises LookupError."""
        self.workload.remove(uid)
        self._leave(uid)

    def status(self, uid: str) -> dict[str, Any]:
        """The pod's status as the API shows it, with the health of its devices. LookupError."""
        run, tables = self.workload[uid], self.state.tables
        health: dict[str, dict[str, dict[str, str]]] = {}
        if "ResourceHealthStatus" in self._setup.settings.gates:
            with tables.lock:
                health = {each.name: tables.health(uid, each.name) for each in run.pod.app}
        return run.status(health)

    def allocated(self, uid: str, container: str, resource: str) -> frozenset[str]:
        """Ids that a container holds."""
        tables = self.state.tables
        with tables.lock:
            record = tables.records.get(uid, container, resource)
        return record.ids if record else frozenset()

    def _living(self) -> Process:
        process = self._process
        if process is None:
            raise RuntimeError("no kubelet runs; call start() or use it in a with block")
        return process

    def _judge(self, process: Process, run: PodRun) -> Admission:
        with self._death():
            outcome = process.run(process.state.admissions.admit(run.pod))
        if self._process not in (process, None) or process.ended:
            raise RuntimeError(f"kubelet ended while it admitted pod {run.pod.uid}: start it again")
        if not outcome.accepted:
            run.end("Failed", outcome.reason, outcome.message)
            self._leave(run.pod.uid)
            return Admission(False, outcome.reason, outcome.message)
        return Admission(True, configs=self._configs(process, run))

    def _configs(self, process: Process, run: PodRun) -> Mapping[str, Config]:
        tables, found = process.state.tables, {}
        with tables.lock:
            for container in run.pod.containers:
                records = tables.records.of_container(run.pod.uid, container.name)
                if records:
                    found[container.name] = [record.response for record in records]
        return {name: self._merged(run, name, None, responses) for name, responses in found.items()}

    def _merged(
        self,
        run: PodRun,
        name: str,
        config: Mapping[str, Any] | None,
        responses: Sequence[ContainerResponse],
    ) -> Config:
        cdi = "DevicePluginCDIDevices" in self._setup.settings.gates
        merged, conflicts = merge(base_config(run, name, config), responses, cdi=cdi)
        for conflict in conflicts:
            self._node.note(f"container {name} of pod {run.pod.uid}: {conflict}")
        return merged

    def _leave(self, uid: str) -> None:
        process = self._process
        if process is not None:
            with process.state.tables.lock:
                process.state.admissions.remove(uid)
        self._node.touch()

    @contextlib.contextmanager
    def _death(self) -> Iterator[None]:
        """Where a profile says that kubelet dies, it does."""
        try:
            yield
        except Died:
            self.kill()
            raise
