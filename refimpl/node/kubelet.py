"""Our kubelet with pods of its node: the device manager, and a worker for each pod.

`refimpl.deviceplugin.kubelet.FakeKubelet` does what it is told with one container after another;
here pods live, as bound by an API server: started, restarted, ended.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from refimpl.deviceplugin.kubelet import Capacity, FakeKubelet
from refimpl.deviceplugin.state.settings import Settings
from refimpl.node.choices import KubeletChoices
from refimpl.node.pods import PodSpec, PodStatus
from refimpl.node.shares import Shares
from refimpl.node.worker import PodWorker

__all__ = ["MovableClock", "NodeKubelet"]


class MovableClock:
    """Real time in seconds, and what was added to it."""

    def __init__(self) -> None:
        self._ahead = 0.0

    def __call__(self) -> float:
        return time.monotonic() + self._ahead

    def advance(self, seconds: float) -> None:
        """Moves it on."""
        self._ahead += seconds


class UnusedDrivers:
    """Drivers of storage and of claims, which this kubelet takes in and has no use for."""

    def validate(self, _name: str, _endpoint: str, versions: Sequence[str]) -> None:
        """Raises ValueError for one that names no version."""
        if not versions:
            raise ValueError("it supports no version: name those of its main service")

    def register(self, _name: str, _endpoint: str, _versions: Sequence[str]) -> None:
        """Nothing is called."""

    def deregister(self, _name: str, _endpoint: str) -> None:
        """Nothing is forgotten."""


class NodeKubelet:
    """A kubelet over `folder`, which is /var/lib/kubelet to it, on a node whose pods stay when it
    ends. `settings` are those of its release for its choices; `set_up` is called with each device
    manager that is made, before that starts.

    `starts` counts its processes, `fate` says why the last one ended by itself.
    """

    def __init__(
        self,
        folder: Path,
        settings: Callable[[KubeletChoices], Settings],
        *,
        set_up: Callable[[FakeKubelet], object] = lambda _: None,
    ) -> None:
        self.folder, self._settings, self._set_up = folder, settings, set_up
        self.choices = KubeletChoices()
        self.clock = MovableClock()
        self.starts, self.fate = 0, ""
        self._devices: FakeKubelet | None = None
        self._shares: Shares | None = None
        self._lives = False
        self._workers: dict[str, PodWorker] = {}
        self._configs: dict[tuple[str, str], list[dict[str, Any]]] = {}
        self._states: dict[str, PodStatus] = {}
        self._capacity = Capacity()
        self._lock = threading.RLock()

    @property
    def devices(self) -> FakeKubelet:
        """Its device manager; RuntimeError before the first start."""
        if self._devices is None:
            raise RuntimeError("no kubelet was started on this node: call start()")
        return self._devices

    # -- life -----------------------------------------------------------------------------------

    def start(self, choices: KubeletChoices | None = None) -> None:
        """Starts it, as before or with other choices, which is a kubelet that knows no pod.

        Raises ValueError for choices that kubelet refuses, and what `FakeKubelet.start` raises.
        """
        wanted = choices or self.choices
        if self._devices is None or wanted != self.choices:
            self._devices = self._device_manager(wanted)
        self.choices, self.fate = wanted, ""
        self.starts += 1
        self.devices.start()
        self._lives = True

    def _device_manager(self, choices: KubeletChoices) -> FakeKubelet:
        settings = self._settings(choices)
        devices = FakeKubelet(
            self.folder,
            root_dir=self.folder / choices.root,
            settings=settings,
            clock=self.clock,
            nodes=choices.nodes,
            policy=choices.policy,
            scope=choices.scope,
            options=choices.options,
            handlers={"CSIPlugin": UnusedDrivers(), "DRAPlugin": UnusedDrivers()},
        )
        self._set_up(devices)
        self._shares = Shares(choices, settings.gates, devices.others)
        return devices

    def end(self) -> None:
        """Ends it as SIGTERM and SIGKILL do alike; pods go on running. Nothing if it has ended."""
        if self._lives:
            self._look()
            self._lives = False
            self.devices.kill()

    def running(self) -> bool:
        """Whether it is alive."""
        return self._lives

    def died(self, reason: str) -> None:
        """It ends by itself."""
        self._lives, self.fate = False, reason

    def close(self) -> None:
        """Ends it, and removes its own sockets and all pods."""
        for uid in tuple(self._workers):
            self.forget(uid)
        if self._devices is not None:
            self._devices.stop(0)
        self._lives = False

    # -- pods -----------------------------------------------------------------------------------

    def run(self, pod: PodSpec) -> None:
        """Binds the pod to the node, or another spec of it while kubelet does not run. RuntimeError
        before the first start."""
        if self._shares is None:
            raise RuntimeError("no kubelet was started on this node: call start()")
        if pod.uid in self._workers:
            self._workers[pod.uid].stop()
        self._shares.give(pod)
        self._workers[pod.uid] = PodWorker(self, pod)

    def forget(self, uid: str) -> None:
        """The pod is no more; nothing for one that is unknown."""
        worker = self._workers.pop(uid, None)
        if worker:
            worker.stop()
            with contextlib.suppress(LookupError):
                self.devices.remove(uid)
            if self._shares is not None:
                self._shares.take_back(uid)
        self._states.pop(uid, None)

    def state(self, uid: str) -> PodStatus | None:
        """What the API server knows of a pod; None for one that is gone."""
        self._look(uid)
        return self._states.get(uid)

    def exit(self, uid: str, container: str, status: int = 0) -> None:
        """The process of a container ends; its pod says whether it is started again."""
        self._workers[uid].exited(container, status)

    def reboot(self) -> None:
        """While kubelet does not run: all containers are gone, and the node has another boot id."""
        for worker in self._workers.values():
            worker.rebooted()
        self.devices.reboot()

    def started(self, uid: str, container: str, config: dict[str, Any]) -> None:
        """Keeps what a container was started with."""
        self._configs.setdefault((uid, container), []).append(config)

    def configs(self, uid: str, container: str) -> list[dict[str, Any]]:
        """The ContainerConfig of each start of a container, oldest first."""
        return list(self._configs.get((uid, container), ()))

    # -- the node -------------------------------------------------------------------------------

    def node(self) -> Capacity:
        """What the node's status says, or said last."""
        self._look()
        return self._capacity

    def advance(self, seconds: float) -> None:
        """Lets that much time pass."""
        self.clock.advance(seconds)
        if self._lives:
            self.devices.wake()

    def metrics(self) -> Mapping[str, float]:
        """`name{label="value",…}` -> count."""
        return dict(self.devices.counts)

    def _look(self, *uids: str) -> None:
        """Takes note of what the API server would know by now."""
        with self._lock:
            if not self._lives:
                return
            for uid in uids or tuple(self._workers):
                worker = self._workers.get(uid)
                state = worker.state() if worker else None
                if state:
                    self._states[uid] = state
            try:
                self._capacity = self.devices.node()
            except RuntimeError:  # it is just dying
                return
