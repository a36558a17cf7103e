"""A real kubelet, or what has its flags, behind the port of the suites: with an API server and a
runtime of ours, over a folder of its own."""

from __future__ import annotations

import contextlib
import functools
import os
import re
import shutil
import subprocess
import tempfile
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from threading import Event
from time import monotonic
from typing import Any

from google.protobuf.json_format import MessageToDict

from conformance.engine.options import BadOption
from conformance.engine.supervise import Supervised, fill
from conformance.engine.verdict import timeout
from conformance.kubelet.apiserver import ApiServer
from conformance.kubelet.client import ABILITIES, Ability, Choices
from conformance.kubelet.configuration import Ports, kubeconfig, kubelet_configuration
from conformance.kubelet.machine import Machine
from conformance.kubelet.objects import Place
from conformance.kubelet.pods import Capacity, PodSpec, PodState
from conformance.kubelet.reading import capacity_of, last_words, metrics_of, pod_state
from refimpl.cri.fake import FakeRuntime
from refimpl.deviceplugin import illusion
from refimpl.deviceplugin.layout import Layout
from refimpl.wire.client import Unreachable
from refimpl.wire.endpoint import Endpoint, probe

__all__ = ["RealKubelet"]

_ABLE: frozenset[Ability] = ABILITIES - {"clock", "topology", "claims"}
_START_S, _END_S, _GONE_S = 60.0, 30.0, 60.0
_VERSION = re.compile(r"v?(\d+\.\d+)\.\d+\S*")
_STATES = ("cpu_manager_state", "memory_manager_state")
# What kubelet says when it will not have its configuration, the machine, or both together.
_REFUSALS = re.compile(
    r"validat|invalid|polic|topolog|unsupported|not supported|feature gate", re.I
)


class RealKubelet:
    """The client of `command`, in which {config}, {kubeconfig}, {dir}, {node} and {runtime} (the
    endpoint of the CRI) are filled in.

    Raises BadOption where there is no such program or no mount namespace to be had.
    """

    name = "kubelet"

    def __init__(self, command: Sequence[str], *, node: str = "refimpl-node") -> None:
        if os.geteuid():
            raise BadOption(f"{command[0]}: a real kubelet runs as root only")
        if reason := illusion.obstacle():
            raise BadOption(f"{command[0]}: it needs a mount namespace of its own: {reason}")
        self.version = _version(command[0])
        found = _VERSION.fullmatch(self.version)
        self.profile = found[1] if found else "1.37"
        self.able = _ABLE
        self._command, self._node = tuple(command), node
        self._place = Path(tempfile.mkdtemp(prefix="refimpl-"))
        self.folder = self._place / "kubelet"
        self.folder.mkdir()
        self._machine = Machine(self._place / "machine", node)
        self._api = ApiServer()
        self._runtime = FakeRuntime(self._place / "cri.sock")
        self._runtime.start()
        self._choices = Choices()
        self._ports = Ports.free()
        self._process: Supervised | None = None
        self._pods: dict[str, Place] = {}
        self._wanted = False  # it is to run: whatever ends it now is its fate

    # The process

    def start(self, choices: Choices | None = None) -> None:
        """See `Client`."""
        if choices is not None and choices != self._choices:
            self._choices = choices
            for name in _STATES:  # kubelet does not start with those of another policy
                (self.folder / name).unlink(missing_ok=True)
        self._log().write_bytes(b"")
        self._process = Supervised(self._words(), folder=self._place).start()
        self._wanted = True
        watched = self._api.watches["v1/pods"]
        self._until(lambda: self._up(watched), "is not ready", _START_S)

    def end(self, *, kill: bool = False) -> None:
        """See `Client`."""
        self._wanted = False
        if self._process is not None:
            if kill:
                self._process.kill()
            else:
                self._process.terminate(_END_S)
        self._api.objects.end_watches()

    def running(self) -> bool:
        """See `Client`."""
        return self._process is not None and self._process.running()

    def fate(self) -> str:
        """See `Client`."""
        if not self._wanted or self._process is None or self.running():
            return ""
        return f"exit status {self._process.status()}: {last_words(self._said())}"

    def close(self) -> None:
        """See `Client`."""
        self.end(kill=True)
        self._runtime.stop()
        self._api.close()
        shutil.rmtree(self._place, ignore_errors=True)

    # Pods

    def run(self, pod: PodSpec) -> None:
        """See `Client`."""
        self._pods[pod.uid] = Place("v1/pods", pod.namespace, pod.name)
        self._api.put(pod.manifest(self._node))

    def delete(self, uid: str) -> None:
        """See `Client`."""
        if not self.running():
            return self.forget(uid)
        if self.state(uid) is not None:
            self._api.objects.remove(self._pods[uid], uid=uid)
        self._until(lambda: self.state(uid) is None, f"does not end pod {uid}", _GONE_S)

    def forget(self, uid: str) -> None:
        """See `Client`."""
        if self.state(uid) is not None:
            self._api.objects.remove(self._pods[uid], uid=uid, grace_s=0)

    def state(self, uid: str) -> PodState | None:
        """See `Client`."""
        place = self._pods.get(uid)
        found = place and self._api.get(place.resource, place.name, place.namespace)
        if not found or found["metadata"]["uid"] != uid:
            return None
        return pod_state(found)

    def exit(self, uid: str, container: str, status: int = 0) -> None:
        """See `Client`."""
        for each in reversed(self._runtime.containers(uid)):
            if each.key.name == container:
                self._runtime.exit(each.id, status)
                return

    def configs(self, uid: str, container: str) -> list[dict[str, Any]]:
        """See `Client`."""
        made = self._runtime.configs(uid, container)
        return [MessageToDict(each, preserving_proto_field_name=True) for each in made]

    # The node

    def reboot(self) -> None:
        """See `Client`."""
        self._runtime.reboot()
        self._machine.reboot()

    def node(self) -> Capacity:
        """See `Client`."""
        return capacity_of(self._api.get("v1/nodes", self._node) or {})

    def advance(self, seconds: float) -> None:
        """A real kubelet has a clock of its own; raises NotImplementedError."""
        raise NotImplementedError(f"{self.name}: time cannot be advanced by {seconds:g} s")

    def topology(self, question: str, values: Mapping[str, Any]) -> Any:
        """Only pods tell what a real kubelet thinks; raises NotImplementedError."""
        raise NotImplementedError(f"{self.name}: it answers no question such as {question}")

    def metrics(self) -> Mapping[str, float]:
        """See `Client`."""
        return metrics_of(_get(self._ports.read, "/metrics"))

    # Inside

    def _words(self) -> list[str]:
        self._ports = Ports.free()
        runtime = f"unix://{self._place}/cri.sock"
        config, server = self._place / "kubelet.json", self._place / "kubeconfig"
        config.write_text(kubelet_configuration(self._choices, self._ports, runtime, self._place))
        server.write_text(kubeconfig(self._api.url))
        self._machine.arrange(self._choices.nodes)
        values = {
            "config": str(config),
            "kubeconfig": str(server),
            "dir": illusion.REAL,
            "node": self._node,
            "runtime": runtime,
        }
        return self._machine.words(self.folder, [fill(word, values) for word in self._command])

    def _up(self, watched: int) -> bool:
        socket = Endpoint.parse(Layout(self.folder).plugins / "kubelet.sock")
        return (
            self._api.watches["v1/pods"] > watched
            and self._api.get("v1/nodes", self._node) is not None
            and probe(socket) == "live"
            and _healthy(self._ports.health)
        )

    def _until(self, condition: Callable[[], bool], complaint: str, limit_s: float) -> None:
        end = monotonic() + timeout(limit_s)
        while not condition():
            if not self.running():
                self._refused()
                raise Unreachable(f"{self._command[0]}: {self.fate()}")
            if monotonic() > end:
                said = last_words(self._said())
                raise Unreachable(f"{self._command[0]} {complaint} in {limit_s:g} s: {said}")
            Event().wait(0.02)

    def _refused(self) -> None:
        """Raises BadOption if it has ended for what it was told."""
        said = last_words(self._said())
        if self._process and self._process.status() == 1 and _REFUSALS.search(said):
            raise BadOption(f"{self._command[0]} refuses {self._choices}: {said}")

    def _log(self) -> Path:
        return self._place / "log"

    def _said(self) -> str:
        return self._log().read_text(errors="replace")


@functools.cache
def _version(program: str) -> str:
    """As `kubelet --version` tells it; raises BadOption where there is no such program."""
    try:
        done = subprocess.run(
            [program, "--version"], capture_output=True, text=True, check=False, timeout=timeout(20)
        )
    except OSError as error:
        raise BadOption(f"{program}: {error.strerror}") from error
    except subprocess.TimeoutExpired:
        return ""
    found = _VERSION.search(done.stdout)
    return found[0].removeprefix("v") if found else ""


def _healthy(port: int) -> bool:
    with contextlib.suppress(OSError):
        return _get(port, "/healthz") == "ok"
    return False


def _get(port: int, path: str) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=timeout(10)) as answer:
        text: str = answer.read().decode()
        return text
