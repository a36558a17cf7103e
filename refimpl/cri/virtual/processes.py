"""A `Processes` of scripted programs: it needs no right, and a start takes microseconds."""

from __future__ import annotations

import itertools
import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import attrs

from refimpl.cri.commands import command_of
from refimpl.cri.state.models import Container, Sandbox
from refimpl.cri.state.ports import Clock, Ended, Exit, Output, StartFailed, Usage
from refimpl.cri.virtual.machine import cgroups
from refimpl.cri.virtual.machine.node import Node
from refimpl.cri.virtual.programs import Program, Scripts, program_of, scripted, within
from refimpl.cri.virtual.sessions import Hub, console_of
from refimpl.cri.virtual.shell import Console, Missing, Shell, World, asks
from refimpl.cri.virtual.web import Doors, places, web_server
from refimpl.cri.virtual.worlds import world_of
from refimpl.streaming.outcome import Outcome
from refimpl.streaming.requests import StreamRequest
from refimpl.streaming.streams import Streams
from refimpl.wire.status import Code, Refused

__all__ = ["VirtualProcesses"]

KILL = 9
_NS = 1_000_000_000


@attrs.define(eq=False)
class _Running:
    """A program that has been started, and who is told of its end."""

    program: Program
    pid: int
    since: int
    ended: Ended
    sandbox_id: str
    hub: Hub
    world: World
    doors: Doors
    cancel: Callable[[], None] = lambda: None


class VirtualProcesses:
    """scripts: programs by a glob of image or command line, before those that commands have.
    listens: programs do so on loopback, at the addresses of their sandboxes."""

    def __init__(
        self,
        clock: Clock,
        scripts: Scripts | None = None,
        *,
        listens: bool = False,
        node: Node | None = None,
        features: Mapping[str, bool] | None = None,
    ) -> None:
        self._node, self._features = node or Node(), features or {}
        self._clock, self._scripts, self._listens = clock, scripts or {}, listens
        self._sandboxes: dict[str, Sandbox] = {}
        self._running: dict[str, _Running] = {}
        self._pids = itertools.count(1000)
        self._lock = threading.Lock()

    @property
    def features(self) -> Mapping[str, bool]:
        """Those of its machine."""
        return self._features

    # -- sandboxes ----------------------------------------------------------------------------

    def make_sandbox(self, sandbox: Sandbox) -> str:
        """No namespace."""
        return ""

    def start_sandbox(self, sandbox: Sandbox, ended: Ended) -> None:
        """Nothing runs in it."""
        self._sandboxes[sandbox.id] = sandbox

    def stop_sandbox(self, sandbox: Sandbox) -> None:
        """Nothing to stop."""

    def remove_sandbox(self, sandbox: Sandbox) -> None:
        """Nothing to remove."""
        self._sandboxes.pop(sandbox.id, None)

    # -- containers ---------------------------------------------------------------------------

    def create(self, container: Container) -> None:
        """UNKNOWN where neither the container nor its image names a command."""
        if not command_of(container):
            raise Refused(
                Code.UNKNOWN,
                f"container {container.key.name}: neither it nor its image names a command",
            )
        self._node.prepare(container)

    def start(self, container: Container, output: Output, ended: Ended) -> int:
        """Runs its program; one that ends at once has ended when this returns."""
        command = command_of(container)
        program = within(self._program(container, command), _memory_limit(container))
        if program.fails:
            raise StartFailed(program.fails)
        hub, config = _hub(container, output), container.config
        sandbox = self._sandboxes.get(container.sandbox_id)
        running = _Running(
            program=program,
            pid=next(self._pids),
            since=self._clock.now(),
            ended=ended,
            sandbox_id=container.sandbox_id,
            hub=hub,
            world=world_of(container, sandbox, hub.over, self._node),
            doors=Doors(self._places(sandbox, program)),
        )
        with self._lock:
            self._running[container.id] = running
        console = console_of(hub, tty=config is not None and config.tty)
        known = scripted(_names(container), command, self._scripts)
        reads = program.exit_after_s is None and config and config.stdin and _reads(command)
        if reads or (known is None and asks(command)):
            shell = Shell(running.world, console, self._clock, partial(self._program, container))
            threading.Thread(
                target=self._converse, args=(container.id, running, shell, command), daemon=True
            ).start()
        else:
            for stream, written in program.writes:
                console.write(stream, written)
            self._go_on(container.id, running, console, 0)
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
            running.doors.close()
            running.hub.end()

    def update(self, container: Container, resources: Any) -> None:
        """Its cgroup changes; a program that wants more memory than it has now is killed."""
        with self._lock:
            running = self._running.get(container.id)
        if running is None or container.config is None:
            return
        running.world.files.generate(cgroups.texts(resources))
        killed = within(running.program, resources.memory_limit_in_bytes)
        if killed is not running.program:
            self._end(container.id, running, Exit(killed.exit_code, killed.reason))

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
        running = self._of(container)
        console = console_of(streams, tty=request.tty)
        shell = Shell(running.world, console, self._clock, partial(self._program, container))
        try:
            names = _names(container)
            known = scripted(names, request.command, self._scripts)
            return Outcome(shell.run(request.command) if known is None else shell.play(known))
        except Missing as missing:
            return Outcome(error=str(missing))

    def attach(self, container: Container, request: StreamRequest, streams: Streams) -> Outcome:
        """Sees what is written from now on."""
        self._of(container).hub.attach(request, streams)
        return Outcome()

    def dial(self, sandbox: Sandbox, port: int) -> socket.socket:
        """A web server, where a program in there listens at that port."""
        with self._lock:
            open_ports = {
                number
                for each in self._running.values()
                if each.sandbox_id == sandbox.id
                for number in each.program.listens
            }
        if port not in open_ports:
            raise Refused(
                Code.UNKNOWN,
                f"error forwarding port {port} to pod {sandbox.id}: connection refused: no program"
                " listens there",
            )
        return web_server()

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

    def _program(self, container: Container, command: Sequence[str]) -> Program:
        return program_of(_names(container), command, self._scripts)

    def _places(self, sandbox: Sandbox | None, program: Program) -> list[tuple[str, int]]:
        if sandbox is None or not self._listens:
            return []
        return places(sandbox, program.listens)

    def _of(self, container: Container) -> _Running:
        with self._lock:
            running = self._running.get(container.id)
        if running is None:
            raise Refused(Code.FAILED_PRECONDITION, f"container {container.id} has ended")
        return running

    def _converse(self, id: str, running: _Running, shell: Shell, command: Sequence[str]) -> None:
        self._end(id, running, Exit(shell.run(command)))

    def _go_on(self, id: str, running: _Running, console: Console, number: int) -> None:
        """What a program writes later, from that number on, and its end."""
        program = running.program
        if number < len(program.later):
            at, stream, written = program.later[number]

            def write() -> None:
                if self._running.get(id) is running:
                    console.write(stream, written)
                    self._go_on(id, running, console, number + 1)

            self._at(at, running, write)
        elif program.exit_after_s is not None:
            exit = Exit(program.exit_code, program.reason)
            self._at(program.exit_after_s, running, lambda: self._end(id, running, exit))

    def _at(self, seconds: float, running: _Running, call: Callable[[], object]) -> None:
        """Calls it so many seconds after the start, and at once where that is over."""
        left = seconds - (self._clock.now() - running.since) / _NS
        if seconds <= 0 or left <= 0:
            call()
        else:
            running.cancel = self._clock.call_later(left, call)

    def _end(self, id: str, running: _Running, exit: Exit) -> None:
        with self._lock:
            if self._running.get(id) is not running:
                return
            del self._running[id]
        running.cancel()
        running.doors.close()
        running.hub.end()
        running.ended(exit)


def _names(container: Container) -> tuple[str, ...]:
    return (container.image_name, *container.image.tags)


def _reads(command: Sequence[str]) -> bool:
    """Whether it is a program that does what it reads: a shell, or cat."""
    return len(command) == 1 and command[0].rpartition("/")[2] in ("sh", "bash", "ash", "cat")


def _memory_limit(container: Container) -> int:
    return int(container.resources.memory_limit_in_bytes) if container.config else 0


def _hub(container: Container, output: Output) -> Hub:
    config = container.config
    if config is None:
        return Hub(output, stdin=False, once=False)
    return Hub(output, stdin=config.stdin, once=config.stdin_once)


def _later(rpc: str) -> NoReturn:
    raise Refused(Code.UNIMPLEMENTED, f"{rpc}: the virtual process model does not do that")
