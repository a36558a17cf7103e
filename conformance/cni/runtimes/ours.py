"""Our own runtime as one under test, as any profile of it, and broken by a mutant."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from conformance.cni.mutation import RuntimeMutant
from conformance.cni.runtimes.library import ERRORS, Library, quick, refusing
from conformance.cni.runtimes.namespaces import Namespaces
from conformance.cni.runtimes.subject import (
    NETNS,
    Readiness,
    RequestedPod,
    RuntimeRefusal,
)
from conformance.engine.mutants import bent
from refimpl.cni.plugins import install
from refimpl.cni.runtime import DaemonDies, profile
from refimpl.cni.runtime import kubernetes as k8s
from refimpl.cni.runtime.pod import PodNetwork

_RAISE = '#!/bin/sh\n[ "$CNI_COMMAND" != ADD ] || nsenter --net="$CNI_NETNS" ip link set lo up\n'
_NO_ROOT = "namespaces of the simulated runtime take root"


class Ours:
    """`fake`, `fake:PROFILE`, `mutant:NAME`: the library behind what a CRI daemon would do."""

    patience_s = 0.5

    version = ""

    def __init__(self, chosen: str = "strict", mutant: RuntimeMutant | None = None) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="refimpl-cni-"))
        self.mutant = mutant
        if mutant:
            mutant.fake = self
        self.profile = quick(mutant.changed(profile(chosen)) if mutant else profile(chosen))
        self.name = "fake" if chosen == "strict" else f"fake:{chosen}"
        self.conf_dir, self.cache_dir = self.folder / "net.d", self.folder / "cache"
        self.bin_dirs: Sequence[Path] = (self.folder / "bin", self.folder / "more")
        for folder in (self.conf_dir, *self.bin_dirs):
            folder.mkdir()
        self.lacks: Mapping[str, str] = {}
        self.namespaces = Namespaces(self.folder / "netns")
        # Without root the way out of a sandbox is closed, and other cases come after ours.
        reason = _NO_ROOT if os.geteuid() else self.namespaces.why_not
        if reason:
            self.lacks = {NETNS: reason}
        self.dead = ""
        self._pods: dict[str, RequestedPod] = {}
        self._attached: dict[str, tuple[PodNetwork, k8s.Pod]] = {}
        self._open()
        if self.profile.pods.loopback == "exec":
            self._install_loopback()

    def _open(self) -> None:
        """A process of the runtime begins."""
        self.library = Library(self.bin_dirs, self.cache_dir, self.profile, self.mutant)
        self.dead = ""

    def _install_loopback(self) -> None:
        target = self.folder / "raise-lo"
        target.write_text(f'{_RAISE}echo \'{{"cniVersion":"0.3.1"}}\'\n')
        target.chmod(0o755)
        install(self.bin_dirs[0], "loopback", "recorder", target=target, journal=None)

    def enter(self) -> None:
        """From now on pods get real namespaces; raises SandboxError."""
        self.namespaces.enter()

    # Networks

    def loaded(self, name: str, _document: bytes, _probed: Callable[[], bool]) -> bool:
        """Whether the folder has this network now."""
        return name in self.networks()

    def networks(self) -> tuple[str, ...]:
        """The names in the folder; none where it cannot be read."""
        return self._act("networks", self._networks)()  # type: ignore[no-any-return]

    def _networks(self) -> tuple[str, ...]:
        try:
            return tuple(each.name for each in self._network().networks)
        except RuntimeRefusal:
            return ()

    def _network(self) -> PodNetwork:
        if self.dead:
            raise RuntimeRefusal(f"nobody answers any more: {self.dead}")
        return self.library.network(self.conf_dir, self._loopback)

    def _loopback(self, netns: str) -> None:
        raise_loopback = self._act("loopback", self.namespaces.raise_loopback)
        raise_loopback(netns)

    def readiness(self, deadline_s: float = 10.0) -> Readiness:
        """What STATUS of all plugins comes to, and the words of the one that fails."""
        return self._act("readiness", self._readiness)(deadline_s)  # type: ignore[no-any-return]

    def _readiness(self, deadline_s: float) -> Readiness:
        with self.library.patience(deadline_s):
            try:
                with refusing():
                    self._network().status()
            except RuntimeRefusal as error:
                return Readiness(False, str(error))
        return Readiness(True)

    # Pods

    def run(self, pod: RequestedPod, deadline_s: float = 20.0) -> None:
        """Makes a namespace and runs ADD of the plugins; raises RuntimeRefusal."""
        with self.library.patience(deadline_s):
            self._act("run", self._run)(pod)

    def _run(self, pod: RequestedPod) -> None:
        network = self._network()
        about = self._sandbox(pod)
        self._attached[pod.id] = network, about
        with refusing():
            try:
                network.setup(about)
            except DaemonDies as error:
                self.dead = str(error)
                raise
            except ERRORS as error:
                repeatable = any("repeat" in note for note in getattr(error, "__notes__", ()))
                if self.profile.pods.forget or not repeatable:
                    self._forget(pod)
                raise
        if pod.stuck:
            self.stop(pod)
            self.remove(pod)
            raise RuntimeRefusal("the first process of the sandbox cannot be started")

    def _sandbox(self, pod: RequestedPod) -> k8s.Pod:
        """Makes the namespace, and knows the pod from now on."""
        pod.id = pod.id or uuid.uuid4().hex * 2
        pod.netns = pod.netns or self.namespaces.make()
        self._pods[pod.id] = pod
        return k8s.Pod(
            id=pod.id,
            netns=pod.netns,
            name=pod.name,
            namespace=pod.namespace,
            uid=pod.uid,
            annotations=pod.annotations,
            ports=pod.ports,
            dns=pod.dns,
        )

    def stop(self, pod: RequestedPod) -> None:
        """Runs DEL of the plugins, those of then or of now as the profile says."""
        self._act("stop", self._stop)(pod)

    def _stop(self, pod: RequestedPod) -> None:
        network, about = self._attached.get(pod.id) or (self._network(), self._sandbox(pod))
        if self.profile.cache.later == "current":
            network = self._network()
        with refusing():
            network.teardown(about)

    def remove(self, pod: RequestedPod) -> None:
        """Stops the pod once more, and lets go of it with its namespace."""
        self._act("remove", self._remove)(pod)

    def _remove(self, pod: RequestedPod) -> None:
        self._stop(pod)
        self._forget(pod)

    def _forget(self, pod: RequestedPod) -> None:
        self._pods.pop(pod.id, None)
        self._attached.pop(pod.id, None)
        self.namespaces.remove(pod.netns)

    def known(self, pod: RequestedPod) -> bool:
        """Whether it was run and is not yet removed."""
        return pod.id in self._pods

    def check(self, pod: RequestedPod) -> None:
        """Runs CHECK of the plugins; raises RuntimeRefusal."""
        with refusing():
            self._network().check(self._sandbox(pod))

    def collect(self, valid: list[RequestedPod]) -> None:
        """Runs GC of the plugins with what is valid; raises RuntimeRefusal."""
        with refusing():
            self._network().collect([self._sandbox(pod) for pod in valid])

    # Its process

    def alive(self) -> bool:
        """Whether nothing has ended it."""
        return not self.dead

    def revive(self) -> bool:
        """Starts it again, which always goes well."""
        self.restart()
        return True

    def kill_during(self, pod: RequestedPod, reached: Callable[[], object]) -> None:
        """Runs the pod in a process of its own, which is killed once `reached` returns."""
        self._sandbox(pod)
        child = os.fork()
        if child == 0:
            try:
                self.run(pod)
            finally:
                os._exit(0)
        try:
            reached()
        finally:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)

    def restart(self) -> None:
        """Forgets all that is not on the disk."""
        self._attached.clear()
        self._act("restart", self._open)()

    def reboot(self) -> None:
        """Removes the namespaces of all pods, and restarts."""
        for pod in self._pods.values():
            self.namespaces.remove(pod.netns)
        self.restart()

    def reach(self, path: str) -> Path:
        """The path itself: it runs in this process."""
        return Path(path)

    def lose_netns(self, path: str, *, leave: str) -> None:
        """Takes a namespace away behind its back; leave: "nothing", "file"."""
        self.namespaces.lose(path, leave=leave)

    def command(self, act: str, pod: RequestedPod | None) -> str:
        """Words for the act; there is no command line that repeats it."""
        return f"refimpl.cni.runtime {act} {pod.name if pod else ''}".strip()

    def close(self) -> None:
        """Leaves the sandbox and removes the folder."""
        self.namespaces.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    # Inside

    def _act(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        return bent(self.mutant, name, real)
