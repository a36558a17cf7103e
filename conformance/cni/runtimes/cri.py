"""A runtime that answers CRI on a socket: containerd, CRI-O, or another one."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import socket
import struct
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from conformance.cni.runtimes.subject import Failed, Feature, Pod, Readiness
from conformance.cni.settings import CniSettings
from conformance.engine.options import BadOption
from conformance.engine.pods import POD
from conformance.engine.things import Things, discard
from conformance.engine.verdict import Broken, eventually, timeout
from refimpl.cni.runtime.cache import DEFAULT
from refimpl.cri.api import cri_pb2 as pb
from refimpl.cri.api.cri_pb2_grpc import RuntimeServiceStub
from refimpl.wire.client import Channel, Unreachable
from refimpl.wire.endpoint import Endpoint, EndpointError
from refimpl.wire.status import Refused

_LABEL = "refimpl.example/run"
LOGS = "logs"
"""The kind under which the folder of the pods' logs is on record; it is the runtime's path."""
_HOOK_S = 60.0
_BOGUS = {"net.ipv4.refimpl_no_such_switch": "1"}
"""A sysctl that the kernel has not: the sandbox's first process cannot be started with it."""


class CriRuntime:
    """`unix:///…`: sandboxes by RunPodSandbox and its like, folders by what Status tells or by the
    options --cni-conf-dir, --cni-bin-dir and --cni-cache-dir. What takes the process of the daemon
    in hand is done by the commands of the target file's [cni.hooks].
    """

    def __init__(
        self, endpoint: str, chosen: CniSettings, run_id: str, things: Things | None = None
    ) -> None:
        try:
            self.endpoint = Endpoint.parse(endpoint)
        except EndpointError as error:
            raise BadOption(str(error)) from error
        self.run_id, self._cgroup_parent = run_id, chosen.cgroup_parent
        self._logs, self._things = f"/tmp/refimpl-{run_id}", things or Things()
        self._hooks = {str(name): words for name, words in chosen.hooks.items()}
        self._channel = Channel(self.endpoint, deadline_s=20.0)
        self._channel.wait_ready(2.0)
        self.stub = RuntimeServiceStub(self._channel)
        try:
            told = self.stub.Version(pb.VersionRequest())
        except Refused as error:
            raise Unreachable(f"{endpoint} does not serve the CRI: {error}") from error
        self.name, self.version = told.runtime_name, told.runtime_version.lstrip("v")
        about = self._info()
        self.conf_dir = Path(chosen.conf_dir or _member(about, "PluginConfDir", "/etc/cni/net.d"))
        dirs = _member(about, "PluginDirs", ["/opt/cni/bin"])
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
            Feature.IDS: f"{self.name} chooses the ids of sandboxes itself",
            Feature.GC: f"{self.name} is never asked for GC over CRI",
        }
        for name in (Feature.RESTART, Feature.KILL, Feature.REBOOT):
            if name not in self._hooks:
                lacks[name] = f"[cni.hooks] of the target file has no command for {name}"
        if len(self.bin_dirs) == 1:
            lacks[Feature.BIN_DIRS] = f"{self.name} has one plugin directory"
        if _config(self._info("config")).get("maxConfNum", 1) == 1:
            lacks[Feature.SEVERAL] = f"{self.name} is set to attach to one network"
        if os.geteuid() or not shutil.which("nsenter"):
            lacks[Feature.NETNS] = "looking into namespaces of the runtime takes root and nsenter"
        if not os.access(self.cache_dir, os.R_OK | os.X_OK):
            lacks[Feature.CACHE] = f"{self.cache_dir} cannot be read; name it by --cni-cache-dir"
        return lacks

    def enter(self) -> None:
        """See RuntimeUnderTest: the runtime makes them itself."""

    # Networks

    def loaded(self, name: str, document: bytes, asked: Callable[[], bool]) -> bool:
        """See RuntimeUnderTest. Without a list of networks (CRI-O): the plugins were probed."""
        listed = self._info().get("Networks")
        if listed is None:
            return asked() and self.readiness().ready
        sources = {each["Config"]["Name"]: each["Config"].get("Source") for each in listed}
        return name in sources and sources[name] == document.decode()

    def networks(self) -> tuple[str, ...]:
        """See RuntimeUnderTest."""
        return tuple(each["Config"]["Name"] for each in self._info().get("Networks") or ())

    def readiness(self, deadline_s: float = 10.0) -> Readiness:
        """See RuntimeUnderTest."""
        status = self._ask("Status", pb.StatusRequest(), deadline_s).status
        for each in status.conditions:
            if each.type == "NetworkReady":
                return Readiness(each.status, f"{each.reason}: {each.message}".strip(": "))
        raise Failed("Status has no condition NetworkReady")

    def _info(self, name: str = "cniconfig") -> dict[str, Any]:
        with contextlib.suppress(Refused, json.JSONDecodeError):
            told = self.stub.Status(pb.StatusRequest(verbose=True)).info.get(name, "{}")
            found = json.loads(told)
            return found if isinstance(found, dict) else {}
        return {}

    # Pods

    def run(self, pod: Pod, deadline_s: float = 20.0) -> None:
        """See RuntimeUnderTest."""
        self._things.making(LOGS, self._logs)
        self._things.making(POD, pod.uid)
        request = pb.RunPodSandboxRequest(config=self._config(pod))
        pod.id = self._ask("RunPodSandbox", request, deadline_s).pod_sandbox_id

    def _config(self, pod: Pod) -> pb.PodSandboxConfig:
        metadata = pb.PodSandboxMetadata(name=pod.name, namespace=pod.namespace, uid=pod.uid)
        mappings = [
            pb.PortMapping(
                protocol=pb.Protocol.Value(port.protocol),
                container_port=port.container_port,
                host_port=port.host_port,
                host_ip=port.host_ip,
            )
            for port in pod.ports
        ]
        linux: dict[str, Any] = {"sysctls": _BOGUS} if pod.stuck else {}
        config = pb.PodSandboxConfig(
            metadata=metadata,
            labels={_LABEL: self.run_id},
            annotations=pod.annotations,
            port_mappings=mappings,
            log_directory=self._logs,
            linux=pb.LinuxPodSandboxConfig(cgroup_parent=self._cgroup_parent, **linux),
        )
        if pod.dns:
            dns = {"servers": pod.dns.servers, "searches": pod.dns.searches}
            config.dns_config.CopyFrom(pb.DNSConfig(**dns, options=pod.dns.options))
        return config

    def stop(self, pod: Pod) -> None:
        """See RuntimeUnderTest."""
        self._ask("StopPodSandbox", pb.StopPodSandboxRequest(pod_sandbox_id=pod.id))

    def remove(self, pod: Pod) -> None:
        """See RuntimeUnderTest."""
        self._ask("RemovePodSandbox", pb.RemovePodSandboxRequest(pod_sandbox_id=pod.id))
        self._things.gone(POD, pod.uid)

    def known(self, pod: Pod) -> bool:
        """See RuntimeUnderTest."""
        wanted = pb.PodSandboxFilter(label_selector={_LABEL: self.run_id})
        listed = self._ask("ListPodSandbox", pb.ListPodSandboxRequest(filter=wanted)).items
        ids = [each.id for each in listed if each.metadata.uid == pod.uid]
        pod.id = pod.id or (ids[0] if ids else "")
        if not ids:
            self._things.gone(POD, pod.uid)
        return bool(ids)

    def check(self, pod: Pod) -> None:
        """See RuntimeUnderTest: CRI-O checks when it is asked for a pod's status."""
        self._ask("PodSandboxStatus", pb.PodSandboxStatusRequest(pod_sandbox_id=pod.id))

    def collect(self, _valid: Sequence[Pod]) -> None:
        """See RuntimeUnderTest: nothing in CRI does it, but a runtime may at its start."""
        if Feature.RESTART in self._hooks:
            self.restart()

    # Its process

    def alive(self) -> bool:
        """See RuntimeUnderTest."""
        try:
            self.stub.Version(pb.VersionRequest(), timeout=5)
        except Refused:
            return False
        return True

    def revive(self) -> bool:
        """See RuntimeUnderTest; without a hook by whoever looks after the daemon."""
        with contextlib.suppress(Unreachable, Failed):
            if Feature.RESTART in self._hooks:
                self._hook(Feature.RESTART)
            self._channel.wait_ready(10.0)
        with contextlib.suppress(Broken):
            eventually(self.alive, 5.0, "an answer")
        return self.alive()

    def kill_during(self, pod: Pod, reached: Callable[[], object]) -> None:
        """See RuntimeUnderTest."""

        def attempt() -> None:
            with contextlib.suppress(Failed):
                self.run(pod)

        running = threading.Thread(target=attempt)
        running.start()
        try:
            reached()
        finally:
            self._hook(Feature.KILL)
            running.join()

    def restart(self) -> None:
        """See RuntimeUnderTest."""
        self._hook(Feature.RESTART)
        eventually(self.alive, 20.0, f"{self.name} answers after its restart")

    def reboot(self) -> None:
        """See RuntimeUnderTest."""
        self._hook(Feature.REBOOT)
        eventually(self.alive, 20.0, f"{self.name} answers after the reboot")

    def _hook(self, name: str) -> None:
        words = self._hooks[name]
        done = subprocess.run(
            words, capture_output=True, timeout=timeout(_HOOK_S), check=False, text=True
        )
        if done.returncode:
            raise Failed(f"hook {shlex.join(words)}: {done.stdout}{done.stderr}".strip())

    def reach(self, path: str) -> Path:
        """See RuntimeUnderTest: through the daemon's own root. /var/run is a link to our /run."""
        inside = path.replace("/var/run/", "/run/", 1) if path.startswith("/var/run/") else path
        return Path(f"/proc/{self._pid()}/root{inside}")

    def lose_netns(self, path: str, *, leave: str) -> None:
        """See RuntimeUnderTest."""
        script = 'umount -l "$1" && rm -f "$1" && { [ "$2" = nothing ] || : > "$1"; }'
        ns = f"/proc/{self._pid()}/ns"
        # umount looks for itself in /proc, which is that of the daemon's processes.
        words = ["nsenter", f"--mount={ns}/mnt", f"--pid={ns}/pid", "--", "sh", "-c", script, "sh"]
        done = subprocess.run([*words, path, leave], capture_output=True, text=True, check=False)
        if done.returncode:
            raise Failed(f"namespace {path} could not be taken away: {done.stderr}")

    def _pid(self) -> int:
        """The process at the other end of the socket, as this process numbers it."""
        with socket.socket(socket.AF_UNIX) as door:
            door.connect(self.endpoint.path)
            told = door.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        return int(struct.unpack("3i", told)[0])

    def command(self, act: str, pod: Pod | None) -> str:
        """See RuntimeUnderTest."""
        verbs = {"run": "runp", "stop": "stopp", "remove": "rmp", "check": "inspectp"}
        about = pod.id or f"{pod.name}.json" if pod else ""
        if act == "run" and pod:
            about = f"{pod.name}.json"
        words = ["crictl", "-r", str(self.endpoint), verbs.get(act, act), about]
        return shlex.join(word for word in words if word)

    def close(self) -> None:
        """See RuntimeUnderTest."""
        with contextlib.suppress(OSError):  # a daemon that is gone has no root to look into
            self.remove_logs(self._logs)
            self._things.gone(LOGS, self._logs)
        self.disconnect()

    def disconnect(self) -> None:
        """Ends the connection and leaves all as it is."""
        self._channel.close()

    def remove_logs(self, path: str) -> bool:
        """Takes a folder of pods' logs away; whether it was there. Raises OSError."""
        return discard(str(self.reach(path)))

    def _ask(self, method: str, request: Any, deadline_s: float = 30.0) -> Any:
        try:
            return getattr(self.stub, method)(request, timeout=deadline_s)
        except Refused as error:
            raise Failed(f"{method}: {error}") from error


def _member(about: Mapping[str, Any], name: str, default: Any) -> Any:
    return about.get(name) or default


def _config(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """The settings of CNI in what containerd tells of its configuration."""
    found = config.get("cni")
    return found if isinstance(found, dict) else {}
