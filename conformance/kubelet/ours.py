"""Our fake kubelet as a client under test."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import threading
import time
from collections.abc import Collection, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from conformance.engine import mutants
from conformance.engine.options import BadOption
from conformance.kubelet.client import ABILITIES, Choices
from conformance.kubelet.mutation import KubeletMutant
from conformance.kubelet.pods import Capacity, ContainerSpec, PodSpec, PodState
from conformance.kubelet.shares import Shares
from conformance.kubelet.worker import PodWorker
from refimpl.deviceplugin.kubelet import Container, FakeKubelet, Pod
from refimpl.deviceplugin.profiles import settings_of
from refimpl.deviceplugin.state.settings import Settings

__all__ = ["OurKubelet"]


class Clock:
    """Real time, and what was added to it."""

    def __init__(self) -> None:
        self._ahead = 0.0

    def __call__(self) -> float:
        return time.monotonic() + self._ahead

    def advance(self, seconds: float) -> None:
        """Moves it on."""
        self._ahead += seconds


class Elsewhere:
    """Drivers of storage and of claims, which this kubelet takes in and has no use for."""

    def validate(self, _name: str, _endpoint: str, versions: Sequence[str]) -> None:
        """Raises ValueError for one that names no version."""
        if not versions:
            raise ValueError("it supports no version: name those of its main service")

    def register(self, _name: str, _endpoint: str, _versions: Sequence[str]) -> None:
        """Nothing is called."""

    def deregister(self, _name: str, _endpoint: str) -> None:
        """Nothing is forgotten."""


class OurKubelet:
    """See Client. `profile`: of refimpl.deviceplugin.profiles; `broken` breaks it; `lacks`: what it
    is not able to do."""

    quiet_s = 0.15

    def __init__(
        self,
        profile: str = "ideal",
        broken: KubeletMutant | None = None,
        *,
        lacks: Collection[str] = (),
    ) -> None:
        settings = settings_of(profile)
        self.name, self.version = "refimpl kubelet", version("kube-refimpl")
        self.profile, self._named, self._broken = settings.release, profile, broken
        self.folder = Path(tempfile.mkdtemp(prefix="kub-"))
        self.able = ABILITIES - {*lacks}
        self.clock = Clock()
        self._stack = contextlib.ExitStack()
        self._stack.enter_context(mutants.standing(broken))
        self._choices = Choices()
        self.starts = 0
        self._kubelet: FakeKubelet | None = None
        self._shares: Shares | None = None
        self._lives = False
        self._fate = ""
        self._workers: dict[str, PodWorker] = {}
        self._configs: dict[tuple[str, str], list[dict[str, Any]]] = {}
        self._states: dict[str, PodState] = {}
        self._capacity = Capacity()
        self._lock = threading.RLock()

    @property
    def root(self) -> Path:
        """See Client."""
        return self.folder / self._choices.root

    @property
    def kubelet(self) -> FakeKubelet:
        """The fake, made when it is first started."""
        assert self._kubelet is not None
        return self._kubelet

    # -- life -----------------------------------------------------------------------------------

    def start(self, choices: Choices | None = None) -> None:
        """See Client."""
        wanted = choices or self._choices
        if self._kubelet is None or wanted != self._choices:
            self._kubelet = self._made(wanted)
        self._choices, self._fate = wanted, ""
        self.starts += 1
        self.kubelet.start()
        self._lives = True

    def _settings(self, choices: Choices) -> Settings:
        settings = settings_of(self._named, choices.gates)
        return self._broken.changed(settings) if self._broken else settings

    def _made(self, choices: Choices) -> FakeKubelet:
        try:
            settings = self._settings(choices)
            made = FakeKubelet(
                self.folder,
                root_dir=self.folder / choices.root,
                settings=settings,
                clock=self.clock,
                nodes=choices.nodes,
                policy=choices.policy,
                scope=choices.scope,
                options=choices.options,
                handlers={"CSIPlugin": Elsewhere(), "DRAPlugin": Elsewhere()},
            )
        except ValueError as error:
            raise BadOption(f"{self.name} refuses {choices}: {error}") from error
        if self._broken:
            self._broken.fake = made
            self._broken.started()
        self._shares = Shares(choices, settings.gates, made.others)
        return made

    def end(self, *, kill: bool = False) -> None:  # noqa: ARG002  (both leave the same)
        """See Client."""
        if self._lives:
            self._look()
            self._lives = False
            self.kubelet.kill()

    def running(self) -> bool:
        """See Client."""
        return self._lives

    def fate(self) -> str:
        """See Client."""
        return self._fate

    def died(self, why: str) -> None:
        """A profile or a mutant has it die."""
        self._lives, self._fate = False, why

    # -- pods -----------------------------------------------------------------------------------

    def run(self, pod: PodSpec) -> None:
        """See Client."""
        if pod.uid in self._workers:
            self._workers[pod.uid].stop()
        assert self._shares is not None
        self._shares.give(pod)
        self._workers[pod.uid] = PodWorker(self, pod, _model(pod))

    def delete(self, uid: str) -> None:
        """See Client."""
        self.forget(uid)

    def forget(self, uid: str) -> None:
        """See Client."""
        worker = self._workers.pop(uid, None)
        if worker:
            worker.stop()
            with contextlib.suppress(LookupError):
                self.kubelet.remove(uid)
            if self._shares is not None:
                self._shares.take_back(uid)
        self._states.pop(uid, None)

    def state(self, uid: str) -> PodState | None:
        """See Client."""
        self._look(uid)
        return self._states.get(uid)

    def exit(self, uid: str, container: str, status: int = 0) -> None:
        """See Client."""
        self._workers[uid].exited(container, status)

    def reboot(self) -> None:
        """See Client."""
        for worker in self._workers.values():
            worker.rebooted()
        self.kubelet.reboot()

    def started(self, uid: str, container: str, config: dict[str, Any]) -> None:
        """Keeps what a container was started with."""
        self._configs.setdefault((uid, container), []).append(config)

    def configs(self, uid: str, container: str) -> list[dict[str, Any]]:
        """See Client."""
        return list(self._configs.get((uid, container), ()))

    def _look(self, *uids: str) -> None:
        """Takes note of what the API server would know by now."""
        with self._lock:
            if not self._lives:
                return
            for uid in uids or tuple(self._workers):
                worker = self._workers.get(uid)
                found = worker.state() if worker else None
                if found:
                    self._states[uid] = found
            try:
                counted = self.kubelet.node()
            except RuntimeError:  # it is just dying
                return
            self._capacity = Capacity(counted.capacity, counted.allocatable)

    # -- the node -------------------------------------------------------------------------------

    def node(self) -> Capacity:
        """See Client."""
        self._look()
        return self._capacity

    def advance(self, seconds: float) -> None:
        """See Client."""
        self.clock.advance(seconds)
        if self._lives:
            self.kubelet.wake()

    def deafen(self) -> None:
        """See Client."""
        self.kubelet.deafen()

    def healthy(self) -> bool:
        """See Client."""
        return self.kubelet.healthy

    def metrics(self) -> Mapping[str, float]:
        """See Client."""
        return dict(self.kubelet.counts)

    def topology(self, question: str, values: Mapping[str, Any]) -> Any:
        """See Client."""
        from conformance.kubelet import topology  # of most runs nobody asks

        return topology.answer(question, values, self._settings(self._choices))

    def close(self) -> None:
        """See Client."""
        for uid in tuple(self._workers):
            self.forget(uid)
        if self._kubelet is not None:
            self._kubelet.stop(0)
        self._lives = False
        self._stack.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def _model(pod: PodSpec) -> Pod:
    return Pod(
        uid=pod.uid,
        app=tuple(map(_container, pod.app)),
        init=tuple(map(_container, pod.init)),
        pod_level=pod.pod_level,
        name=pod.name,
        namespace=pod.namespace,
    )


def _container(spec: ContainerSpec) -> Container:
    return Container(spec.name, spec.limits, spec.restartable, spec.claimed)
