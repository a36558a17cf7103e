"""A kubelet of which only the pod-resources socket is at hand, with whatever pods it runs."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from conformance.engine.targets import life
from conformance.kubelet.client import Ability
from refimpl.deviceplugin.devicemanager.layout import Layout
from refimpl.node.choices import KubeletChoices
from refimpl.wire.client import Channel
from refimpl.wire.endpoint import Endpoint, probe

__all__ = ["SocketClient"]

_READY_S = 10.0


class SocketClient:
    """The methods of `Client` that make sense of it: it is read, and nothing else is done to it.

    `release`: of Kubernetes, such as 1.33.
    """

    name, version = "pod-resources socket", ""
    quiet_s = 2.5
    able: frozenset[Ability] = frozenset({"pod-resources"})

    def __init__(self, endpoint: Endpoint, release: str) -> None:
        self.profile = release
        self._endpoint, self._served = endpoint, False
        # Cases look for sockets below a folder of the client's: this one has a link to it.
        self.folder = self.root = Path(tempfile.mkdtemp(prefix="refimpl-"))

    def start(self, _choices: KubeletChoices | None = None) -> None:
        """Waits until it answers, longer for one that did before; raises Unreachable."""
        with Channel(self._endpoint) as channel:
            channel.wait_ready(life.BACK_S if self._served else _READY_S)
        link = Path(Layout(self.folder).pod_resources.path)
        link.parent.mkdir(exist_ok=True)
        if not link.is_symlink():
            link.symlink_to(self._endpoint.path)
        self._served = True

    def end(self, *, kill: bool = False) -> None:
        """It is not ours to end."""

    def running(self) -> bool:
        """Whether it is served."""
        return probe(self._endpoint) == "live"

    def fate(self) -> str:
        """Why it answers no longer; empty while it does."""
        if not self._served or self.running():
            return ""
        return f"{self._endpoint} is served no longer"

    def silence(self) -> str:
        """Why it says nothing to whom it lets connect."""
        return life.no_sign(self._endpoint, lambda *_: None)

    def close(self) -> None:
        """Forgets it."""
        shutil.rmtree(self.folder, ignore_errors=True)
