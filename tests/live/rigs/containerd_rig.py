"""A containerd of its own, without kubelet, registry or network: CRI calls in, plugins exec'd.

It runs in namespaces of its own (see namespaces.py) with root, state and socket in one folder;
its first image is the pause image that we write ourselves.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import uuid
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Self

import psutil

from conformance.engine.verdict import eventually
from refimpl.cri import kubelet
from refimpl.cri.api import cri_pb2 as pb
from refimpl.images.archive import write_archive
from refimpl.images.shelf import Shelf
from refimpl.node.pods import IMAGE
from refimpl.wire.client import Unreachable
from refimpl.wire.endpoint import Endpoint
from tests.live.peers import Containerd
from tests.live.rigs.containerd_config import configuration
from tests.live.rigs.namespaces import Inside, Namespaces
from tests.live.rigs.rig import Rig

__all__ = ["ContainerdRig"]

_CGROUPS = Path("/sys/fs/cgroup")
_REQUEST_S = 60.0


class ContainerdRig(Rig):
    """One containerd, from its start to the last trace of it.

    `bin_dirs` (before 2.0: one) and `conf_dir` are where it looks for plugins and networks; `cni`
    adds to its other settings of CNI (`max_conf_num`, `setup_serially`, ...), `cri` to those of CRI
    (`cdi_spec_dirs`, ...) and `env` to its environment.

    Attributes: `folder` has everything and is removed at the end; `cni_state` in it stands for
    /var/lib/cni, and outlives restarts and a reboot; `cgroup_parent` of all pods; `namespaces`,
    where one can look around with `namespaces.run("ip", "addr")`.
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
    ) -> None:
        self.programs = programs
        self.folder = Path(tempfile.mkdtemp(prefix="containerd-"))
        self.folder.chmod(0o711)  # root of a user namespace has to get to its files
        self.log, self.cni_state = self.folder / "log", self.folder / "cni"
        self.endpoint = Endpoint.parse(f"unix://{self.folder}/containerd.sock")
        self.cgroup_parent = f"/refimpl-{uuid.uuid4().hex[:8]}"
        self._env = self._environment(env or {})
        self._process: Inside | None = None
        self._cri: kubelet.RemoteRuntime | None = None
        try:
            self.cni_state.mkdir(mode=0o700)
            image = Shelf(busybox.read_bytes())["sleeper:1"]
            write_archive(self.folder / "pause.tar", {IMAGE: image})
            text = configuration(
                programs.version,
                self.folder,
                image=IMAGE,
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
        self.until(self._answers, "containerd answers")
        if not self._has_image():
            self._import_image()
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

    def close(self) -> None:
        """Ends containerd, shims and pods in whatever state, removes the folder; once is enough."""
        with contextlib.suppress(subprocess.TimeoutExpired):  # the namespaces' end is its end
            self.kill()
        self.namespaces.close()
        self._remove_cgroups()
        shutil.rmtree(self.folder, ignore_errors=True)

    # CRI

    @property
    def cri(self) -> kubelet.RemoteRuntime:
        """The connection to it; raises RuntimeError while it is not started."""
        if self._cri is None:
            raise RuntimeError("containerd is not started: call start() or use `with`")
        return self._cri

    def run_pod(self) -> str:
        """Runs a sandbox of a new pod; returns its id, raises Refused."""
        return self.cri.run_pod_sandbox(
            kubelet.sandbox_config("pod", cgroup_parent=self.cgroup_parent)
        )

    def pods(self) -> dict[str, str]:
        """The state (SANDBOX_READY, SANDBOX_NOTREADY) of each sandbox by its id."""
        sandboxes = self.cri.list_pod_sandboxes()
        return {each.id: pb.PodSandboxState.Name(each.state) for each in sandboxes}

    def netns(self, sandbox_id: str) -> str:
        """The path of a pod's network namespace, as containerd and its plugins see it."""
        info = kubelet.info_of(self.cri.pod_sandbox_status(sandbox_id, verbose=True))
        namespaces = info["runtimeSpec"]["linux"]["namespaces"]
        return next(str(each["path"]) for each in namespaces if each["type"] == "network")

    # What is there

    def cache(self) -> list[Path]:
        """The files of libcni's cache."""
        return sorted((self.cni_state / "results").glob("*"))

    def processes(self) -> list[psutil.Process]:
        """What runs because of us: containerd, shims, pods, plugins."""
        return self.namespaces.processes()

    # Inside

    def _end(self, number: signal.Signals) -> None:
        # The signal first: containerd would see the end of the channel as calls being cancelled.
        if self._process is not None:
            self._process.end(number, limit_s=30.0)
            self._process = None
        if self._cri is not None:
            self._cri.close()
            self._cri = None

    def _answers(self) -> bool:
        try:
            self._cri = kubelet.connect(self.endpoint, ready_s=0.25, request_s=_REQUEST_S)
        except Unreachable:
            return False
        return True

    def _has_image(self) -> bool:
        return self.cri.image_status(IMAGE) is not None

    def _import_image(self) -> None:
        options = [] if self.programs.version.startswith("1.") else ["--local"]
        self._ctr("images", "import", *options, str(self.folder / "pause.tar"))
        self.until(self._has_image, f"containerd has {IMAGE}")

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
                eventually(partial(_removed, Path(folder)), 20.0, f"nothing is left in {folder}")


def _removed(cgroup: Path) -> bool:
    try:
        cgroup.rmdir()
    except OSError:  # its last processes are still on their way out
        return not cgroup.exists()
    return True
