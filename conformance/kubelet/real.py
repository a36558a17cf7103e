"""A real kubelet, or what has its flags, behind the port of the suites: with an API server and a
runtime of ours, over a folder of its own."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from conformance.engine.options import BadOption
from conformance.engine.targets.placeholders import fill, used
from conformance.kubelet.client import ABILITIES, Ability
from conformance.kubelet.configuration import Ports, kubeconfig, kubelet_configuration
from conformance.kubelet.listener import break_listener, can_break
from conformance.kubelet.machine import Machine
from conformance.kubelet.pod_objects import PodObjects
from conformance.kubelet.program import KubeletProgram, http_answers, http_get, version_of
from conformance.kubelet.reading import capacity_of, container_config, metrics_of
from refimpl.apiserver.server import ApiServer
from refimpl.cri.fake import FakeRuntime
from refimpl.deviceplugin import illusion
from refimpl.deviceplugin.devicemanager.layout import Layout
from refimpl.deviceplugin.kubelet import Capacity
from refimpl.node.choices import KubeletChoices
from refimpl.node.pods import ELSEWHERE, IMAGE, PodSpec, PodStatus
from refimpl.wire.client import Unreachable
from refimpl.wire.endpoint import Endpoint, probe

__all__ = ["RealKubelet"]

_ABLE: frozenset[Ability] = ABILITIES - {"clock", "topology"}
_OF_OUR_RUNTIME: frozenset[Ability] = frozenset({"configs"})
_START_S, _GONE_S = 60.0, 60.0
_STATES = ("cpu_manager_state", "memory_manager_state")
_ADMITTED = ("allocated_pods_state", "actuated_pods_state")
_HOUSEKEPT = "kubelet_desired_pods{"


class RealKubelet:
    """The client of `command`, in which {config}, {kubeconfig}, {kubelet}, {device-plugins},
    {registry}, {dir}, {node} and {runtime} are filled in. `api`, `runtime` and `process` are what
    it lives with, and itself. `cri`: where another runtime than ours answers, in which `exit` and
    `reboot` reach nothing. `settings` come last in its configuration.

    Raises BadOption where there is no such program or no mount namespace to be had.
    """

    name = "kubelet"
    quiet_s = 2.5  # it looks at most things once a second

    def __init__(
        self,
        command: Sequence[str],
        *,
        node: str = "refimpl-node",
        cri: Endpoint | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        if os.geteuid():
            raise BadOption(f"{command[0]}: a real kubelet runs as root only")
        if reason := illusion.obstacle():
            raise BadOption(f"{command[0]}: it needs a mount namespace of its own: {reason}")
        self.version, release = version_of(command[0])
        self.profile = release or "1.37"
        self._command, self._node = tuple(command), node
        self.able = _ABLE - self._lacks() - (_OF_OUR_RUNTIME if cri else set())
        self._place = Path(tempfile.mkdtemp(prefix="refimpl-"))
        self.process = KubeletProgram(command[0], self._place)
        self.folder = self._place / "kubelet"
        self.folder.mkdir()
        self._machine = Machine(self._place / "machine", node)
        self.api = ApiServer()
        self._pods = PodObjects(self.api, node)
        self.runtime = FakeRuntime(self._place / "cri.sock", images=[IMAGE], settings=ELSEWHERE)
        self._cri, self._settings = cri or self.runtime.start(), settings or {}
        self._choices = KubeletChoices()
        self._ports = Ports.free()
        self._settled = False

    @property
    def root(self) -> Path:
        """Its --root-dir as it runs now."""
        return self.folder / self._choices.root

    # The process

    def start(self, choices: KubeletChoices | None = None) -> None:
        """Starts it, as before or with other choices, and waits until plugins can register."""
        before = self._choices
        try:
            self._choose(choices or before)
            self._launch()
        except BaseException as error:
            refusal, refused = self.process.refusal(), self._choices
            self.end(kill=True)
            self._choose(before)  # a start without choices is one as before this
            if refusal and isinstance(error, Unreachable):
                raise BadOption(f"{self._command[0]} refuses {refused}: {refusal}") from error
            raise

    def end(self, *, kill: bool = False) -> None:
        """SIGTERM, or SIGKILL; pods go on running. Nothing if it does not run."""
        self.process.end(kill=kill)
        self.api.objects.end_watches()

    def running(self) -> bool:
        """Whether it is alive."""
        return self.process.running()

    def fate(self) -> str:
        """Why it ended by itself; empty if it did not."""
        return self.process.fate()

    def silence(self) -> str:
        """Why nothing comes from its HTTP endpoints although it runs."""
        silent = self.running() and not http_answers(self._ports.health)
        return f"its port {self._ports.health} answers nothing" if silent else ""

    def close(self) -> None:
        """Ends it and everything of it."""
        self.end(kill=True)
        self.runtime.stop()
        self._pods.close()
        self.api.close()
        self._ports.release()
        shutil.rmtree(self._place, ignore_errors=True)

    # Pods

    def run(self, pod: PodSpec) -> None:
        """Binds the pod to the node; what becomes of it is in its state."""
        if self.running() and not self._settled:
            self.process.until(self._housekept, "does not look after its pods", _START_S)
            self._settled = True
        if not self.running() and pod.uid in self._pods:
            for name in _ADMITTED:  # it would run the pod that it has admitted, not this one
                (self.root / name).unlink(missing_ok=True)
        self._pods.put(pod, Layout(self.folder, self.root).registry)

    def delete(self, uid: str) -> None:
        """Deletes a pod and waits until it is gone."""
        if self.running():
            self._pods.delete(uid)
            self.process.until(
                lambda: self.state(uid) is None or not self.running(),
                f"does not end pod {uid}",
                _GONE_S,
            )
        self.forget(uid)

    def forget(self, uid: str) -> None:
        """Takes a pod out of the API."""
        self._pods.forget(uid)

    def state(self, uid: str) -> PodStatus | None:
        """What is known of a pod; None for one that is gone."""
        return self._pods.state(uid)

    def exit(self, uid: str, container: str, status: int = 0) -> None:
        """The process of a container ends."""
        for each in reversed(self.runtime.containers(uid)):
            if each.key.name == container:
                self.runtime.exit(each.id, status)
                return

    def configs(self, uid: str, container: str) -> list[dict[str, Any]]:
        """The ContainerConfig of each start of a container, oldest first."""
        configs = self.runtime.configs(uid, container)
        return [container_config(each) for each in configs]

    # The node

    def reboot(self) -> None:
        """All containers are gone, and the node has another boot id."""
        self.runtime.reboot()
        self._machine.reboot()

    def node(self) -> Capacity:
        """What the node's status says."""
        return capacity_of(self.api.get("v1/nodes", self._node) or {})

    def advance(self, seconds: float) -> None:
        """A real kubelet has a clock of its own; raises NotImplementedError."""
        raise NotImplementedError(f"{self.name}: time cannot be advanced by {seconds:g} s")

    def deafen(self) -> None:
        """Has accept fail at the socket where plugins register."""
        break_listener(self.process.pid, self.folder / "device-plugins" / "kubelet.sock")

    def healthy(self) -> bool:
        """What its health check says; the port for those knows nothing of device plugins."""
        return http_get(self._ports.read, "/healthz") == "ok"

    def topology(self, question: str, values: Mapping[str, Any]) -> Any:
        """Only pods tell what a real kubelet thinks; raises NotImplementedError."""
        raise NotImplementedError(f"{self.name}: it answers no question such as {question}")

    def metrics(self) -> Mapping[str, float]:
        """`name{label="value",…}` -> value of every counter and gauge."""
        return metrics_of(http_get(self._ports.read, "/metrics"))

    # Inside

    def _lacks(self) -> set[Ability]:
        has: dict[Ability, bool] = {
            "numa": Machine.has_nodes(),
            "root-dir": "kubelet" in used(self._command),
            "listener": can_break(),
        }
        return {ability for ability, there in has.items() if not there}

    def _choose(self, choices: KubeletChoices) -> None:
        if len(choices.nodes) > 1 and "numa" not in self.able:
            raise BadOption(f"{self._command[0]}: NUMA nodes: the kernel here tells of none")
        if choices != self._choices:
            self._choices = choices
            for name in _STATES:  # kubelet does not start with those of another policy
                (self.root / name).unlink(missing_ok=True)

    def _launch(self) -> None:
        watched = self.api.watches["v1/pods"]
        self.process.start(self._words())
        self._settled = False
        self.process.until(lambda: self._up(watched), "is not ready", _START_S)

    def _words(self) -> list[str]:
        self._ports.release()
        self._ports = Ports.free()
        runtime = str(self._cri)
        config, server = self._place / "kubelet.json", self._place / "kubeconfig"
        config.write_text(
            kubelet_configuration(self._choices, self._ports, runtime, self._place, self._settings)
        )
        server.write_text(kubeconfig(self.api.url))
        self._machine.arrange(self._choices.nodes)
        root = Path(illusion.REAL, self._choices.root)
        seen = Layout(Path(illusion.REAL), root)
        values = {
            "config": str(config),
            "kubeconfig": str(server),
            "kubelet": str(root),
            "device-plugins": str(seen.plugins),
            "registry": str(seen.registry),
            "node": self._node,
            "runtime": runtime,
        }
        return self._machine.words(self.folder, [fill(word, values) for word in self._command])

    def _up(self, watched: int) -> bool:
        socket = Endpoint.parse(Layout(self.folder).plugins / "kubelet.sock")
        return (
            self.api.watches["v1/pods"] > watched
            and self.api.get("v1/nodes", self._node) is not None
            and probe(socket) == "live"
            and http_get(self._ports.health, "/healthz") == "ok"
        )

    def _housekept(self) -> bool:
        """Whether it has cleaned up once, two seconds after its start: a pod that it rejects before
        that stays Pending for ever (seen in 1.37.2)."""
        return _HOUSEKEPT in http_get(self._ports.read, "/metrics")
