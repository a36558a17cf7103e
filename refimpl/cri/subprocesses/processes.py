"""A `Processes` of real ones: those of the user who runs the runtime, on the machine as it is."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

from refimpl.cri.commands import command_of, environment_of, folder_of
from refimpl.cri.state.models import Container, Sandbox, SandboxState
from refimpl.cri.state.ports import Ended, Output, Usage
from refimpl.cri.subprocesses.kept import Wanted
from refimpl.cri.subprocesses.live import LiveProcesses
from refimpl.cri.subprocesses.tree import signal_all, usage_of
from refimpl.cri.subprocesses.wires import Wires
from refimpl.streaming.outcome import Outcome
from refimpl.streaming.requests import StreamRequest
from refimpl.streaming.streams import Streams
from refimpl.wire.status import Code, Refused

__all__ = ["RealProcesses"]

_DIAL_S = 5.0


class RealProcesses:
    """folder: where a container has its TMPDIR, and folders that the machine does not have, None
    for a temporary one that goes with them."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder, self._own = folder, folder is None
        self._processes = LiveProcesses()
        self._lock = threading.Lock()

    @property
    def features(self) -> Mapping[str, bool]:
        """None: nothing is isolated."""
        return {}

    def close(self) -> None:
        """Ends all of them."""
        self._processes.close()
        if self._own and self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    # -- sandboxes ----------------------------------------------------------------------------

    def make_sandbox(self, sandbox: Sandbox) -> str:
        """No namespace."""
        return ""

    def start_sandbox(self, sandbox: Sandbox, ended: Ended) -> None:
        """Nothing runs in it."""

    def stop_sandbox(self, sandbox: Sandbox) -> None:
        """Nothing to stop."""

    def remove_sandbox(self, sandbox: Sandbox) -> None:
        """Nothing to remove."""

    # -- containers ---------------------------------------------------------------------------

    def create(self, container: Container) -> None:
        """UNKNOWN where neither the container nor its image names a command; UNIMPLEMENTED for the
        files of an image, which nothing is mounted for."""
        if container.volumes:
            raise Refused(
                Code.UNIMPLEMENTED, "the subprocess model mounts no images: choose another model"
            )
        if not command_of(container):
            raise Refused(
                Code.UNKNOWN,
                f"container {container.key.name}: neither it nor its image names a command",
            )

    def start(self, container: Container, output: Output, ended: Ended) -> int:
        """In a session of its own, below a keeper of its own."""
        tty, stdin = bool(container.config.tty), container.config.stdin
        wanted = self._wanted(container, command_of(container), tty=tty)
        wires = Wires.open(tty=tty, stdin=stdin)
        return self._processes.start(container.id, wanted, wires, output=output, ended=ended).pid

    def signal(self, container: Container, number: int) -> None:
        """The others go with the first one."""
        live = self._processes.get(container.id)
        if live is not None:
            live.keeping.signal(number)

    def remove(self, container: Container) -> None:
        """Nobody is told of an end any more."""
        self._processes.forget(container.id)
        if self._folder is not None:
            shutil.rmtree(self._folder / container.id, ignore_errors=True)

    def update(self, container: Container, resources: Any) -> None:
        """Nothing is limited."""

    def usage(self, container: Container) -> Usage:
        """As the kernel has it, of all its processes."""
        live = self._processes.get(container.id)
        return usage_of(live.keeping.pid) if live else Usage()

    # -- who connects -------------------------------------------------------------------------

    def execute(self, container: Container, request: StreamRequest, streams: Streams) -> Outcome:
        """As `LiveProcesses.execute`."""
        self._processes.running(container.id)
        wanted = self._wanted(container, request.command, tty=request.tty)
        wires = Wires.open(tty=request.tty, stdin=request.stdin)
        return self._processes.execute(container.id, wanted, wires, request, streams)

    def attach(self, container: Container, request: StreamRequest, streams: Streams) -> Outcome:
        """As `LiveProcesses.attach`."""
        return self._processes.attach(container, request, streams)

    def dial(self, sandbox: Sandbox, port: int) -> socket.socket:
        """A port of the machine: nothing else is there. FAILED_PRECONDITION once it is stopped,
        UNAVAILABLE where nobody listens."""
        if sandbox.state is not SandboxState.READY:
            raise Refused(Code.FAILED_PRECONDITION, f"sandbox {sandbox.id} is stopped")
        try:
            connection = socket.create_connection(("localhost", port), _DIAL_S)
        except (OSError, OverflowError) as error:
            raise Refused(Code.UNAVAILABLE, f"port {port}: {error}") from None
        connection.settimeout(None)
        return connection

    # -- checkpoints --------------------------------------------------------------------------

    def pause(self, container: Container) -> None:
        """SIGSTOP."""
        signal_all(self._processes.running(container.id).keeping.pid, signal.SIGSTOP)

    def resume(self, container: Container) -> None:
        """SIGCONT."""
        signal_all(self._processes.running(container.id).keeping.pid, signal.SIGCONT)

    def checkpoint(self, container: Container, folder: Path) -> None:
        """Not done."""
        _never("checkpoints")

    def restore(self, container: Container, folder: Path) -> None:
        """Not done."""
        _never("checkpoints")

    # -- inside -------------------------------------------------------------------------------

    def _wanted(self, container: Container, command: Any, *, tty: bool) -> Wanted:
        temporary = self._own_folder(container, "tmp")
        env = {"PATH": os.defpath, "HOSTNAME": container.sandbox.name, "TMPDIR": temporary}
        env |= {"TERM": "xterm"} if tty else {}
        env |= environment_of(container)
        return Wanted([*command], env, self._cwd(container), tty)

    def _cwd(self, container: Container) -> str:
        """As wanted where the machine has it, else a folder of the container's own."""
        wanted = os.path.normpath(f"/{folder_of(container)}")
        if os.path.isdir(wanted):
            return wanted
        return self._own_folder(container, wanted.lstrip("/"))

    def _own_folder(self, container: Container, name: str) -> str:
        with self._lock:
            if self._folder is None:
                self._folder = Path(tempfile.mkdtemp(prefix="refimpl-cri-"))
        path = self._folder / container.id / name
        path.mkdir(parents=True, exist_ok=True)
        return str(path)


def _never(what: str) -> NoReturn:
    raise Refused(Code.UNIMPLEMENTED, f"{what}: the subprocess model does not do that")
