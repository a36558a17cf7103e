"""A client behind an adapter of its own, which answers lines of JSON (`engine.lines`).

An act has the name of a method of Client, and its arguments as members: `{"act": "exit", "uid":
"u", "container": "main", "status": 1}`. Pods are v1.Pod objects. Whatever is refused is answered
with `error`, a text; choices that cannot be had with `refused`.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from conformance.engine.options import BadOption
from conformance.engine.targets.lines import Gone, Lines, Message
from conformance.engine.targets.placeholders import fill
from conformance.engine.verdict import Broken
from conformance.kubelet.client import ABILITIES
from conformance.kubelet.reading import pod_state
from refimpl.deviceplugin.kubelet import Capacity
from refimpl.node.choices import KubeletChoices
from refimpl.node.pods import PodSpec, PodStatus
from refimpl.wire.client import Unreachable

__all__ = ["LinesClient"]

_NODE = "refimpl-node"


class LinesClient:
    """What is asked of it goes to the adapter that `command` starts, with {kubelet},
    {device-plugins}, {registry}, {dir} and {node} filled in.

    Raises BadOption, Unreachable for a command that is none.
    """

    def __init__(self, command: Sequence[str]) -> None:
        self._home = Path(tempfile.mkdtemp(prefix="kub-"))
        self.folder = self._home / "kubelet"
        values = {
            "kubelet": self.folder,
            "device-plugins": self.folder / "device-plugins",
            "registry": self.folder / "plugins_registry",
            "dir": self._home / "dir",
            "node": _NODE,
        }
        for name in ("kubelet", "dir"):
            (self._home / name).mkdir()
        self._lines = Lines([fill(word, values) for word in command])
        self._choices = KubeletChoices()
        self._started, self._fate = False, ""
        try:
            identity = self._lines.hello()
            self.name, self.version = str(identity["name"]), str(identity["version"])
            self.profile = str(identity.get("profile", "1.37"))
            self.quiet_s = float(identity.get("quiet_s", 2.5))
            self.able = frozenset(identity.get("able") or ())
            if strange := self.able - ABILITIES:
                raise BadOption(
                    f"{self.name}: able {', '.join(sorted(strange))}: there are {sorted(ABILITIES)}"
                )
        except BaseException:
            self.close()
            raise

    @property
    def root(self) -> Path:
        """Its --root-dir as it runs now."""
        return self.folder / self._choices.root

    def start(self, choices: KubeletChoices | None = None) -> None:
        """Starts it, as before or with other choices, and waits until plugins can register."""
        wanted = choices or self._choices
        reply = self._answer("start", folder=str(self.folder), choices=attrs.asdict(wanted))
        if "refused" in reply:
            raise BadOption(f"{self.name}: {reply['refused']}")
        if "error" in reply:
            raise Unreachable(f"{self.name} does not start: {reply['error']}")
        self._choices, self._started, self._fate = wanted, True, ""

    def end(self, *, kill: bool = False) -> None:
        """SIGTERM, or SIGKILL; pods go on running. Nothing if it does not run."""
        if self._started:
            self._started = False
            with contextlib.suppress(Broken):
                self._act("end", kill=kill)

    def running(self) -> bool:
        """Whether it is alive."""
        return self._started and not self.fate()

    def fate(self) -> str:
        """Why the adapter ended, or what it says of the client; empty while both live."""
        if self._started and not self._fate:
            with contextlib.suppress(Broken):
                self._fate = str(self._act("fate").get("fate", ""))
        return self._fate

    def silence(self) -> str:
        """Empty: an adapter that does not answer an act is ended, which is its fate."""
        return ""

    def run(self, pod: PodSpec) -> None:
        """Binds the pod to the node; what becomes of it is in its state."""
        self._act("run", pod=pod.manifest(_NODE))

    def delete(self, uid: str) -> None:
        """Deletes a pod and waits until it is gone."""
        self._act("delete", uid=uid)

    def forget(self, uid: str) -> None:
        """Takes a pod out of the API."""
        self._act("forget", uid=uid)

    def state(self, uid: str) -> PodStatus | None:
        """What is known of a pod; None for one that is gone."""
        pod = self._act("state", uid=uid).get("pod")
        return pod_state(pod) if pod else None

    def exit(self, uid: str, container: str, status: int = 0) -> None:
        """The process of a container ends."""
        self._act("exit", uid=uid, container=container, status=status)

    def reboot(self) -> None:
        """All containers are gone, and the node has another boot id."""
        self._act("reboot")

    def configs(self, uid: str, container: str) -> list[dict[str, Any]]:
        """The ContainerConfig of each start of a container, oldest first."""
        return list(self._act("configs", uid=uid, container=container)["configs"])

    def node(self) -> Capacity:
        """What the node's status says."""
        reply = self._act("node")
        return Capacity(reply.get("capacity", {}), reply.get("allocatable", {}))

    def advance(self, seconds: float) -> None:
        """Lets that much time pass."""
        self._act("advance", seconds=seconds)

    def deafen(self) -> None:
        """Has accept fail at the socket where plugins register."""
        self._act("deafen")

    def healthy(self) -> bool:
        """What its health check says."""
        return bool(self._act("healthy").get("healthy"))

    def metrics(self) -> Mapping[str, float]:
        """`name{label="value",…}` -> value of every counter and gauge."""
        return dict(self._act("metrics")["metrics"])

    def topology(self, question: str, values: Mapping[str, Any]) -> Any:
        """The answer of its topology manager to a question of `refimpl.deviceplugin.topology`."""
        return self._act("topology", question=question, values=dict(values)).get("answer")

    def close(self) -> None:
        """Ends it and everything of it."""
        self.end(kill=True)
        self._lines.close()
        shutil.rmtree(self._home, ignore_errors=True)

    def _act(self, method: str, **request: Any) -> Message:
        reply = self._answer(method, **request)
        if "error" in reply:
            raise Broken(f"the adapter does {method}", "an answer", str(reply["error"]))
        return reply

    def _answer(self, method: str, **request: Any) -> Message:
        try:
            return self._lines.answer(method, request)
        except Gone as gone:
            self._fate = f"its adapter died: {gone}"
            raise Broken(f"the adapter does {method}", "an answer", str(gone)) from gone
