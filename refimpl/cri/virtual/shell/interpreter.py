"""A shell just big enough for what people run in containers.

What it does not know succeeds at once, and a file of which nothing is known is there and empty: a
probe is to be content.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath as Path

from refimpl.cri.state.ports import Clock
from refimpl.cri.virtual.programs import FOREVER, Program
from refimpl.cri.virtual.shell.paths import PATHS
from refimpl.cri.virtual.shell.texts import TEXTS
from refimpl.cri.virtual.shell.words import is_shell, loop_of, script_of, steps, too_much
from refimpl.cri.virtual.shell.world import KILLED, LOOK_S, Command, Console, Missing, World

__all__ = ["Shell"]

_NOT_EXECUTABLE = 126
_SUBSTITUTED = re.compile(r"\$\(([^()]*)\)")
_COMMANDS: Mapping[str, Command] = {**TEXTS, **PATHS}


class _Exit(Exception):
    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class Shell:
    """One command, and those that it runs. known: the scripted program of a command line."""

    def __init__(
        self,
        world: World,
        console: Console,
        clock: Clock,
        known: Callable[[Sequence[str]], Program],
    ) -> None:
        self.world, self.console, self.known = world, console, known
        self._clock = clock
        self._out = "stdout"
        self._caught: list[bytes] | None = None

    def run(self, command: Sequence[str]) -> int:
        """Its exit code. Raises Missing."""
        line = " ".join(command)
        self.world.running.append(line)
        try:
            return self._run(command[0].rpartition("/")[2], command)
        except _Exit as exit:
            return exit.code
        finally:
            self.world.running.remove(line)

    @property
    def over(self) -> bool:
        """Whether the client or the container has gone."""
        return self.console.gone or self.world.over.is_set()

    def _run(self, name: str, command: Sequence[str]) -> int:
        if (text := script_of(command)) is not None:
            return self._script(text, command)
        if is_shell(command) and len(command) == 1:
            return self._interactive()
        if self.world.masked & {command[0], f"/bin/{name}"}:
            self.complain(f"/bin/sh: {command[0]}: Permission denied")
            return _NOT_EXECUTABLE
        if command[0].startswith("/") and (reason := self.world.files.why_not(command[0])):
            self.complain(f"/bin/sh: {command[0]}: {reason}")
            return _NOT_EXECUTABLE
        if (text := self.world.files.script(command[0])) is not None:
            return self._script(text, ("sh", "-c", text))
        program = _COMMANDS.get(name) if not command[0].startswith("/nonexistent") else None
        return program(self, command[1:]) if program else self._scripted(command)

    def _scripted(self, command: Sequence[str]) -> int:
        return self.play(self.known(command))

    def play(self, program: Program) -> int:
        """What a scripted program does; its exit code. Raises Missing."""
        if program.fails:
            raise Missing(program.fails)
        later = (each[1:] for each in program.later)
        for stream, written in (*program.writes, *later):
            self.console.write(stream, written)
        if program is FOREVER or self.wait(program.exit_after_s):
            return program.exit_code
        return KILLED

    def wait(self, seconds: float | None) -> bool:
        """False where the client or the container has gone before."""
        over = threading.Event()
        forget = self._clock.call_later(seconds, over.set) if seconds else lambda: None
        while seconds != 0 and not over.wait(LOOK_S):
            if self.over:
                forget()
                return False
        return True

    # -- scripts ------------------------------------------------------------------------------

    def _script(self, text: str, command: Sequence[str]) -> int:
        if loop := loop_of(text):
            before, body = loop
            self._script(before, ("sh", "-c", before))
            while not self.over:
                self._script(body, ("sh", "-c", body))
            return KILLED
        if too_much(text):
            return self._scripted(command)
        code, joint = 0, ";"
        for joint_after, step in steps(self._expanded(self._substituted(text))):
            if step and not ((joint == "&&" and code) or (joint == "||" and not code)):
                # What runs in the background has nobody who waits for it.
                code = 0 if joint_after == "&" else self._step(step)
            if self.over:
                return KILLED
            joint = joint_after
        return code

    def _substituted(self, text: str) -> str:
        return _SUBSTITUTED.sub(lambda match: self._output(match[1]), text)

    def _output(self, text: str) -> str:
        outer, self._caught = self._caught, []
        try:
            self._script(text, ("sh", "-c", text))
            return b"".join(self._caught).decode(errors="replace").rstrip("\n")
        finally:
            self._caught = outer

    def _expanded(self, text: str) -> str:
        known = {"$$": "1", **{f"${name}": value for name, value in self.world.env.items()}}
        return re.sub(r"\$(\$|\w+)", lambda match: known.get(match[0], ""), text)

    def _step(self, tokens: Sequence[str]) -> int:
        words, outer, rest = [], self._out, iter(tokens)
        try:
            for token in rest:
                if token in (">", ">>", ">&"):
                    self._redirect(token, next(rest, ""))
                else:
                    words.append(token)
            return self._called(words)
        except OSError as error:
            return self.complain(f"sh: can't create {error.filename}: {error.strerror}")
        finally:
            self._out = outer

    def _redirect(self, how: str, where: str) -> None:
        self._out = {"1": "stdout", "2": "stderr"}.get(where, where)
        if how != ">&" and where != "/dev/null":
            (self.world.files.append if how == ">>" else self.world.files.write)(
                self.path(where), b""
            )

    def _called(self, words: Sequence[str]) -> int:
        if words[:1] == ["exit"]:
            raise _Exit(int(words[1]) & 255 if len(words) > 1 else 0)
        if not words:
            return 0
        try:
            return self.run(words)
        except Missing as missing:
            self.console.write("stderr", f"sh: {missing}\n".encode())
            return 127

    def _interactive(self) -> int:
        code = 0
        for line in self._lines():
            code = self._script(line, ("sh", "-c", line))
        return code

    def _lines(self) -> Iterator[str]:
        text = b""
        for piece in self.input():
            *lines, text = (text + piece).split(b"\n")
            yield from (line.decode(errors="replace") for line in lines)
        if text:
            yield text.decode(errors="replace")

    def input(self) -> Iterator[bytes]:
        """What comes in, until its end or all is over."""
        while not self.over:
            piece = self.console.read(LOOK_S)
            if piece == b"":
                return
            if piece:
                yield piece

    def write(self, data: bytes) -> int:
        """To where the output goes just now; 0."""
        if self._out == "stdout" and self._caught is not None:
            self._caught.append(data)
        elif self._out in ("stdout", "stderr"):
            self.console.write(self._out, data)
        elif self._out != "/dev/null":
            self.world.files.append(self.path(self._out), data)
        return 0

    def path(self, path: str) -> str:
        """As seen from the working directory."""
        return str(Path(self.world.workdir, path))

    def complain(self, text: str) -> int:
        """A line to stderr; 1."""
        self.console.write("stderr", f"{text}\n".encode())
        return 1
