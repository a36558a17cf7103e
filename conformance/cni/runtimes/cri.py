"""A runtime that answers CRI on a socket: containerd, CRI-O, or another one."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from conformance.cni.runtimes.daemon import Daemon
from conformance.cni.runtimes.subject import (
    BIN_DIRS,
    CACHE,
    GC,
    IDS,
    KILL,
    NETNS,
    REBOOT,
    RESTART,
    SEVERAL,
    Readiness,
    RequestedPod,
    RuntimeRefusal,
)
from conformance.cni.settings import CniSettings
from conformance.engine.ledger import pods
from conformance.engine.ledger.entries import Ledger, discard
from conformance.engine.options import BadOption
from conformance.engine.targets.hooks import Hooks
from conformance.engine.verdict import eventually, soon
from refimpl.cni.runtime.cache import DEFAULT
from refimpl.cri import kubelet
from refimpl.cri.api import cri_pb2 as pb
from refimpl.wire.client import Unreachable
from refimpl.wire.status import Refused

_LABEL = "refimpl.example/run"
LOGS = "logs"
"""The kind under which the folder of the pods' logs is on record; it is the runtime's path."""
_BOGUS = {"net.ipv4.refimpl_no_such_switch": "1"}
"""A sysctl that the kernel has not: the sandbox's first process cannot be started with it."""


class CriRuntime:
    """`unix:///…`: sandboxes by RunPodSandbox and its like, folders by what Status tells or by the
    options --cni-conf-dir, --cni-bin-dir and --cni-cache-dir. What takes the process of the daemon
    in hand is done by the commands of the target file's [cni.hooks].
    """

    patience_s = 1.0

    def __init__(
        self, endpoint: str, chosen: CniSettings, run_id: str, ledger: Ledger | None = None
    ) -> None:
        self.run_id, self._cgroup_parent = run_id, chosen.cgroup_parent
        self._logs, self._ledger = f"/tmp/refimpl-{run_id}", ledger or Ledger()
        self._hooks = Hooks(chosen.hooks)
        self.cri = pods.connect(endpoint, ready_s=2.0)
        self._daemon = Daemon(self.cri.endpoint)
        self.name, self.version = self.cri.runtime_name, self.cri.runtime_version
        info = self._info()
        self.conf_dir = Path(chosen.conf_dir or info.get("PluginConfDir") or "/etc/cni/net.d")
        dirs = info.get("PluginDirs") or ["/opt/cni/bin"]
        given = chosen.bin_dir.split(os.pathsep) if chosen.bin_dir else dirs
        self.bin_dirs: Sequence[Path] = tuple(Path(each) for each in given)
        self.cache_dir = Path(chosen.cache_dir) if chosen.cache_dir else DEFAULT
        self.lacks: Mapping[str, str] = self._missing()

    def check_folders(self) -> None:
        """Raises Unreachable where the suite cannot put files into them."""
        for folder in (self.conf_dir, *self.bin_dirs):
            if not os.access(folder, os.W_OK):
                raise Unreachable(
                    f"{folder}: the suite puts files there, and it cannot; run it as root, or say "
                    "with --cni-conf-dir and --cni-bin-dir where the runtime looks"
                )

    def _missing(self) -> dict[str, str]:
        lacks = {
            IDS: f"{self.name} chooses the ids of sandboxes itself",
            GC: f"{self.name} is never asked for GC over CRI",
        }
        for name in (RESTART, KILL, REBOOT):
            if not self._hooks.has(name):
                lacks[name] = f"[cni.hooks] of the target file has no command for {name}"
        if len(self.bin_dirs) == 1:
            lacks[BIN_DIRS] = f"{self.name} has one plugin directory"
        if _config(self._info("config")).get("maxConfNum", 1) == 1:
            lacks[SEVERAL] = f"{self.name} is set to attach to one network"
        if os.geteuid() or not shutil.which("nsenter"):
            lacks[NETNS] = "looking into namespaces of the runtime takes root and nsenter"
        if not os.access(self.cache_dir, os.R_OK | os.X_OK):
            lacks[CACHE] = f"{self.cache_dir} cannot be read; name it by --cni-cache-dir"
        return lacks

    def enter(self) -> None:
        """Nothing: the runtime makes namespaces itself."""

    # Networks

    def loaded(self, name: str, document: bytes, probed: Callable[[], bool]) -> bool:
        """Whether new pods get this network. Without a list of networks (CRI-O): whether plugins
        were asked VERSION and it is ready."""
        listed = self._info().get("Networks")
        if listed is None:
            return probed() and self.readiness().ready
        sources = {each["Config"]["Name"]: each["Config"].get("Source") for each in listed}
        return name in sources and sources[name] == document.decode()

    def networks(self) -> tuple[str, ...]:
        """The names that Status lists; none where it lists none."""
        return tuple(each["Config"]["Name"] for each in self._info().get("Networks") or ())

    def readiness(self, deadline_s: float = 10.0) -> Readiness:
        """The condition NetworkReady; raises RuntimeRefusal."""
        with _failures("Status"):
            status = self.cri.status(timeout=deadline_s).status
        for each in status.conditions:
            if each.type == "NetworkReady":
                return Readiness(each.status, f"{each.reason}: {each.message}".strip(": "))
        raise RuntimeRefusal("Status has no condition NetworkReady")

    def _info(self, name: str = "cniconfig") -> dict[str, Any]:
        with contextlib.suppress(Refused):
            return kubelet.info_of(self.cri.status(verbose=True), name)
        return {}

    # Pods

    def run(self, pod: RequestedPod, deadline_s: float = 20.0) -> None:
        """RunPodSandbox, on record before the call; raises RuntimeRefusal."""
        self._ledger.making(LOGS, self._logs)
        self._ledger.making(pods.POD, pod.uid)
        with _failures("RunPodSandbox"):
            pod.id = self.cri.run_pod_sandbox(self._config(pod), timeout=deadline_s)

    def _config(self, pod: RequestedPod) -> pb.PodSandboxConfig:
        return kubelet.sandbox_config(
            *(pod.name, pod.namespace, pod.uid),
            labels={_LABEL: self.run_id},
            annotations=pod.annotations,
            ports=[pb.PortMapping(**attrs.asdict(port)) for port in pod.ports],
            dns=pb.DNSConfig(**attrs.asdict(pod.dns)) if pod.dns else None,
            log_directory=self._logs,
            cgroup_parent=self._cgroup_parent,
            sysctls=_BOGUS if pod.stuck else None,
        )

    def stop(self, pod: RequestedPod) -> None:
        """StopPodSandbox; raises RuntimeRefusal."""
        with _failures("StopPodSandbox"):
            self.cri.stop_pod_sandbox(pod.id)

    def remove(self, pod: RequestedPod) -> None:
        """RemovePodSandbox; raises RuntimeRefusal."""
        with _failures("RemovePodSandbox"):
            self.cri.remove_pod_sandbox(pod.id)
        self._ledger.gone(pods.POD, pod.uid)

    def known(self, pod: RequestedPod) -> bool:
        """Whether the runtime lists a sandbox of the pod, which gives the pod its id. Raises
        RuntimeRefusal."""
        with _failures("ListPodSandbox"):
            sandboxes = self.cri.list_pod_sandboxes({_LABEL: self.run_id}, uid=pod.uid)
        if not sandboxes:
            self._ledger.gone(pods.POD, pod.uid)
            return False
        pod.id = pod.id or sandboxes[0].id
        return True

    def check(self, pod: RequestedPod) -> None:
        """PodSandboxStatus, at which CRI-O checks a pod; raises RuntimeRefusal."""
        with _failures("PodSandboxStatus"):
            self.cri.pod_sandbox_status(pod.id)

    def collect(self, _valid: Sequence[RequestedPod]) -> None:
        """Restarts it, if there is a hook: nothing in CRI collects, but a runtime may at start."""
        if self._hooks.has(RESTART):
            self.restart()

    # Its process

    def alive(self) -> bool:
        """Whether Version is answered."""
        try:
            self.cri.version(timeout=5)
        except Refused:
            return False
        return True

    def revive(self) -> bool:
        """Whether it answers again, started by the hook, or by whoever looks after the daemon."""
        with contextlib.suppress(Unreachable, RuntimeRefusal):
            if self._hooks.has(RESTART):
                self._hook(RESTART)
            self.cri.channel.wait_ready(10.0)
        return bool(soon(self.alive, 5.0))

    def kill_during(self, pod: RequestedPod, reached: Callable[[], object]) -> None:
        """Runs the pod, waits until `reached` returns, and has the hook kill the runtime."""

        def attempt() -> None:
            with contextlib.suppress(RuntimeRefusal):
                self.run(pod)

        running = threading.Thread(target=attempt)
        running.start()
        try:
            reached()
        finally:
            self._hook(KILL)
            running.join()

    def restart(self) -> None:
        """Ends the runtime and starts it again by its hook; raises RuntimeRefusal, Broken."""
        self._hook(RESTART)
        eventually(self.alive, 20.0, f"{self.name} answers after its restart")

    def reboot(self) -> None:
        """As after a reboot of the node, by its hook; raises RuntimeRefusal, Broken."""
        self._hook(REBOOT)
        eventually(self.alive, 20.0, f"{self.name} answers after the reboot")

    def _hook(self, name: str) -> None:
        try:
            self._hooks.run(name)
        except BadOption as error:
            raise RuntimeRefusal(str(error)) from error

    def reach(self, path: str) -> Path:
        """A path as the daemon sees it, through its own root."""
        return self._daemon.reach(path)

    def lose_netns(self, path: str, *, leave: str) -> None:
        """Takes a network namespace away; leave: "nothing", "file". Raises RuntimeRefusal."""
        self._daemon.lose_netns(path, leave=leave)

    def command(self, act: str, pod: RequestedPod | None) -> str:
        """The line of crictl that repeats an act without us."""
        verbs = {"run": "runp", "stop": "stopp", "remove": "rmp", "check": "inspectp"}
        about = pod.id or f"{pod.name}.json" if pod else ""
        if act == "run" and pod:
            about = f"{pod.name}.json"
        words = ["crictl", "-r", str(self.cri.endpoint), verbs.get(act, act), about]
        return shlex.join(word for word in words if word)

    def close(self) -> None:
        """Removes the folder of logs and hangs up."""
        with contextlib.suppress(OSError):  # a daemon that is gone has no root to look into
            self.remove_logs(self._logs)
            self._ledger.gone(LOGS, self._logs)
        self.disconnect()

    def disconnect(self) -> None:
        """Ends the connection and leaves all as it is."""
        self.cri.close()

    def remove_logs(self, path: str) -> bool:
        """Takes a folder of pods' logs away; whether it was there. Raises OSError."""
        return discard(str(self.reach(path)))


@contextlib.contextmanager
def _failures(rpc: str) -> Iterator[None]:
    """Raises what is refused as RuntimeRefusal."""
    try:
        yield
    except Refused as error:
        raise RuntimeRefusal(f"{rpc}: {error}") from error


def _config(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """The settings of CNI in what containerd tells of its configuration."""
    cni = config.get("cni")
    return cni if isinstance(cni, dict) else {}
