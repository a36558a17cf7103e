"""A containerd of its own, without kubelet, registry or network: CRI calls in, plugins exec'd.

It runs in namespaces of its own (see namespaces.py) with root, state and socket in one folder;
its first image is the pause image that we write ourselves.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
import uuid
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import attrs
import psutil

from refimpl.cri.api import cri_pb2 as pb
from refimpl.cri.api.cri_pb2_grpc import ImageServiceStub, RuntimeServiceStub
from refimpl.wire.client import Channel, Unreachable
from refimpl.wire.endpoint import Endpoint
from refimpl.wire.status import Refused
from tests.live.peers import Containerd
from tests.live.rigs.containerd_config import configuration
from tests.live.rigs.namespaces import Inside, Namespaces, until
from tests.live.rigs.oci_archive import write_image

__all__ = ["SANDBOX_IMAGE", "ContainerdRig", "Pod"]

SANDBOX_IMAGE = "refimpl.example/pause:1"
_CGROUPS = Path("/sys/fs/cgroup")


@attrs.frozen
class Pod:
    """A sandbox that was asked for: the configuration sent, and the id once there is one."""

    config: pb.PodSandboxConfig
    id: str = ""


class ContainerdRig:
    """One containerd, from its start to the last trace of it; a context manager.

    `bin_dirs` (before 2.0: one) and `conf_dir` are where it looks for plugins and networks; `cni`
    adds to its other settings of CNI (`max_conf_num`, `setup_serially`, ...), `cri` to those of CRI
    (`cdi_spec_dirs`, ...) and `env` to its environment. `deadline_s` is that of each CRI call.

    Attributes: `folder` has everything and is removed at the end; `cni_state` in it stands for
    /var/lib/cni, and outlives restarts and a reboot; `log`; `cgroup_parent` of all pods;
    `namespaces`, where one can look around with `namespaces.run("ip", "addr")`.
    """

    def __init__(
        self,
        programs: Containerd,
        busybox: Path,
        *,
        bin_dirs: Sequence[Path],
        conf_dir: Path,
        cni: Mapping[str, Any] | None = None,
        cri: Mapping[str, Any] | None = None,
        env: Mapping[str, str] | None = None,
        deadline_s: float = 60.0,
    ) -> None:
        self.programs = programs
        self.folder = Path(tempfile.mkdtemp(prefix="containerd-"))
        self.log, self.cni_state = self.folder / "log", self.folder / "cni"
        self.endpoint = Endpoint.parse(f"unix://{self.folder}/containerd.sock")
        self.cgroup_parent = f"/refimpl-{uuid.uuid4().hex[:8]}"
        self._env = self._environment(env or {})
        self._process: Inside | None = None
        self._channel: Channel | None = None
        self._deadline_s = deadline_s
        try:
            self.cni_state.mkdir(mode=0o700)
            write_image(self.folder / "pause.tar", SANDBOX_IMAGE, busybox)
            text = configuration(
                programs.version,
                self.folder,
                image=SANDBOX_IMAGE,
                bin_dirs=bin_dirs,
                conf_dir=conf_dir,
                cni=cni or {},
                cri=cri or {},
            )
            (self.folder / "config.toml").write_text(text)
            self.namespaces = Namespaces(self.cni_state)
        except BaseException:
            shutil.rmtree(self.folder)
            raise

    # The daemon

    def start(self) -> Self:
        """Starts containerd and waits until it answers and has the sandbox image."""
        program = str(self.programs.program("containerd"))
        command = (program, "--config", str(self.folder / "config.toml"))
        with self.log.open("ab") as log:
            self._process = self.namespaces.start(*command, log=log, env=self._env)
        self._channel = Channel(self.endpoint, deadline_s=self._deadline_s)
        self._until(self._answers, "containerd answers")
        if not self._has_image(SANDBOX_IMAGE):
            self.import_image(self.folder / "pause.tar", SANDBOX_IMAGE)
        return self

    def stop(self) -> None:
        """SIGTERM, as at an upgrade: pods and shims live on."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """SIGKILL: pods, shims and plugins that are running live on."""
        self._end(signal.SIGKILL)

    def restart(self) -> Self:
        """Stops it if it runs, and starts it."""
        self.stop()
        return self.start()

    def reboot(self) -> Self:
        """As after a reboot: all processes, mounts and namespaces are gone, the files are not."""
        self.kill()
        self.namespaces.close()
        self._remove_cgroups()
        self.namespaces = Namespaces(self.cni_state)
        return self.start()

    def running(self) -> bool:
        """Whether containerd is alive."""
        return self._process is not None and self._process.running()

    def wait_end(self, limit_s: float = 10.0) -> int:
        """Waits for an end that nobody asked for, returns the exit status (2 after a panic).

        Raises subprocess.TimeoutExpired while containerd lives on.
        """
        if self._process is None:
            raise RuntimeError("containerd is not started: call start() or use `with`")
        return self._process.wait(limit_s)

    def close(self) -> None:
        """Ends containerd, shims and pods in whatever state, removes the folder; once is enough."""
        with contextlib.suppress(subprocess.TimeoutExpired):  # the namespaces' end is its end
            self.kill()
        self.namespaces.close()
        self._remove_cgroups()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> Self:
        try:
            return self.start()
        except BaseException:
            self.close()
            raise

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _where: TracebackType | None,
    ) -> None:
        self.close()

    # CRI

    @property
    def runtime(self) -> RuntimeServiceStub:
        """The stub for every call that has no method here."""
        return RuntimeServiceStub(self._connected())

    @property
    def images(self) -> ImageServiceStub:
        """The stub of the image service."""
        return ImageServiceStub(self._connected())

    def import_image(self, archive: Path, name: str) -> None:
        """Gives it the image `name` of an OCI archive; returns when CRI knows it."""
        options = [] if self.programs.version.startswith("1.") else ["--local"]
        self._ctr("images", "import", *options, str(archive))
        self._until(partial(self._has_image, name), f"containerd has {name}")

    def pod(self, name: str = "pod", **members: Any) -> Pod:
        """A configuration with a uid of its own; `members` replace those of PodSandboxConfig."""
        identity = {"name": name, "namespace": "default", "uid": str(uuid.uuid4()), "attempt": 0}
        place = {"cgroup_parent": self.cgroup_parent}
        return Pod(pb.PodSandboxConfig(**{"metadata": identity, "linux": place, **members}))

    def run_pod(self, pod: Pod | None = None, *, timeout: float | None = None) -> Pod:
        """RunPodSandbox; returns the pod with its id, raises Refused."""
        wanted = pod or self.pod()
        request = pb.RunPodSandboxRequest(config=wanted.config)
        reply = self.runtime.RunPodSandbox(request, timeout=timeout)
        return attrs.evolve(wanted, id=reply.pod_sandbox_id)

    def stop_pod(self, pod: Pod | str, *, timeout: float | None = None) -> None:
        """StopPodSandbox; raises Refused."""
        request = pb.StopPodSandboxRequest(pod_sandbox_id=_id(pod))
        self.runtime.StopPodSandbox(request, timeout=timeout)

    def remove_pod(self, pod: Pod | str, *, timeout: float | None = None) -> None:
        """RemovePodSandbox; raises Refused."""
        request = pb.RemovePodSandboxRequest(pod_sandbox_id=_id(pod))
        self.runtime.RemovePodSandbox(request, timeout=timeout)

    def pod_status(self, pod: Pod | str) -> pb.PodSandboxStatusResponse:
        """PodSandboxStatus with everything that it tells; raises Refused."""
        request = pb.PodSandboxStatusRequest(pod_sandbox_id=_id(pod), verbose=True)
        return self.runtime.PodSandboxStatus(request)

    def pods(self) -> dict[str, str]:
        """The state (SANDBOX_READY, SANDBOX_NOTREADY) of each sandbox by its id."""
        items = self.runtime.ListPodSandbox(pb.ListPodSandboxRequest()).items
        return {item.id: pb.PodSandboxState.Name(item.state) for item in items}

    def status(self, *, verbose: bool = True) -> pb.StatusResponse:
        """Status; `info` has the loaded networks as JSON."""
        return self.runtime.Status(pb.StatusRequest(verbose=verbose))

    def network_ready(self) -> pb.RuntimeCondition:
        """The condition NetworkReady with its reason and message."""
        conditions = self.status(verbose=False).status.conditions
        return next(one for one in conditions if one.type == "NetworkReady")

    def networks(self) -> list[str]:
        """Names of the networks that are loaded, that of loopback among them."""
        told = json.loads(self.status().info.get("cniconfig") or "{}")
        return [network["Config"]["Name"] for network in told.get("Networks") or []]

    def netns(self, pod: Pod | str) -> str:
        """The path of a pod's network namespace, as containerd and its plugins see it."""
        told = json.loads(self.pod_status(pod).info["info"])
        listed = told["runtimeSpec"]["linux"]["namespaces"]
        return next(str(one["path"]) for one in listed if one["type"] == "network")

    # What is there

    def cache(self) -> list[Path]:
        """The files of libcni's cache."""
        return sorted((self.cni_state / "results").glob("*"))

    def processes(self) -> list[psutil.Process]:
        """What runs because of us: containerd, shims, pods, plugins."""
        return self.namespaces.processes()

    def last_words(self, lines: int = 5) -> str:
        """The end of containerd's log, for a message."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])

    # Inside

    def _connected(self) -> Channel:
        if self._channel is None:
            raise RuntimeError("containerd is not started: call start() or use `with`")
        return self._channel

    def _end(self, number: signal.Signals) -> None:
        # The signal first: containerd would see the end of the channel as calls being cancelled.
        if self._process is not None:
            self._process.end(number, limit_s=30.0)
            self._process = None
        if self._channel is not None:
            self._channel.close()
            self._channel = None

    def _until(self, condition: Callable[[], bool], what: str) -> None:
        try:
            until(lambda: condition() or not self.running(), what)
        except TimeoutError as error:
            raise TimeoutError(f"{error}\n{self.last_words()}") from None
        if not self.running():
            raise RuntimeError(f"{what}: it has ended\n{self.last_words()}")

    def _answers(self) -> bool:
        try:
            self._connected().wait_ready(0.25)
            self.runtime.Version(pb.VersionRequest())
        except (Refused, Unreachable):
            return False
        return True

    def _has_image(self, name: str) -> bool:
        wanted = pb.ImageStatusRequest(image=pb.ImageSpec(image=name))
        return self.images.ImageStatus(wanted).HasField("image")

    def _ctr(self, *words: str) -> str:
        program = str(self.programs.program("ctr"))
        socket = self.endpoint.path
        return self.namespaces.run(program, "-a", socket, "-n", "k8s.io", *words, env=self._env)

    def _environment(self, env: Mapping[str, str]) -> dict[str, str]:
        path = [*map(str, self.programs.path), "/usr/sbin", "/usr/bin", "/sbin", "/bin"]
        return {"PATH": os.pathsep.join(path), "TMPDIR": str(self.folder), **env}

    def _remove_cgroups(self) -> None:
        name = self.cgroup_parent.lstrip("/")
        for top in (_CGROUPS / name, *_CGROUPS.glob(f"*/{name}")):
            for folder, _, _ in os.walk(top, topdown=False):
                until(partial(_removed, Path(folder)), f"nothing is left in {folder}")


def _removed(cgroup: Path) -> bool:
    try:
        cgroup.rmdir()
    except OSError:  # its last processes are still on their way out
        return not cgroup.exists()
    return True


def _id(pod: Pod | str) -> str:
    return pod if isinstance(pod, str) else pod.id
