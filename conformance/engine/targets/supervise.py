"""A target that we start ourselves: `refimpl test csi -- ./driver --endpoint {endpoint}`."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Event
from typing import Self

from conformance.engine.options import BadOption
from conformance.engine.targets import output, placeholders, process
from conformance.engine.targets.tie import tie
from conformance.engine.verdict import timeout
from refimpl.wire import polling
from refimpl.wire.client import Channel, Unreachable
from refimpl.wire.endpoint import Endpoint, EndpointError, probe


class Supervised:
    """One process of the target, in a folder of its own. It leads a process group of its own, so
    that ending it ends what it has started. `values` are placeholders of the command besides
    {endpoint}, {dir} and {node}, or instead of them; `env`: variables, in which they are filled in.
    Raises BadOption where the path of its socket would be too long.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        folder: Path | None = None,
        env: Mapping[str, str] | None = None,
        node: str = "refimpl-node",
        start_s: float = 20.0,
        values: Mapping[str, str] | None = None,
    ) -> None:
        self.folder = folder or Path(tempfile.mkdtemp(prefix="refimpl-"))
        self._own = folder is None
        try:
            self.endpoint = Endpoint.parse(f"unix://{self.folder}/run/driver.sock")
        except EndpointError as error:
            raise BadOption(f"{error}; TMPDIR says where") from error
        self.state = self.folder / "dir"
        self.log = self.folder / "log"
        for path in (self.state, self.folder / "run"):
            path.mkdir(mode=0o700, exist_ok=True)
        known = {"endpoint": str(self.endpoint), "dir": str(self.state), "node": node}
        known |= values or {}
        self.command = [placeholders.fill(word, known) for word in command]
        inherited = {
            key: value for key, value in os.environ.items() if key not in polling.VARIABLES
        }
        own = {name: placeholders.fill(value, known) for name, value in (env or {}).items()}
        self._env = {**inherited, **own}
        self._start_s = start_s
        self._began = 0  # where in the log the present process began to write
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> Self:
        """Starts the process; raises BadOption where there is no such program."""
        with self.log.open("ab") as log:
            self._began = log.tell()
            try:
                self.process = subprocess.Popen(
                    self.command,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    env=self._env,
                    start_new_session=True,
                    preexec_fn=tie(),
                )
            except OSError as error:
                raise BadOption(f"{self.command[0]}: {error.strerror}") from error
        started = self.process
        output.bound(self.log, lambda: started.poll() is None)
        return self

    def ready(self) -> Self:
        """Waits until it answers; raises Unreachable with the end of its log."""
        end = time.monotonic() + timeout(self._start_s)
        while True:
            with contextlib.closing(Channel(self.endpoint)) as channel:
                try:
                    channel.wait_ready(0.25)
                    return self
                except Unreachable as error:
                    if self.running() and time.monotonic() < end:
                        Event().wait(0.02)
                        continue
                    ended = "" if self.running() else f", which ended with {self.status()}"
                    complaint = f"{self.command[0]}{ended}: {error}{self.last_words()}"
                    raise Unreachable(complaint) from None

    def wait_end(self, limit_s: float) -> None:
        """Gives a process that is going down the time to be gone."""
        if self.process:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(timeout(limit_s))

    def running(self) -> bool:
        """Whether the process is alive."""
        return self.process is not None and self.process.poll() is None

    def status(self) -> int | None:
        """Its exit status (negative for a signal), None while it runs."""
        return self.process.poll() if self.process else None

    def last_words(self) -> str:
        """What it wrote last, for a message."""
        return process.last_words(self.log, since=self._began)

    def crash(self) -> str:
        """The line in which it says why it dies; empty where it says nothing."""
        return process.crash(self.log, since=self._began)

    def revive(self) -> str:
        """Starts it again, and waits until it answers. A socket in the way of that is removed, as
        whoever supervises it would have to; returns that as a phrase, else an empty text.

        Raises Unreachable, BadOption.
        """
        self.terminate()
        try:
            self.start().ready()
            return ""
        except Unreachable:
            if probe(self.endpoint) != "stale":
                raise
        self.terminate()
        os.unlink(self.endpoint.path)
        self.start().ready()
        return "\nit did not start over the socket that it had left, which was removed"

    def kill(self) -> None:
        """SIGKILL, as the kernel's memory killer would."""
        self._signal(signal.SIGKILL)

    def terminate(self, limit_s: float = 10.0) -> int | None:
        """SIGTERM, as a pod's end does; SIGKILL after the limit. Returns the exit status."""
        self._signal(signal.SIGTERM, limit_s)
        return self.status()

    def _signal(self, number: signal.Signals, limit_s: float = 10.0) -> None:
        if not self.process or self.process.poll() is not None:
            return
        os.killpg(self.process.pid, number)
        try:
            self.process.wait(timeout(limit_s))
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def close(self) -> None:
        """Ends the process and removes its folder."""
        self.terminate()
        if self._own:
            shutil.rmtree(self.folder, ignore_errors=True)
