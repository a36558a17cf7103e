"""A `Processes` of scripted programs: it needs no right, and a start takes microseconds."""

from __future__ import annotations

import itertools
import socket
import threading
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from refimpl.cri.commands import command_of
from refimpl.cri.state.models import Container, Sandbox
from refimpl.cri.state.ports import Clock, Ended, Exit, Output, StartFailed, Usage
from refimpl.cri.virtual.machine import cgroups
from refimpl.cri.virtual.machine.node import Node
from refimpl.cri.virtual.programs import Program, Scripts, program_of, scripted, within
from refimpl.cri.virtual.running import Running, RunningPrograms, hub_of
from refimpl.cri.virtual.sessions import console_of
from refimpl.cri.virtual.shell.interpreter import Shell
from refimpl.cri.virtual.shell.words import asks
from refimpl.cri.virtual.shell.world import Missing
from refimpl.cri.virtual.web import Doors, places, web_server
from refimpl.cri.virtual.worlds import world_of
from refimpl.streaming.outcome import Outcome
from refimpl.streaming.requests import StreamRequest
from refimpl.streaming.streams import Streams
from refimpl.wire.status import Code, Refused

__all__ = ["VirtualProcesses"]

KILL = 9


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
        self._running = RunningPrograms(clock)
        self._pids = itertools.count(1000)

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
        hub, config = hub_of(container, output), container.config
        sandbox = self._sandboxes.get(container.sandbox_id)
        running = Running(
            program=program,
            pid=next(self._pids),
            since=self._clock.now(),
            ended=ended,
            sandbox_id=container.sandbox_id,
            hub=hub,
            world=world_of(container, sandbox, hub.over, self._node),
            doors=Doors(self._places(sandbox, program)),
        )
        self._running.add(container, running)
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
            self._running.go_on(container.id, running, console, 0)
        return running.pid

    def signal(self, container: Container, number: int) -> None:
        """Ends the program, unless it ignores that one."""
        running = self._running.get(container)
        if running is None or (number in running.program.ignores and number != KILL):
            return
        code = running.program.traps.get(number, 128 + number)
        self._running.end(container.id, running, Exit(128 + KILL if number == KILL else code))

    def remove(self, container: Container) -> None:
        """Nobody is told of an end any more."""
        self._running.drop(container)

    def update(self, container: Container, resources: Any) -> None:
        """Its cgroup changes; a program that wants more memory than it has now is killed."""
        running = self._running.get(container)
        if running is None or container.config is None:
            return
        running.world.files.generate(cgroups.texts(resources))
        killed = within(running.program, resources.memory_limit_in_bytes)
        if killed is not running.program:
            self._running.end(container.id, running, Exit(killed.exit_code, killed.reason))

    def usage(self, container: Container) -> Usage:
        """In proportion to the time it has been running."""
        running = self._running.get(container)
        if running is None:
            return Usage()
        lasted = max(0, self._clock.now() - running.since)
        program = running.program
        return Usage(cpu_ns=int(lasted * program.cpu) + 1, memory=program.memory, processes=1)

    # -- who connects -------------------------------------------------------------------------

    def execute(self, container: Container, request: StreamRequest, streams: Streams) -> Outcome:
        """What it knows nothing of succeeds at once, as a probe that is to be content."""
        running = self._running.of(container)
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
        self._running.of(container).hub.attach(request, streams)
        return Outcome()

    def dial(self, sandbox: Sandbox, port: int) -> socket.socket:
        """A web server, where a program in there listens at that port."""
        if port not in self._running.ports(sandbox.id):
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

    def _converse(self, id: str, running: Running, shell: Shell, command: Sequence[str]) -> None:
        self._running.end(id, running, Exit(shell.run(command)))


def _names(container: Container) -> tuple[str, ...]:
    return (container.image_name, *container.image.tags)


def _reads(command: Sequence[str]) -> bool:
    """Whether it is a program that does what it reads: a shell, or cat."""
    return len(command) == 1 and command[0].rpartition("/")[2] in ("sh", "bash", "ash", "cat")


def _memory_limit(container: Container) -> int:
    return int(container.resources.memory_limit_in_bytes) if container.config else 0


def _later(rpc: str) -> NoReturn:
    raise Refused(Code.UNIMPLEMENTED, f"{rpc}: the virtual process model does not do that")
