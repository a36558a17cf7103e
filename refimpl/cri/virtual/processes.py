"""A `Processes` of scripted programs: it needs no right, and a start takes microseconds."""

from __future__ import annotations

import itertools
import socket
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn

import attrs

from refimpl.cri.state.models import Container, Sandbox
from refimpl.cri.state.ports import Clock, Ended, Exit, Output, StartFailed, Usage
from refimpl.cri.virtual.programs import FOREVER, Program, Scripts, program_of
from refimpl.streaming.outcome import Outcome
from refimpl.streaming.requests import StreamRequest
from refimpl.streaming.streams import Streams
from refimpl.wire.status import Code, Refused

__all__ = ["VirtualProcesses"]

KILL = 9
_LOOK_S = 0.02
"""Between two looks at whether a client has left."""
_NS = 1_000_000_000


@attrs.define(eq=False)
class _Running:
    """A program that has been started, and who is told of its end."""

    program: Program
    pid: int
    since: int
    ended: Ended
    cancel: Callable[[], None] = lambda: None


class VirtualProcesses:
    """scripts: programs by a glob of image or command line, before those that commands have."""

    def __init__(self, clock: Clock, scripts: Scripts | None = None) -> None:
        self._clock, self._scripts = clock, scripts or {}
        self._running: dict[str, _Running] = {}
        self._pids = itertools.count(1000)
        self._lock = threading.Lock()

    @property
    def features(self) -> Mapping[str, bool]:
        """None: there is no kernel to ask."""
        return {}

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
        """UNKNOWN where neither the container nor its image names a command."""
        if not self._command(container):
            raise Refused(
                Code.UNKNOWN,
                f"container {container.key.name}: neither it nor its image names a command",
            )

    def start(self, container: Container, output: Output, ended: Ended) -> int:
        """Runs its program; one that ends at once has ended when this returns."""
        names = (container.image_name, *container.image.tags)
        program = program_of(names, self._command(container), self._scripts)
        if program.fails:
            raise StartFailed(program.fails)
        running = _Running(program, next(self._pids), self._clock.now(), ended)
        with self._lock:
            self._running[container.id] = running
        for stream, written in program.writes:
            output(stream, written)
        if program.exit_after_s is not None:
            self._end_after(container.id, running, program.exit_after_s)
        return running.pid

    def signal(self, container: Container, number: int) -> None:
        """Ends the program, unless it ignores that one."""
        with self._lock:
            running = self._running.get(container.id)
        if running is None or (number in running.program.ignores and number != KILL):
            return
        code = running.program.traps.get(number, 128 + number)
        self._end(container.id, running, Exit(128 + KILL if number == KILL else code))

    def remove(self, container: Container) -> None:
        """Nobody is told of an end any more."""
        with self._lock:
            running = self._running.pop(container.id, None)
        if running:
            running.cancel()

    def update(self, container: Container, resources: Any) -> None:
        """Nothing is limited."""

    def usage(self, container: Container) -> Usage:
        """In proportion to the time it has been running."""
        with self._lock:
            running = self._running.get(container.id)
        if running is None:
            return Usage()
        lasted = max(0, self._clock.now() - running.since)
        program = running.program
        return Usage(cpu_ns=int(lasted * program.cpu) + 1, memory=program.memory, processes=1)

    # -- who connects -------------------------------------------------------------------------

    def execute(self, container: Container, request: StreamRequest, streams: Streams) -> Outcome:
        """What it knows nothing of succeeds at once, as a probe that is to be content."""
        names = (container.image_name, *container.image.tags)
        program = program_of(names, request.command, self._scripts)
        if program.fails:
            return Outcome(error=program.fails)
        for stream, written in program.writes:
            streams.write(stream, written)
        if request.command[0].rpartition("/")[2] == "cat" and len(request.command) == 1:
            return _copied(streams)
        if program is not FOREVER and not self._waited(program.exit_after_s, streams):
            return Outcome(exit_code=128 + KILL)
        return Outcome(exit_code=program.exit_code)

    def attach(self, container: Container, request: StreamRequest, streams: Streams) -> Outcome:
        """Not done yet."""
        _later("Attach")

    def dial(self, sandbox: Sandbox, port: int) -> socket.socket:
        """Not done yet."""
        _later("PortForward")

    # -- checkpoints --------------------------------------------------------------------------

    def pause(self, container: Container) -> None:
        """Not done yet."""
        _later("pausing a container")

    def resume(self, container: Container) -> None:
        """Not done yet."""
        _later("resuming a container")

    def checkpoint(self, container: Container, folder: Path) -> None:
        """Not done yet."""
        _later("checkpoints")

    def restore(self, container: Container, folder: Path) -> None:
        """Not done yet."""
        _later("checkpoints")

    # -- inside -------------------------------------------------------------------------------

    def _command(self, container: Container) -> list[str]:
        """CRI: command replaces the entrypoint and with it the image's arguments; args replace
        those alone."""
        config, image = container.config, container.image
        if config is None:
            return [*image.entrypoint, *image.command]
        if config.command:
            return [*config.command, *config.args]
        return [*image.entrypoint, *(config.args or image.command)]

    def _waited(self, seconds: float | None, streams: Streams) -> bool:
        """Until a command is over; False where the client has left before."""
        over = threading.Event()
        forget = self._clock.call_later(seconds, over.set) if seconds else None
        if seconds == 0:
            return True
        while not over.wait(_LOOK_S):
            if streams.gone:
                if forget:
                    forget()
                return False
        return True

    def _end_after(self, id: str, running: _Running, seconds: float) -> None:
        program = running.program
        exit = Exit(program.exit_code, program.reason)
        if seconds <= 0:
            self._end(id, running, exit)
        else:
            running.cancel = self._clock.call_later(seconds, lambda: self._end(id, running, exit))

    def _end(self, id: str, running: _Running, exit: Exit) -> None:
        with self._lock:
            if self._running.get(id) is not running:
                return
            del self._running[id]
        running.cancel()
        running.ended(exit)


def _copied(streams: Streams) -> Outcome:
    """cat, as far as it is alone."""
    while piece := streams.stdin.read():
        streams.write("stdout", piece)
    return Outcome()


def _later(rpc: str) -> NoReturn:
    raise Refused(Code.UNIMPLEMENTED, f"{rpc}: the virtual process model does not do that")
