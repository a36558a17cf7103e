"""Pods of the fake kubelet: admitted, started, finished, deleted, and asked how they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import attrs

from refimpl.deviceplugin.devicemanager.process import KubeletProcess
from refimpl.deviceplugin.devicemanager.processes import KubeletProcesses
from refimpl.deviceplugin.devicemanager.workload import PodRun, base_config
from refimpl.deviceplugin.state.admission import CONFIG_ERROR, NotStarted
from refimpl.deviceplugin.state.containers import merge
from refimpl.deviceplugin.state.models import Admission, Config, ContainerResponse, Pod

__all__ = ["Hosting"]


class Hosting:
    """Does with pods of the node what the running process of kubelet would. They outlive it."""

    def __init__(self, processes: KubeletProcesses) -> None:
        self._processes, self._node = processes, processes.node
        self._gates = processes.setup.settings.gates
        self.workload = processes.node.workload

    def admit(self, pod: Pod) -> Admission:
        """Bind a pod to the node: placement, preferred devices, Allocate, the node's own check. A
        refusal is final: the pod is Failed.

        Raises ValueError for a uid that is finished, RuntimeError if kubelet ends meanwhile.
        """
        process = self._processes.living()
        run = self.workload.put(pod)
        if not run.active:
            raise ValueError(f"pod {pod.uid} is {run.phase}, which is final: give it another uid")
        self._node.touch()
        return self._judge(process, run)

    def admit_again(self) -> Mapping[str, Admission]:
        """What a process does with the pods that it finds when it starts: how they fared, by uid.

        Raises RuntimeError if kubelet ends meanwhile.
        """
        process = self._processes.living()
        outcome = {run.pod.uid: self._judge(process, run) for run in self.workload if run.active}
        with process.state.tables.lock:
            process.state.tables.sources_ready = True
        return outcome

    def start_container(
        self, uid: str, name: str, config: Mapping[str, Any] | None = None
    ) -> Config:
        """Start a container, for the first time or again: PreStartContainer where the plugin wants
        it. `config`, a CRI ContainerConfig, comes back with all that the plugins want in it.

        Raises NotStarted where the container has to wait (try again), LookupError, RuntimeError.
        """
        process, run = self._processes.living(), self.workload[uid]
        container = run.container(name)
        if not run.active:
            raise NotStarted(f"pod {uid} is {run.phase}")
        if uid not in process.state.tables.pods:
            raise NotStarted(f"pod {uid} is yet to be admitted by this kubelet")
        try:
            with self._processes.mortal():
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
        run, tables = self.workload[uid], self._processes.living().state.tables
        health: dict[str, dict[str, dict[str, str]]] = {}
        if "ResourceHealthStatus" in self._gates:
            with tables.lock:
                health = {each.name: tables.health(uid, each.name) for each in run.pod.app}
        return run.status(health)

    def allocated(self, uid: str, container: str, resource: str) -> frozenset[str]:
        """Ids that a container holds."""
        tables = self._processes.living().state.tables
        with tables.lock:
            record = tables.records.get(uid, container, resource)
        return record.ids if record else frozenset()

    def _judge(self, process: KubeletProcess, run: PodRun) -> Admission:
        with self._processes.mortal():
            outcome = process.run(process.state.admissions.admit(run.pod))
        if self._processes.current not in (process, None) or process.ended:
            raise RuntimeError(f"kubelet ended while it admitted pod {run.pod.uid}: start it again")
        if not outcome.accepted:
            run.end("Failed", outcome.reason, outcome.message)
            self._leave(run.pod.uid)
            return outcome
        return attrs.evolve(outcome, configs=self._configs(process, run))

    def _configs(self, process: KubeletProcess, run: PodRun) -> Mapping[str, Config]:
        tables, answers = process.state.tables, dict[str, list[ContainerResponse]]()
        with tables.lock:
            for container in run.pod.containers:
                records = tables.records.of_container(run.pod.uid, container.name)
                if records:
                    answers[container.name] = [record.response for record in records]
        return {name: self._merged(run, name, None, each) for name, each in answers.items()}

    def _merged(
        self,
        run: PodRun,
        name: str,
        config: Mapping[str, Any] | None,
        responses: Sequence[ContainerResponse],
    ) -> Config:
        cdi = "DevicePluginCDIDevices" in self._gates
        merged, conflicts = merge(base_config(run, name, config), responses, cdi=cdi)
        for conflict in conflicts:
            self._node.note(f"container {name} of pod {run.pod.uid}: {conflict}")
        return merged

    def _leave(self, uid: str) -> None:
        process = self._processes.current
        if process is not None:
            with process.state.tables.lock:
                process.state.admissions.remove(uid)
        self._node.touch()
