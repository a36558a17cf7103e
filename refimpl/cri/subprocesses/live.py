"""First processes of containers below keepers: started, listened to, connected to, ended."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import attrs

from refimpl.cri.state.models import Container
from refimpl.cri.state.ports import Ended, Exit, Output, StartFailed
from refimpl.cri.subprocesses.audience import Audience
from refimpl.cri.subprocesses.kept import Keeping, Kept, Wanted
from refimpl.cri.subprocesses.wires import Wires
from refimpl.streaming.outcome import Outcome
from refimpl.streaming.requests import StreamRequest
from refimpl.streaming.streams import Streams
from refimpl.wire.status import Code, Refused

__all__ = ["Live", "LiveProcesses", "nothing"]


@attrs.define(eq=False)
class Live:
    """One whose first process has been started. over: nothing is left of it."""

    keeping: Keeping
    wires: Wires
    kept: Kept
    audience: Audience = attrs.field(factory=Audience)
    forgotten: bool = False
    over: threading.Event = attrs.field(factory=threading.Event)


def nothing(*_: Any) -> None:
    """What is done where nothing is to be done."""


class LiveProcesses:
    """By the id of their container."""

    def __init__(self) -> None:
        self._live: dict[str, Live] = {}
        self._lock = threading.Lock()

    def start(
        self,
        id: str,
        wanted: Wanted,
        wires: Wires,
        *,
        output: Output = nothing,
        ended: Ended = nothing,
        begin: Callable[[Kept], object] = nothing,
        finish: Callable[[int], Exit] = Exit,
    ) -> Kept:
        """The process, below a keeper of its own; `ended` is told of its end. begin: called with
        it, before anything that it writes is read. finish: called with its exit code, before
        anybody is told. Raises StartFailed, and what `begin` raises."""
        keeping = Keeping()
        try:
            kept = keeping.start(wanted, wires.ends)
        except BaseException:
            wires.started()
            wires.close()
            keeping.close()
            raise
        wires.started()
        try:
            begin(kept)
        except BaseException:
            keeping.close()
            kept.exit_code()
            wires.close()
            raise
        live = Live(keeping, wires, kept)
        with self._lock:
            self._live[id] = live
        _in_background("process", lambda: self._watch(id, live, output, ended, finish))
        return kept

    def execute(
        self,
        id: str,
        wanted: Wanted,
        wires: Wires,
        request: StreamRequest,
        streams: Streams,
    ) -> Outcome:
        """Another process beside the first one, until it ends. UNKNOWN where it cannot be started.
        At its end by `streams.gone` its whole process group is killed."""
        keeping = self.running(id).keeping
        try:
            kept = keeping.start(wanted, wires.ends)
        except StartFailed as error:
            wires.started()
            wires.close()
            raise Refused(Code.UNKNOWN, error.message) from None
        wires.started()
        wires.connect()
        if size := streams.sizes.next(0):
            wires.resize(size)
        _connect(wires, request, streams, ends=True)

        def look() -> None:
            if streams.gone:
                keeping.signal(signal.SIGKILL, kept.number, group=True)

        code = wires.pump(kept, streams.write, look)
        wires.close()
        return Outcome(exit_code=code)

    def attach(self, container: Container, request: StreamRequest, streams: Streams) -> Outcome:
        """Hears all that is written from now on; a terminal has to be what the container has. With
        stdin_once the input ends as the client leaves."""
        live = self.running(container.id)
        if request.tty != bool(container.config.tty):
            raise Refused(Code.INVALID_ARGUMENT, "tty is not what the container was made with")
        once = container.config.stdin_once
        return live.audience.listen(
            streams, lambda: _connect(live.wires, request, streams, ends=once)
        )

    def get(self, id: str) -> Live | None:
        """None where it does not run."""
        return self._live.get(id)

    def running(self, id: str) -> Live:
        """FAILED_PRECONDITION where it does not run."""
        live = self._live.get(id)
        if live is None:
            raise Refused(Code.FAILED_PRECONDITION, f"container {id} does not run")
        return live

    def forget(self, id: str) -> None:
        """Ends it with all its processes; nobody is told any more."""
        with self._lock:
            live = self._live.pop(id, None)
        if live is not None:
            live.forgotten = True
            live.keeping.close()
            live.over.wait()

    def close(self) -> None:
        """Ends all of them."""
        for id in [*self._live]:
            self.forget(id)

    def _watch(
        self, id: str, live: Live, output: Output, ended: Ended, finish: Callable[[int], Exit]
    ) -> None:
        def write(name: str, data: bytes) -> None:
            with suppress(
                OSError, ValueError, Refused
            ):  # a log that cannot be written stops nobody
                output(name, data)
            live.audience.tell(name, data)

        exit = finish(live.wires.pump(live.kept, write, nothing))
        with self._lock:
            if self._live.get(id) is live:
                del self._live[id]
        live.audience.end()
        live.wires.close()
        live.keeping.close()
        live.over.set()
        if not live.forgotten:
            ended(exit)


def _connect(wires: Wires, request: StreamRequest, streams: Streams, *, ends: bool) -> None:
    """Lets what the client sends come to a process."""

    def left() -> bool:
        return streams.gone

    if request.stdin:
        _in_background("stdin", lambda: wires.feed(streams.stdin, left, ends=ends))
    if request.tty:
        _in_background("sizes", lambda: wires.follow(streams.sizes, left))


def _in_background(name: str, work: Callable[[], object]) -> None:
    threading.Thread(target=work, name=f"refimpl-{name}", daemon=True).start()
