"""Our fake kubelet as a client under test."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Collection, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from conformance.engine import mutants
from conformance.engine.options import BadOption
from conformance.kubelet.client import ABILITIES
from conformance.kubelet.mutation import KubeletMutant
from refimpl.deviceplugin import topology
from refimpl.deviceplugin.kubelet import Capacity, FakeKubelet
from refimpl.deviceplugin.profiles import Settings, settings_of
from refimpl.node.choices import KubeletChoices
from refimpl.node.kubelet import NodeKubelet
from refimpl.node.pods import PodSpec, PodStatus

__all__ = ["OurKubelet"]


class OurKubelet:
    """A client of the suites in this process, `kubelet`. `profile`: of
    refimpl.deviceplugin.profiles, and `release` where that is none itself; `broken` breaks it;
    `lacks`: what it is not able to do."""

    quiet_s = 0.15

    def __init__(
        self,
        profile: str = "ideal",
        broken: KubeletMutant | None = None,
        *,
        release: str = "",
        lacks: Collection[str] = (),
    ) -> None:
        self.name, self.version = "refimpl kubelet", version("kube-refimpl")
        self.profile = settings_of(profile, release=release).release
        self._named, self._broken = profile, broken
        self.able = ABILITIES - {*lacks}
        self._stack = contextlib.ExitStack()
        self._stack.enter_context(mutants.standing(broken))
        folder = Path(tempfile.mkdtemp(prefix="kub-"))
        self._stack.callback(shutil.rmtree, folder, ignore_errors=True)
        self.kubelet = NodeKubelet(folder, self._settings, set_up=self._break)

    @property
    def folder(self) -> Path:
        """Its /var/lib/kubelet."""
        return self.kubelet.folder

    @folder.setter
    def folder(self, folder: Path) -> None:
        """Another one, before the first start; whoever names it removes it."""
        self.kubelet.folder = folder

    @property
    def root(self) -> Path:
        """Its --root-dir as it runs now."""
        return self.folder / self.kubelet.choices.root

    def _settings(self, choices: KubeletChoices) -> Settings:
        settings = settings_of(self._named, choices.gates, release=self.profile)
        return self._broken.changed(settings) if self._broken else settings

    def _break(self, devices: FakeKubelet) -> None:
        if self._broken:
            self._broken.fake = devices
            self._broken.started()

    # -- its process ----------------------------------------------------------------------------

    def start(self, choices: KubeletChoices | None = None) -> None:
        """Starts it, as before or with other choices; raises BadOption for those it refuses."""
        try:
            self.kubelet.start(choices)
        except ValueError as error:
            raise BadOption(f"{self.name} refuses {choices}: {error}") from error

    def end(self, *, kill: bool = False) -> None:  # noqa: ARG002  (both leave the same)
        """Ends it; pods go on running."""
        self.kubelet.end()

    def running(self) -> bool:
        """Whether it is alive."""
        return self.kubelet.running()

    def fate(self) -> str:
        """Why it ended by itself: a profile or a mutant had it die."""
        return self.kubelet.fate

    def close(self) -> None:
        """Ends it, and removes its folder."""
        self.kubelet.close()
        self._stack.close()

    # -- pods -----------------------------------------------------------------------------------

    def silence(self) -> str:
        """Empty: it is in this process."""
        return ""

    def run(self, pod: PodSpec) -> None:
        """Binds the pod to the node."""
        self.kubelet.run(pod)

    def delete(self, uid: str) -> None:
        """Deletes a pod, which is gone at once."""
        self.kubelet.forget(uid)

    def forget(self, uid: str) -> None:
        """Takes a pod out of the API."""
        self.kubelet.forget(uid)

    def state(self, uid: str) -> PodStatus | None:
        """What is known of a pod; None for one that is gone."""
        return self.kubelet.state(uid)

    def exit(self, uid: str, container: str, status: int = 0) -> None:
        """The process of a container ends."""
        self.kubelet.exit(uid, container, status)

    def reboot(self) -> None:
        """All containers are gone, and the node has another boot id."""
        self.kubelet.reboot()

    def configs(self, uid: str, container: str) -> list[dict[str, Any]]:
        """The ContainerConfig of each start of a container, oldest first."""
        return self.kubelet.configs(uid, container)

    # -- the node -------------------------------------------------------------------------------

    def node(self) -> Capacity:
        """What the node's status says."""
        return self.kubelet.node()

    def advance(self, seconds: float) -> None:
        """Lets that much time pass."""
        self.kubelet.advance(seconds)

    def deafen(self) -> None:
        """Has accept fail at the socket where plugins register."""
        self.kubelet.devices.deafen()

    def healthy(self) -> bool:
        """What its health check says."""
        return self.kubelet.devices.healthy

    def metrics(self) -> Mapping[str, float]:
        """`name{label="value",…}` -> value of every counter."""
        return self.kubelet.metrics()

    def topology(self, question: str, values: Mapping[str, Any]) -> Any:
        """The answer of its topology manager; raises LookupError for an unknown question."""
        return topology.answer(question, values, self._settings(self.kubelet.choices))
