"""A client behind an adapter of its own, which answers lines of JSON; see engine.lines.

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

from conformance.engine.lines import Gone, Lines, Message
from conformance.engine.options import BadOption
from conformance.engine.verdict import Broken
from conformance.kubelet.client import ABILITIES
from conformance.kubelet.reading import pod_state
from refimpl.deviceplugin.kubelet import Capacity
from refimpl.node.choices import KubeletChoices
from refimpl.node.pods import PodSpec, PodState
from refimpl.wire.client import Unreachable

__all__ = ["LinesClient"]

_NODE = "refimpl-node"


class LinesClient:
    """See Client. Raises BadOption, Unreachable for a command that is no adapter."""

    def __init__(self, command: Sequence[str]) -> None:
        self._lines = Lines(command)
        self.folder = Path(tempfile.mkdtemp(prefix="kub-"))
        self._choices = KubeletChoices()
        self._lives, self._fate = False, ""
        try:
            told = self._lines.hello()
            self.name, self.version = str(told["name"]), str(told["version"])
            self.profile = str(told.get("profile", "1.37"))
            self.quiet_s = float(told.get("quiet_s", 2.5))
            self.able = frozenset(told.get("able") or ())
            if strange := self.able - ABILITIES:
                raise BadOption(
                    f"{self.name}: able {', '.join(sorted(strange))}: there are {sorted(ABILITIES)}"
                )
        except BaseException:
            self.close()
            raise

    @property
    def root(self) -> Path:
        """See Client."""
        return self.folder / self._choices.root

    def start(self, choices: KubeletChoices | None = None) -> None:
        """See Client."""
        wanted = choices or self._choices
        told = self._answer("start", folder=str(self.folder), choices=attrs.asdict(wanted))
        if "refused" in told:
            raise BadOption(f"{self.name}: {told['refused']}")
        if "error" in told:
            raise Unreachable(f"{self.name} does not start: {told['error']}")
        self._choices, self._lives, self._fate = wanted, True, ""

    def end(self, *, kill: bool = False) -> None:
        """See Client."""
        if self._lives:
            self._lives = False
            with contextlib.suppress(Broken):
                self._act("end", kill=kill)

    def running(self) -> bool:
        """See Client."""
        return self._lives and not self.fate()

    def fate(self) -> str:
        """See Client: of the adapter, or of what it says has ended."""
        if self._lives and not self._fate:
            with contextlib.suppress(Broken):
                self._fate = str(self._act("fate").get("fate", ""))
        return self._fate

    def run(self, pod: PodSpec) -> None:
        """See Client."""
        self._act("run", pod=pod.manifest(_NODE))

    def delete(self, uid: str) -> None:
        """See Client."""
        self._act("delete", uid=uid)

    def forget(self, uid: str) -> None:
        """See Client."""
        self._act("forget", uid=uid)

    def state(self, uid: str) -> PodState | None:
        """See Client."""
        found = self._act("state", uid=uid).get("pod")
        return pod_state(found) if found else None

    def exit(self, uid: str, container: str, status: int = 0) -> None:
        """See Client."""
        self._act("exit", uid=uid, container=container, status=status)

    def reboot(self) -> None:
        """See Client."""
        self._act("reboot")

    def configs(self, uid: str, container: str) -> list[dict[str, Any]]:
        """See Client."""
        return list(self._act("configs", uid=uid, container=container)["configs"])

    def node(self) -> Capacity:
        """See Client."""
        told = self._act("node")
        return Capacity(told.get("capacity", {}), told.get("allocatable", {}))

    def advance(self, seconds: float) -> None:
        """See Client."""
        self._act("advance", seconds=seconds)

    def deafen(self) -> None:
        """See Client."""
        self._act("deafen")

    def healthy(self) -> bool:
        """See Client."""
        return bool(self._act("healthy").get("healthy"))

    def metrics(self) -> Mapping[str, float]:
        """See Client."""
        return dict(self._act("metrics")["metrics"])

    def topology(self, question: str, values: Mapping[str, Any]) -> Any:
        """See Client."""
        return self._act("topology", question=question, values=dict(values)).get("answer")

    def close(self) -> None:
        """See Client."""
        self.end(kill=True)
        self._lines.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _act(self, act: str, **request: Any) -> Message:
        told = self._answer(act, **request)
        if "error" in told:
            raise Broken(f"the adapter does {act}", "an answer", str(told["error"]))
        return told

    def _answer(self, act: str, **request: Any) -> Message:
        try:
            return self._lines.answer(act, request)
        except Gone as gone:
            self._fate = f"its adapter died: {gone}"
            raise Broken(f"the adapter does {act}", "an answer", str(gone)) from gone
