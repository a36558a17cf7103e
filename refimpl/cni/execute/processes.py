"""Execs a plugin as a process and gets back everything it did to its streams, within a deadline."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import IO, Protocol

from refimpl.cni.execute import descendants
from refimpl.cni.execute.conditions import PLAIN, Conditions
from refimpl.cni.execute.record import Outcome, Request

KEPT = 1024 * 1024
"""Bytes of each stream that are kept; 5 MiB configurations are answered in much less."""

FLOOD = 256 * 1024 * 1024
"""A plugin that prints more than this is ended: nobody reads it."""

GRACE_S = 1.0
"""How long a stream may stay open after the plugin's end (CNI-PLG-036)."""

_BLOCK = 256 * 1024


class Executor(Protocol):
    """Whatever runs plugins: processes, or our fakes as functions."""

    def run(
        self,
        plugin: str | Path,
        request: Request,
        *,
        deadline_s: float = 10.0,
        conditions: Conditions = PLAIN,
    ) -> Outcome:
        """Runs the plugin to its end or the deadline; raises OSError where it cannot start."""


class Processes:
    """Each exec is a process in a session of its own; nothing of it survives the call.

    The environment is the request's and nothing else. The plugin runs in the network and mount
    namespace of the calling thread. notice: holds a process while it runs, by its pid; so whoever
    is killed meanwhile can leave word of it.
    """

    def __init__(self, notice: Callable[[int], AbstractContextManager[object]] = nullcontext):
        self._notice = notice

    def run(
        self,
        plugin: str | Path,
        request: Request,
        *,
        deadline_s: float = 10.0,
        conditions: Conditions = PLAIN,
    ) -> Outcome:
        """How the process ended and what it printed. Raises OSError where it cannot start."""
        began = time.monotonic()
        with descendants.watched() as family, _stdout(conditions) as stdout:
            with _working_directory(conditions) as cwd, family.starting() as ours:
                process = subprocess.Popen(
                    [os.fspath(plugin)],
                    stdin=subprocess.PIPE,
                    stdout=stdout,
                    stderr=subprocess.PIPE,
                    env=dict(request.env),
                    cwd=cwd,
                    umask=conditions.umask,
                    preexec_fn=conditions.prepare,
                    start_new_session=True,
                    bufsize=0,
                )
                ours.add(process.pid)
            talk = _Talk(process, request.stdin, conditions)
            try:
                with self._notice(process.pid):
                    talk.until_end(began + deadline_s)
                    duration_s = time.monotonic() - began
                    talk.drain(GRACE_S)
            finally:
                left = family.end(process.pid)
                process.wait()
                talk.close()
        return Outcome(
            process.returncode,
            bytes(talk.kept["stdout"]),
            bytes(talk.kept["stderr"]),
            duration_s,
            talk.timed_out,
            talk.held_open,
            talk.counts["stdout"],
            talk.counts["stderr"],
            tuple(left),
            talk.unread,
        )


class _Talk:
    """Feeds stdin and reads both outputs at once, so that no order of them can block."""

    def __init__(
        self, process: subprocess.Popen[bytes], stdin: bytes, conditions: Conditions
    ) -> None:
        self.process = process
        self.kept = {"stdout": bytearray(), "stderr": bytearray()}
        self.counts = {"stdout": 0, "stderr": 0}
        self.timed_out = self.held_open = False
        self._left, self._chunk = memoryview(stdin), conditions.chunk or _BLOCK
        self._kill_at = (
            time.monotonic() + conditions.kill_after_s
            if conditions.kill_after_s is not None
            else None
        )
        self._ended = os.pidfd_open(process.pid)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._ended, selectors.EVENT_READ, "end")
        for name, stream in (("stdout", process.stdout), ("stderr", process.stderr)):
            if stream:
                self._watch(stream, selectors.EVENT_READ, name)
        assert process.stdin is not None
        self._watch(process.stdin, selectors.EVENT_WRITE, "stdin")

    @property
    def unread(self) -> int:
        """Bytes of stdin that were never taken."""
        return len(self._left)

    def _watch(self, stream: IO[bytes], event: int, name: str) -> None:
        os.set_blocking(stream.fileno(), False)
        self._selector.register(stream, event, name)

    def until_end(self, deadline: float) -> None:
        """Talks until the plugin itself has ended; kills it at the deadline."""
        while self.process.poll() is None:
            at = deadline if self._kill_at is None else min(deadline, self._kill_at)
            flooded = max(self.counts.values()) > FLOOD
            if time.monotonic() >= at or flooded:
                self.timed_out = at == deadline or flooded
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()
                return
            self._turn(at - time.monotonic())

    def drain(self, grace_s: float) -> None:
        """Reads what is left in the streams until they end, or the grace is over."""
        end = time.monotonic() + grace_s
        with contextlib.suppress(KeyError):
            self._selector.unregister(self._ended)
        while names := self._outputs():
            if time.monotonic() >= end or max(self.counts[name] for name in names) > FLOOD:
                self.held_open = True
                return
            self._turn(end - time.monotonic())

    def _outputs(self) -> set[str]:
        return {key.data for key in self._selector.get_map().values()} & {"stdout", "stderr"}

    def _turn(self, timeout_s: float) -> None:
        for key, _ in self._selector.select(max(timeout_s, 0)):
            if key.data == "stdin":
                self._feed(key.fd)
            elif key.data != "end":
                self._read(key.fd, key.data)

    def _feed(self, number: int) -> None:
        try:
            sent = os.write(number, self._left[: self._chunk]) if self._left else 0
        except BlockingIOError:
            return
        except BrokenPipeError:  # it does not want to know; that is its right
            self._selector.unregister(number)
            self._close_stdin()
            return
        self._left = self._left[sent:]
        if not self._left:
            self._selector.unregister(number)
            self._close_stdin()

    def _close_stdin(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()

    def _read(self, number: int, name: str) -> None:
        try:
            data = os.read(number, _BLOCK)
        except BlockingIOError:
            return
        if not data:
            self._selector.unregister(number)
            return
        self.counts[name] += len(data)
        room = KEPT - len(self.kept[name])
        if room > 0:
            self.kept[name] += data[:room]

    def close(self) -> None:
        """Gives back every descriptor."""
        self._selector.close()
        os.close(self._ended)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream:
                with contextlib.suppress(OSError):
                    stream.close()


@contextlib.contextmanager
def _stdout(conditions: Conditions) -> Iterator[int]:
    if conditions.stdout == "pipe":
        yield subprocess.PIPE
        return
    if conditions.stdout == "full":
        number = os.open("/dev/full", os.O_WRONLY)
    else:
        nobody, number = os.pipe()
        os.close(nobody)
    try:
        yield number
    finally:
        os.close(number)


@contextlib.contextmanager
def _working_directory(conditions: Conditions) -> Iterator[str]:
    """The root, or a directory that is no longer there."""
    if not conditions.gone:
        yield "/"
        return
    path = tempfile.mkdtemp(prefix="refimpl-gone-")
    number = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.rmdir(path)
        yield f"/proc/self/fd/{number}"
    finally:
        os.close(number)
