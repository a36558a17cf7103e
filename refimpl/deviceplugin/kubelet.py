"""A kubelet as device plugins see it: registration, lists, allocation, restarts, pod resources."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, Self, get_args

from google.protobuf.descriptor import ServiceDescriptor

from refimpl.deviceplugin.devicemanager import podresources
from refimpl.deviceplugin.devicemanager.control_routes import ControlRoutes
from refimpl.deviceplugin.devicemanager.hosting import Hosting
from refimpl.deviceplugin.devicemanager.layout import Layout
from refimpl.deviceplugin.devicemanager.links import PluginLink
from refimpl.deviceplugin.devicemanager.node import NodeRecord
from refimpl.deviceplugin.devicemanager.process import KubeletProcess
from refimpl.deviceplugin.devicemanager.processes import KubeletProcesses
from refimpl.deviceplugin.devicemanager.setup import Nodes, Setup, policy_on
from refimpl.deviceplugin.devicemanager.workload import Workload
from refimpl.deviceplugin.profiles import settings_of
from refimpl.deviceplugin.state import DeviceState
from refimpl.deviceplugin.state.admission import NotStarted
from refimpl.deviceplugin.state.allocate import Died
from refimpl.deviceplugin.state.capacity import Capacity
from refimpl.deviceplugin.state.endpoints import Clock
from refimpl.deviceplugin.state.models import Admission, Config, Container, Device, Pod
from refimpl.deviceplugin.state.order import Order, in_order
from refimpl.deviceplugin.state.scopes import ScopeName, Wishes, no_wishes
from refimpl.deviceplugin.state.settings import Settings
from refimpl.registration.watcher import Handler
from refimpl.wire.client import timeout_factor
from refimpl.wire.control import Control, Route
from refimpl.wire.endpoint import Endpoint, probe
from refimpl.wire.faults import Faults
from refimpl.wire.instruments import Instruments, Where
from refimpl.wire.journal import Journal

__all__ = [
    "Admission",
    "Capacity",
    "Container",
    "Device",
    "Died",
    "FakeKubelet",
    "NotStarted",
    "Pod",
    "RestartMode",
]

RestartMode = Literal["A", "B", "C", "D", "E"]
"""A: sockets removed, kubelet.sock again after 1 s. B: after 2 min. C: kubelet.sock replaced, other
sockets left. D: no restart, only the plugins' sockets removed. E: A five times, 2 s apart."""

GAPS_S: Mapping[RestartMode, float] = {"A": 1.0, "B": 120.0, "C": 0.0, "D": 0.0, "E": 2.0}


class FakeKubelet:
    """Kubelet's device manager over `folder`, which stands for /var/lib/kubelet: device-plugins,
    plugins_registry and pod-resources lie in it. `root_dir`, below it or elsewhere, is where the
    others go if kubelet was started with another --root-dir: device-plugins stays.

    `profile`: see `profiles`; `gates` switches feature gates, `settings` replaces both. `nodes`:
    how many NUMA nodes there are, which, or the distances of each. `policy`, `scope`, `options` are
    those of the topology manager, `wishes` the hints of other managers. `order` is in which what
    has no order is taken. `clock` is for the five minutes of grace, and for how long a plugin in
    plugins_registry is not tried again (see `wake`). `patience_s` ends calls that a real kubelet
    would wait for without end (`math.inf`: as it does). `handlers` take in the other types of
    plugins that are found in plugins_registry; those say where they serve, which is in `folder`
    where they see it at `seen_at`. Raises ValueError for what kubelet would refuse to
    start with, EndpointError for a folder whose sockets would have too long a path.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        root_dir: str | os.PathLike[str] | None = None,
        profile: str = "1.37",
        gates: Mapping[str, bool] | None = None,
        settings: Settings | None = None,
        clock: Clock = time.monotonic,
        nodes: Nodes = 1,
        policy: str = "none",
        scope: ScopeName = "container",
        options: Mapping[str, str] | None = None,
        wishes: Wishes = no_wishes,
        order: Order = in_order,
        patience_s: float = 60.0,
        handlers: Mapping[str, Handler] | None = None,
        seen_at: str | os.PathLike[str] = "",
        faults: Faults | None = None,
        journal: Journal | Path | str | None = None,
        control: Where | None = None,
    ) -> None:
        self._instruments = Instruments(faults=faults, journal=journal, control=control)
        self.faults, self.journal = self._instruments.faults, self._instruments.journal
        chosen = settings or settings_of(profile, gates)
        if scope not in get_args(ScopeName):
            raise ValueError(f"scope={scope!r}: it is {' or '.join(get_args(ScopeName))}")
        setup = Setup(
            chosen,
            clock,
            policy_on(nodes, policy, options, chosen.release),
            scope,
            wishes,
            order,
            patience_s,
            handlers or {},
            os.fspath(seen_at),
        )
        moved = None if root_dir is None else Path(root_dir).absolute()
        self.layout = Layout(Path(folder).absolute(), moved)
        self._sockets = self.layout.socket, self.layout.pod_resources, self.layout.pods_api
        self._node = NodeRecord(self.journal, self.faults)
        self._processes = KubeletProcesses(self.layout, setup, self._node)
        self._pods = Hosting(self._processes)
        self._life = threading.RLock()

    # -- what can be seen -----------------------------------------------------------------------

    @property
    def endpoint(self) -> Endpoint:
        """Where plugins register."""
        return self._sockets[0]

    @property
    def pod_resources(self) -> Endpoint:
        """Where pod resources are served."""
        return self._sockets[1]

    @property
    def pods_api(self) -> Endpoint:
        """Where the pods of the node are served, from 1.37 on."""
        return self._sockets[2]

    @property
    def control(self) -> Control | None:
        """The control socket, while there is one."""
        return self._instruments.control

    @property
    def process(self) -> KubeletProcess:
        """The running process; RuntimeError while none runs."""
        return self._processes.living()

    @property
    def state(self) -> DeviceState:
        """What the running process knows; RuntimeError while none runs."""
        return self.process.state

    @property
    def links(self) -> tuple[PluginLink, ...]:
        """The plugins that the running process connected to, ended ones included."""
        return self.process.links.all

    @property
    def notes(self) -> list[str]:
        """What kubelet would have logged, of all processes."""
        return list(self._node.notes)

    @property
    def refreshed(self) -> list[str]:
        """Pods whose status a list changed, oldest first."""
        return list(self._node.refreshed)

    @property
    def counts(self) -> Counter[str]:
        """Metrics of registration and pod resources: name{label} -> number."""
        return self._node.counts

    @property
    def others(self) -> podresources.Others:
        """What pod resources tells besides devices; to be filled in by whoever plays managers."""
        return self._node.others

    def node(self) -> Capacity:
        """The node's counts, renewed as kubelet does it every 10 s, which is also when a resource
        goes whose plugin has been gone for five minutes."""
        return self.process.count()

    def devices(self, resource: str) -> Mapping[str, Device]:
        """The last list of a resource, by id; empty before it."""
        tables = self.state.tables
        with tables.lock:
            return dict(tables.devices.of(resource))

    def wait(self, condition: Callable[[], bool], timeout_s: float = 30.0) -> bool:
        """Waits until the condition holds, looked at after each event; False if not in time."""
        return self._node.wait_until(condition, timeout_s * timeout_factor())

    # -- life -----------------------------------------------------------------------------------

    def services(self) -> Mapping[ServiceDescriptor, object]:
        """All that its sockets serve."""
        process = self._processes.current or self._processes.make()
        return {key: service for each in process.services() for key, service in each.items()}

    def routes(self) -> Mapping[str, Route]:
        """What its control socket answers besides journal and faults, by method and path."""
        return ControlRoutes(self, self._pods, self._processes).routes()

    def start(self, *, accepting: bool = True) -> Endpoint:
        """Read the checkpoint, remove all sockets of plugins, serve, and admit again the pods that
        are there. Without `accepting`, callers connect and hear nothing until `thaw`.

        Raises EndpointError for a folder that cannot be used or that another kubelet serves,
        FaultError, RuntimeError if it runs already.
        """
        with self._life:
            if self._processes.current is not None:
                raise RuntimeError(f"a kubelet serves at {self.endpoint} already: stop it")
            self._instruments.check(self.services())
            self._instruments.open_journal()
            try:
                self._begin(accepting=accepting)
                self._instruments.start_control(self.routes())
            except BaseException:
                self.stop()
                raise
        return self.endpoint

    def stop(self, grace_s: float = 1.0) -> None:  # noqa: ARG002  (streams break off anyway)
        """End, and remove its own sockets; the checkpoint stays. May be called twice."""
        with self._life:
            self.kill()
            for socket in self._sockets:
                with contextlib.suppress(OSError):
                    if probe(socket) == "stale":
                        os.unlink(socket.path)
            self._instruments.close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        self.stop()

    def kill(self) -> None:
        """End as a real kubelet does, by SIGTERM or SIGKILL alike: streams break off, and all
        sockets stay where they are. `start` is the next process."""
        self._processes.end()

    def reboot(self) -> None:
        """While no process runs: the node starts anew, without any container of before."""
        self._node.reboot()

    def freeze(self) -> None:
        """As SIGSTOP: sockets stay open, nothing is answered, taken in or noticed."""
        self.process.pause()

    def thaw(self) -> None:
        """Go on; or begin to accept, after a start without `accepting`."""
        self.process.resume()

    @property
    def healthy(self) -> bool:
        """What its health check says of registration."""
        return self.process.healthy

    def deafen(self) -> None:
        """The socket where plugins register breaks in its hands: kubelet 1.37 goes on without, is
        unhealthy from then on, and only a restart mends it (1.3)."""
        self.process.deafen()

    def wake(self) -> None:
        """Look at `clock` again: to be called after putting it forward."""
        self.process.watcher.wake()

    def restart(
        self, mode: RestartMode = "A", *, gap_s: float | None = None, rebooted: bool = False
    ) -> Mapping[str, Admission]:
        """One of the ways in which a kubelet may come back; `gap_s` instead of the mode's pause.
        `rebooted`: no container runs any more. How pods fared that were admitted again, by uid."""
        if mode not in GAPS_S:
            raise ValueError(f"restart mode {mode!r}: it is {', '.join(GAPS_S)}")
        pause = GAPS_S[mode] if gap_s is None else gap_s
        with self._life:
            if mode == "D":
                self.layout.unlink_sockets(own=False)
                return {}
            outcome: Mapping[str, Admission] = {}
            for turn in range(5 if mode == "E" else 1):
                self.kill()
                if rebooted and not turn:
                    self._node.reboot()
                outcome = self._begin(unlink=mode != "C", gap_s=pause)
            return outcome

    def _begin(
        self, *, unlink: bool = True, gap_s: float = 0.0, accepting: bool = True
    ) -> Mapping[str, Admission]:
        self._processes.begin(unlink=unlink, gap_s=gap_s, accepting=accepting)
        return self._pods.admit_again()

    # -- pods -----------------------------------------------------------------------------------

    @property
    def workload(self) -> Workload:
        """The pods of the node; they outlive restarts."""
        return self._node.workload

    def admit(self, pod: Pod) -> Admission:
        """Bind a pod to the node: placement, preferred devices, Allocate, the node's own check. A
        refusal is final: the pod is Failed.

        Raises ValueError for a uid that is finished, RuntimeError if kubelet ends meanwhile.
        """
        return self._pods.admit(pod)

    def start_container(
        self, uid: str, name: str, config: Mapping[str, Any] | None = None
    ) -> Config:
        """Start a container, for the first time or again: PreStartContainer where the plugin wants
        it. `config`, a CRI ContainerConfig, comes back with all that the plugins want in it.

        Raises NotStarted where the container has to wait (try again), LookupError, RuntimeError.
        """
        return self._pods.start_container(uid, name, config)

    def stop_container(self, uid: str, name: str) -> None:
        """A container of a pod has ended; the pod has not. Raises LookupError."""
        self._pods.stop_container(uid, name)

    def restart_container(
        self, uid: str, name: str, config: Mapping[str, Any] | None = None
    ) -> Config:
        """Both: no Allocate, but PreStartContainer again. Raises what `start_container` does."""
        return self._pods.restart_container(uid, name, config)

    def finish(self, uid: str, phase: Literal["Succeeded", "Failed"] = "Succeeded") -> None:
        """All containers have ended for good. Devices are freed when next they are collected.

        Raises LookupError.
        """
        self._pods.finish(uid, phase)

    def remove(self, uid: str) -> None:
        """The pod is deleted; its devices as with `finish`. Raises LookupError."""
        self._pods.remove(uid)

    def status(self, uid: str) -> dict[str, Any]:
        """The pod's status as the API shows it, with the health of its devices. LookupError."""
        return self._pods.status(uid)

    def allocated(self, uid: str, container: str, resource: str) -> frozenset[str]:
        """Ids that a container holds."""
        return self._pods.allocated(uid, container, resource)
