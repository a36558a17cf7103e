"""A machine of its own for a runtime: network, mount and process namespaces that end with us.

The first process of the process namespace reads a pipe from us. Whatever way we end, the pipe
closes, that process ends, and the kernel ends all others and drops every mount and every link.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import IO, Any

import psutil

from conformance.engine.verdict import eventually, timeout
from refimpl.cni.host import syscalls

__all__ = ["Inside", "Namespaces", "until", "why_not"]

# /run is fresh but for the file that resolv.conf may link to; libcni's folder is $1, and kubelet's
# may be mounted later. Ignored SIGCHLD stays ignored across exec, so that orphans are reaped by the
# kernel.
_FIRST = """
set -e
ip link set lo up
resolv=$(readlink -f /etc/resolv.conf || true)
kept=$(cat "$resolv" 2>/dev/null || true)
mount -t tmpfs -o mode=755 none /run
[ -e "$resolv" ] || { mkdir -p "${resolv%/*}"; printf '%s\\n' "$kept" >"$resolv"; }
mkdir -p /run/netns /run/lock
if ! [ -d /var/lib/cni ] || ! [ -d /var/lib/kubelet ]; then
    mkdir -p /run/over/upper /run/over/work
    mount -t overlay -o lowerdir=/var/lib,upperdir=/run/over/upper,workdir=/run/over/work \
        none /var/lib
    mkdir -p /var/lib/cni /var/lib/kubelet
fi
mount --bind "$1" /var/lib/cni
trap '' CHLD
echo ready
exec cat
"""


def why_not() -> str:
    """Why this user or machine cannot have such namespaces; empty if it can."""
    if os.geteuid():
        return "namespaces for a container runtime need root"
    missing = [name for name in ("unshare", "nsenter", "ip", "mount") if not shutil.which(name)]
    return f"there is no {', '.join(missing)} here" if missing else ""


def until(condition: Callable[[], object], what: str, limit_s: float = 20.0) -> None:
    """Waits for the condition; raises Broken that says what was waited for."""
    eventually(condition, limit_s, what)


class Inside:
    """A program inside, alone: a signal to it does not reach what it has started."""

    def __init__(self, command: list[str], log: IO[bytes], env: dict[str, str]) -> None:
        self._entered = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=env,
            start_new_session=True,
        )
        # nsenter has to fork to be in the process namespace; it ends when its child does.
        until(lambda: bool(self._children()) or not self.running(), " ".join(command))
        self._program = next(iter(self._children()), None)

    def running(self) -> bool:
        """Whether the program has not ended."""
        return self._entered.poll() is None

    def status(self) -> int | None:
        """Its exit status (negative for a signal), None while it runs."""
        return self._entered.poll()

    def wait(self, limit_s: float) -> int:
        """Its exit status; raises subprocess.TimeoutExpired."""
        return self._entered.wait(timeout(limit_s))

    def end(self, number: signal.Signals, limit_s: float = 10.0) -> None:
        """Sends a signal and waits for the end; raises subprocess.TimeoutExpired."""
        if self._program and self.running():
            with contextlib.suppress(psutil.NoSuchProcess):
                self._program.send_signal(number)
        self.wait(limit_s)

    def _children(self) -> list[psutil.Process]:
        with contextlib.suppress(psutil.NoSuchProcess):
            return psutil.Process(self._entered.pid).children()
        return []


class Namespaces:
    """Network, mount and process namespaces with a /run and a /var/lib/cni of their own, and with a
    /var/lib/kubelet.

    `cni` is the folder that stands for /var/lib/cni, where libcni keeps its cache. Raises
    RuntimeError with the system's words where they cannot be had.
    """

    def __init__(self, cni: Path) -> None:
        self._holder = subprocess.Popen(
            [
                *("unshare", "--mount", "--net", "--pid", "--fork", "--kill-child"),
                *("--mount-proc", "--propagation", "private", "sh", "-c", _FIRST, "sh", str(cni)),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        assert self._holder.stdout
        if self._holder.stdout.readline() != b"ready\n":
            reason = self._holder.communicate()[1].decode(errors="replace").strip()
            raise RuntimeError(f"no namespaces of our own: {reason}")

    def command(self, *words: str) -> list[str]:
        """The command that runs these words inside."""
        mine = f"/proc/{self._holder.pid}/ns"
        # The holder itself is in the new namespaces except for the one of processes.
        where = (f"--net={mine}/net", f"--mount={mine}/mnt", f"--pid={mine}/pid_for_children")
        return ["nsenter", *where, "--", *words]

    def run(self, *words: str, **options: Any) -> str:
        """Runs words inside, returns what they print; raises CalledProcessError."""
        settings: dict[str, Any] = {"check": True, "capture_output": True, "text": True, **options}
        output: str = subprocess.run(self.command(*words), **settings).stdout
        return output

    def start(self, *words: str, log: IO[bytes], env: dict[str, str]) -> Inside:
        """Starts a program inside."""
        return Inside(self.command(*words), log, env)

    def path(self, inside: str) -> Path:
        """A path of the inside, as it can be opened from outside."""
        return Path(f"/proc/{self._holder.pid}/root{inside}")

    @property
    def netns(self) -> str:
        """The path of the network namespace, as it can be opened from outside."""
        return f"/proc/{self._holder.pid}/ns/net"

    def network(self) -> AbstractContextManager[None]:
        """Sockets that are made in here, by this thread, are of the network inside."""
        return syscalls.inside_path(self.netns)

    def processes(self) -> list[psutil.Process]:
        """Everything that runs inside, the first process left out."""
        mine = os.stat(f"/proc/{self._holder.pid}/ns/pid_for_children").st_ino
        inside, deeper = [], []
        for process in psutil.process_iter():
            with contextlib.suppress(OSError, psutil.Error):
                if os.stat(f"/proc/{process.pid}/ns/pid").st_ino != mine:
                    continue
                if process.ppid() != self._holder.pid:
                    inside.append(process)
                # A container has a process namespace of its own, within this one.
                deeper += process.children(recursive=True)
        return list(dict.fromkeys([*inside, *deeper]))

    def close(self) -> None:
        """Ends every process inside; with the last of them mounts and links are gone."""
        assert self._holder.stdin
        with contextlib.suppress(BrokenPipeError):
            self._holder.stdin.close()
        try:
            self._holder.wait(timeout(10.0))
        except subprocess.TimeoutExpired:
            self._holder.kill()
            self._holder.wait()
        for pipe in (self._holder.stdout, self._holder.stderr):
            if pipe:
                pipe.close()
