"""cnitool as a runtime: the reference library behind a command, one act an exec of it."""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from conformance.cni.runtimes.namespaces import Namespaces
from conformance.cni.runtimes.subject import (
    IDS,
    KILL,
    PODS,
    REBOOT,
    RESTART,
    SEVERAL,
    Readiness,
    RequestedPod,
    RuntimeRefusal,
)
from conformance.engine.ledger.entries import FOLDER, Ledger
from refimpl.cni.execute.record import text
from refimpl.cni.runtime import kubernetes as k8s
from refimpl.cni.runtime import profile
from refimpl.cni.runtime.cache import DEFAULT
from refimpl.wire.client import Unreachable

_NO_DAEMON = "cnitool is a command, nothing of it stays to be {}"


class Cnitool:
    """`cnitool:PATH`, in a sandbox: it keeps what it knows in /var/lib/cni and nowhere else."""

    patience_s = 1.0

    lacks: Mapping[str, str] = {
        PODS: "cnitool knows namespaces, and no pods",
        RESTART: _NO_DAEMON.format("started again"),
        KILL: _NO_DAEMON.format("killed"),
        REBOOT: _NO_DAEMON.format("started again"),
        IDS: "cnitool makes the container id of the namespace's path",
        SEVERAL: "cnitool attaches to the one network that is named",
    }

    def __init__(self, path: Path, ledger: Ledger) -> None:
        self.path, self.name = path, path.name
        self.version = _version(path)
        self._ledger = ledger
        self.folder = ledger.folder("refimpl-cni-")
        self.namespaces = Namespaces(self.folder / "netns")
        if self.namespaces.why_not:
            raise Unreachable(f"{path} writes to {DEFAULT}: {self.namespaces.why_not}")
        self.namespaces.enter()
        self.cache_dir = DEFAULT
        self.conf_dir = self.folder / "net.d"
        self.bin_dirs: Sequence[Path] = (self.folder / "bin", self.folder / "more")
        for folder in (self.conf_dir, *self.bin_dirs):
            folder.mkdir()
        self._known: set[int] = set()
        self._line = ""

    def enter(self) -> None:
        """Nothing: it is inside from the start."""

    def loaded(self, _name: str, document: bytes, _probed: Callable[[], bool]) -> bool:
        """Whether a file of the folder is this document: it reads the folder each time."""
        files = self.conf_dir.glob("*.conflist")
        return any(path.read_bytes() == document for path in files if path.exists())

    def networks(self) -> tuple[str, ...]:
        """None: it lists no networks."""
        return ()

    def readiness(self, deadline_s: float = 10.0) -> Readiness:
        """What `cnitool status` says of the network that was put in place last."""
        pod = RequestedPod(name="", uid="", network=self._last_network())
        try:
            self._tool("status", pod, deadline_s)
        except RuntimeRefusal as error:
            return Readiness(False, str(error))
        return Readiness(True)

    def run(self, pod: RequestedPod, deadline_s: float = 20.0) -> None:
        """`cnitool add`, in a namespace of the pod's own; raises RuntimeRefusal."""
        pod.netns = pod.netns or self.namespaces.make()
        pod.id = f"cnitool-{hashlib.sha512(pod.netns.encode()).hexdigest()[:20]}"
        self._known.add(id(pod))
        self._tool("add", pod, deadline_s)

    def stop(self, pod: RequestedPod) -> None:
        """`cnitool del`; raises RuntimeRefusal."""
        self._tool("del", pod)

    def remove(self, pod: RequestedPod) -> None:
        """`cnitool del` once more, and the namespace goes; raises RuntimeRefusal."""
        self._tool("del", pod)
        self._known.discard(id(pod))
        self.namespaces.remove(pod.netns)

    def known(self, pod: RequestedPod) -> bool:
        """Whether it was added and not yet removed: whoever calls cnitool has to remember."""
        return id(pod) in self._known

    def check(self, pod: RequestedPod) -> None:
        """`cnitool check`; raises RuntimeRefusal."""
        self._tool("check", pod)

    def collect(self, _valid: list[RequestedPod]) -> None:
        """`cnitool gc`: there is no way to tell it what is valid. Raises RuntimeRefusal."""
        self._tool("gc", RequestedPod(name="", uid="", network=self._last_network()))

    def alive(self) -> bool:
        """Whether the program is in its place."""
        return self.path.exists()

    def revive(self) -> bool:
        """The same: nothing of it runs between two acts."""
        return self.alive()

    def kill_during(self, _pod: RequestedPod, _reached: Callable[[], object]) -> None:
        """Raises RuntimeRefusal: nothing of it stays to be killed."""
        raise RuntimeRefusal(self.lacks[KILL])

    def restart(self) -> None:
        """Raises RuntimeRefusal: nothing of it stays to be started again."""
        raise RuntimeRefusal(self.lacks[RESTART])

    reboot = restart

    def reach(self, path: str) -> Path:
        """The path itself: it sees what this process sees."""
        return Path(path)

    def lose_netns(self, path: str, *, leave: str) -> None:
        """Takes a namespace away behind its back; leave: "nothing", "file"."""
        self.namespaces.lose(path, leave=leave)

    def command(self, _act: str, _pod: RequestedPod | None) -> str:
        """The line of the last exec."""
        return self._line

    def close(self) -> None:
        """Leaves the sandbox and removes the folder."""
        self.namespaces.close()
        self._ledger.discard(self.folder, FOLDER)

    def _last_network(self) -> str:
        """The name in the file that was put in place last."""
        files = sorted(self.conf_dir.glob("*.conflist"), key=lambda path: path.stat().st_mtime_ns)
        document = json.loads(files[-1].read_bytes()) if files else {}
        return str(document.get("name", ""))

    def _tool(self, verb: str, pod: RequestedPod, deadline_s: float = 20.0) -> str:
        """Runs it; what it printed. Raises RuntimeRefusal with what it said."""
        words = [str(self.path), verb, pod.network, pod.netns or "/"]
        env = self._environment(pod)
        mine = [f"{name}={env[name]}" for name in ("NETCONFPATH", "CNI_PATH", "CNI_ARGS")]
        self._line = shlex.join(["env", *mine, *words])
        try:
            done = subprocess.run(
                words,
                env=env,
                cwd="/",
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=deadline_s,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise RuntimeRefusal(f"cnitool {verb} had not ended after {deadline_s:g} s") from error
        if done.returncode:
            printed = text(done.stdout + b" " + done.stderr, 2000).strip()
            raise RuntimeRefusal(printed or f"exit {done.returncode}")
        return done.stdout.decode(errors="replace")

    def _environment(self, pod: RequestedPod) -> dict[str, str]:
        args = ["IgnoreUnknown=1", f"K8S_POD_NAMESPACE={pod.namespace}", f"K8S_POD_NAME={pod.name}"]
        about = k8s.Pod(
            id=pod.id, netns=pod.netns, annotations=pod.annotations, ports=pod.ports, dns=pod.dns
        )
        has = k8s.capabilities_of(about, profile("strict").pods, pod.network)
        return {
            "PATH": os.environ.get("PATH", os.defpath),
            "PWD": "/",
            "CNI_FOO": "stray",
            "NETCONFPATH": str(self.conf_dir),
            "CNI_PATH": os.pathsep.join(map(str, self.bin_dirs)),
            "CNI_ARGS": ";".join(args) if pod.name else "",
            "CAP_ARGS": json.dumps(has),
        }


def _version(path: Path) -> str:
    """What `go version -m` would say, where the file tells it."""
    data = path.read_bytes()
    mark = b"\tgithub.com/containernetworking/cni\tv"
    at = data.find(mark)
    if at < 0:
        return ""
    return data[at + len(mark) : at + len(mark) + 20].split(b"\t")[0].decode(errors="replace")
