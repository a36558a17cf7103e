"""Programs that run in virtual containers, and what becomes of them by themselves."""

from __future__ import annotations

import threading
from collections.abc import Callable

import attrs

from refimpl.cri.state.models import Container
from refimpl.cri.state.ports import Clock, Ended, Exit, Output
from refimpl.cri.virtual.programs import Program
from refimpl.cri.virtual.sessions import Hub
from refimpl.cri.virtual.shell.world import Console, World
from refimpl.cri.virtual.web import Doors
from refimpl.wire.status import Code, Refused

__all__ = ["Running", "RunningPrograms", "hub_of"]

_NS = 1_000_000_000


@attrs.define(eq=False)
class Running:
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


class RunningPrograms:
    """Those of one node, by container."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._running: dict[str, Running] = {}
        self._lock = threading.Lock()

    def add(self, container: Container, running: Running) -> None:
        """It has been started."""
        with self._lock:
            self._running[container.id] = running

    def get(self, container: Container) -> Running | None:
        """None where nothing runs in it."""
        with self._lock:
            return self._running.get(container.id)

    def of(self, container: Container) -> Running:
        """FAILED_PRECONDITION where nothing runs in it."""
        running = self.get(container)
        if running is None:
            raise Refused(Code.FAILED_PRECONDITION, f"container {container.id} has ended")
        return running

    def ports(self, sandbox_id: str) -> set[int]:
        """At which somebody in that sandbox listens."""
        with self._lock:
            return {
                number
                for each in self._running.values()
                if each.sandbox_id == sandbox_id
                for number in each.program.listens
            }

    def drop(self, container: Container) -> None:
        """Nobody is told of its end any more."""
        with self._lock:
            running = self._running.pop(container.id, None)
        if running:
            _close(running)

    def end(self, id: str, running: Running, exit: Exit) -> None:
        """It ends, unless it has before."""
        with self._lock:
            if self._running.get(id) is not running:
                return
            del self._running[id]
        _close(running)
        running.ended(exit)

    def go_on(self, id: str, running: Running, console: Console, number: int) -> None:
        """What a program writes later, from that number on, and its end."""
        program = running.program
        if number < len(program.later):
            at, stream, written = program.later[number]

            def write() -> None:
                if self._running.get(id) is running:
                    console.write(stream, written)
                    self.go_on(id, running, console, number + 1)

            self._at(at, running, write)
        elif program.exit_after_s is not None:
            exit = Exit(program.exit_code, program.reason)
            self._at(program.exit_after_s, running, lambda: self.end(id, running, exit))

    def _at(self, seconds: float, running: Running, call: Callable[[], object]) -> None:
        """Calls it so many seconds after the start, and at once where that is over."""
        left = seconds - (self._clock.now() - running.since) / _NS
        if seconds <= 0 or left <= 0:
            call()
        else:
            running.cancel = self._clock.call_later(left, call)


def _close(running: Running) -> None:
    running.cancel()
    running.doors.close()
    running.hub.end()


def hub_of(container: Container, output: Output) -> Hub:
    """What carries its output to who is attached."""
    config = container.config
    if config is None:
        return Hub(output, stdin=False, once=False)
    return Hub(output, stdin=config.stdin, once=config.stdin_once)
