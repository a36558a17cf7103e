"""Processes that an OCI runtime starts below a keeper: first ones of containers, and commands in
containers."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from refimpl.cri.oci.bundles import Bundle
from refimpl.cri.oci.consoles import Console
from refimpl.cri.oci.program import Program, last_error
from refimpl.cri.state.ports import Ended, Exit, Output, StartFailed
from refimpl.cri.subprocesses.kept import Kept, Wanted
from refimpl.cri.subprocesses.live import LiveProcesses, nothing
from refimpl.cri.subprocesses.wires import Wires
from refimpl.streaming.outcome import Outcome
from refimpl.streaming.requests import StreamRequest
from refimpl.streaming.streams import Streams
from refimpl.wire.status import Code, Refused

__all__ = ["Launches"]

_MISSING = ("executable file not found", "no such file or directory", "not found in $PATH")
_CODE_MISSING, _CODE_OTHER = 127, 128


class Launches:
    """sockets: folder of the sockets by which terminals come; its path is short."""

    def __init__(self, program: Program, live: LiveProcesses, sockets: Path) -> None:
        self._program, self._live, self._sockets = program, live, sockets

    def first(
        self,
        id: str,
        bundle: Bundle,
        *,
        stdin: bool = False,
        output: Output = nothing,
        ended: Ended = nothing,
        finish: Callable[[int], Exit] = Exit,
    ) -> Kept:
        """The first process of what is in a bundle. Raises StartFailed with the program's words."""
        tty = bundle.read()["process"].get("terminal", False)
        with ExitStack() as stack:
            wires, words = self._connected(stack, tty=tty, stdin=stdin)
            more = ("--bundle", str(bundle.folder), "--pid-file", str(bundle.pid))
            wanted = self._wanted(bundle.log, bundle.pid, "run", "--detach", *more, *words, id)
            try:
                return self._live.start(
                    *(id, wanted, wires),
                    output=output,
                    ended=ended,
                    begin=lambda _: wires.connect(),
                    finish=finish,
                )
            except (StartFailed, OSError) as error:
                self._program.delete(bundle.log, id)
                raise _failure(bundle.log, error) from None

    def another(self, id: str, bundle: Bundle, request: StreamRequest, streams: Streams) -> Outcome:
        """A command in a container that runs, until it ends. UNKNOWN where it cannot be started."""
        with ExitStack() as stack:
            wires, words = self._connected(stack, tty=request.tty, stdin=request.stdin)
            paths = [bundle.folder / f"{secrets.token_hex(4)}.{kind}" for kind in _OF_COMMANDS]
            for each in paths:
                stack.callback(each.unlink, missing_ok=True)
            process, pid, log = paths
            process.write_text(json.dumps(_process(bundle, request)))
            more = ("--process", str(process), "--pid-file", str(pid))
            wanted = self._wanted(log, pid, "exec", "--detach", *more, *words, id)
            try:
                return self._live.execute(id, wanted, wires, request, streams)
            except Refused as refusal:
                raise Refused(Code.UNKNOWN, last_error(log) or refusal.message) from None

    def _connected(
        self, stack: ExitStack, *, tty: bool, stdin: bool
    ) -> tuple[Wires, tuple[str, ...]]:
        """Pipes, or a terminal that the program makes; what it is told of that."""
        if not tty:
            return Wires.open(tty=False, stdin=stdin), ()
        console = stack.enter_context(Console(self._sockets))
        return Wires.of_console(console.receive), ("--console-socket", console.path)

    def _wanted(self, log: Path, pid: Path, *words: str) -> Wanted:
        with suppress(FileNotFoundError):
            pid.unlink()
        command = self._program.words(log, *words)
        return Wanted(command, {"PATH": os.environ.get("PATH", os.defpath)}, "/", False, str(pid))


_OF_COMMANDS = ("json", "pid", "log")


def _process(bundle: Bundle, request: StreamRequest) -> dict[str, Any]:
    """As the container's first one, with other words."""
    process: dict[str, Any] = bundle.read()["process"]
    env = process["env"]
    if request.tty and not any(each.startswith("TERM=") for each in env):
        env = [*env, "TERM=xterm"]
    return {**process, "args": [*request.command], "terminal": request.tty, "env": env}


def _failure(log: Path, error: Exception) -> StartFailed:
    message = last_error(log) or str(error) or "the OCI runtime failed without a word"
    missing = "exec" in message and any(each in message for each in _MISSING)
    return StartFailed(message, _CODE_MISSING if missing else _CODE_OTHER)
