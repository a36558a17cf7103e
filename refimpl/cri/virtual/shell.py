"""Commands in virtual containers: a shell just big enough, and the programs that people run in it.

What it does not know succeeds at once, and a file of which nothing is known is there and empty: a
probe is to be content.
"""

from __future__ import annotations

import re
import shlex
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath as Path
from typing import Protocol

import attrs

from refimpl.cri.state.ports import Clock
from refimpl.cri.virtual.machine import commands
from refimpl.cri.virtual.machine.files import Files
from refimpl.cri.virtual.programs import FOREVER, Program, unescaped
from refimpl.streaming.streams import Size

__all__ = ["KILLED", "Console", "Missing", "Shell", "World", "asks"]

KILLED = 137
LOOK_S = 0.02
"""Between two looks at whether a client has left."""
_NOT_EXECUTABLE = 126
_PIECE = 1 << 16
_SHELLS = ("sh", "bash", "ash")
_ASKS = re.compile(r"\$\(|(^|[;&\n])\s*(\[|cat|env|hostname|id|ls|pwd|test|touch)\s")
_SUBSTITUTED = re.compile(r"\$\(([^()]*)\)")
_KEYWORDS = re.compile(r"(^|[;&|\n])\s*(while|for|until|if|case|trap|kill)\b|(?<!\|)\|(?!\|)")
_LOOP = re.compile(r"(?P<before>.*?)\bwhile\s+(?:true|:)\s*;\s*do\s(?P<body>.*?);?\s*done\s*", re.S)
_WRITES_NOW_AND_THEN = re.compile(r"(?=.*\b(echo|printf)\b).*\bsleep\b", re.S)


class Missing(Exception):
    """There is no such program; the text says so."""


class Console(Protocol):
    """What a command is connected to."""

    def read(self, timeout_s: float | None = None) -> bytes | None:
        """The next input, b"" at its end, None where the time is over."""

    def write(self, name: str, data: bytes) -> bool:
        """Writes to stdout or stderr; False where nobody listens."""

    @property
    def gone(self) -> bool:
        """Whether the client has left."""

    @property
    def size(self) -> Size | None:
        """Of its terminal, as far as it was told."""


@attrs.define(eq=False)
class World:
    """What the commands of one container share. users: their names by uid. running: their command
    lines. masked: programs that nobody may run. over: the container has ended."""

    env: Mapping[str, str] = attrs.field(factory=dict)
    workdir: str = "/"
    uid: int = 0
    gid: int = 0
    groups: tuple[int, ...] = ()
    users: Mapping[int, str] = attrs.field(factory=dict)
    masked: frozenset[str] = frozenset()
    files: Files = attrs.field(factory=Files)
    running: list[str] = attrs.field(factory=list)
    over: threading.Event = attrs.field(factory=threading.Event)


def asks(command: Sequence[str]) -> bool:
    """Whether it is a script, of what a shell here understands, that needs to know the world that
    it runs in, or writes again and again."""
    if command[0].rpartition("/")[2] not in _SHELLS or "-c" not in command[1:-1]:
        return False
    text = command[command.index("-c") + 1]
    if loop := _LOOP.fullmatch(text):
        return bool(_WRITES_NOW_AND_THEN.match(loop["body"])) and not _KEYWORDS.search(loop["body"])
    return bool(_ASKS.search(text)) and not _KEYWORDS.search(text)


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
        self._world, self._console, self._clock, self._known = world, console, clock, known
        self._out = "stdout"
        self._caught: list[bytes] | None = None

    def run(self, command: Sequence[str]) -> int:
        """Its exit code. Raises Missing."""
        line = " ".join(command)
        self._world.running.append(line)
        try:
            return self._run(command[0].rpartition("/")[2], command)
        except _Exit as exit:
            return exit.code
        finally:
            self._world.running.remove(line)

    @property
    def _over(self) -> bool:
        return self._console.gone or self._world.over.is_set()

    def _run(self, name: str, command: Sequence[str]) -> int:
        if name in _SHELLS and "-c" in command[1:-1]:
            return self._script(command[command.index("-c") + 1], command)
        if name in _SHELLS and len(command) == 1:
            return self._interactive()
        if self._world.masked & {command[0], f"/bin/{name}"}:
            self._complain(f"/bin/sh: {command[0]}: Permission denied")
            return _NOT_EXECUTABLE
        if command[0].startswith("/") and (reason := self._world.files.why_not(command[0])):
            self._complain(f"/bin/sh: {command[0]}: {reason}")
            return _NOT_EXECUTABLE
        if (text := self._world.files.script(command[0])) is not None:
            return self._script(text, ("sh", "-c", text))
        program = _PROGRAMS.get(name) if not command[0].startswith("/nonexistent") else None
        return program(self, command[1:]) if program else self._scripted(command)

    def _scripted(self, command: Sequence[str]) -> int:
        return self.play(self._known(command))

    def play(self, program: Program) -> int:
        """What a scripted program does; its exit code. Raises Missing."""
        if program.fails:
            raise Missing(program.fails)
        later = (each[1:] for each in program.later)
        for stream, written in (*program.writes, *later):
            self._console.write(stream, written)
        if program is FOREVER or self._wait(program.exit_after_s):
            return program.exit_code
        return KILLED

    def _wait(self, seconds: float | None) -> bool:
        """False where the client or the container has gone before."""
        over = threading.Event()
        forget = self._clock.call_later(seconds, over.set) if seconds else lambda: None
        while seconds != 0 and not over.wait(LOOK_S):
            if self._over:
                forget()
                return False
        return True

    # -- scripts ------------------------------------------------------------------------------

    def _script(self, text: str, command: Sequence[str]) -> int:
        if loop := _LOOP.fullmatch(text):
            self._script(loop["before"], ("sh", "-c", loop["before"]))
            while not self._over:
                self._script(loop["body"], ("sh", "-c", loop["body"]))
            return KILLED
        if _KEYWORDS.search(text):
            return self._scripted(command)
        code, joint = 0, ";"
        for joint_after, step in _steps(self._expanded(self._substituted(text))):
            if step and not ((joint == "&&" and code) or (joint == "||" and not code)):
                # What runs in the background has nobody who waits for it.
                code = 0 if joint_after == "&" else self._step(step)
            if self._over:
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
        known = {"$$": "1", **{f"${name}": value for name, value in self._world.env.items()}}
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
            return self._complain(f"sh: can't create {error.filename}: {error.strerror}")
        finally:
            self._out = outer

    def _redirect(self, how: str, where: str) -> None:
        self._out = {"1": "stdout", "2": "stderr"}.get(where, where)
        if how != ">&" and where != "/dev/null":
            (self._world.files.append if how == ">>" else self._world.files.write)(
                self._path(where), b""
            )

    def _called(self, words: Sequence[str]) -> int:
        if words[:1] == ["exit"]:
            raise _Exit(int(words[1]) & 255 if len(words) > 1 else 0)
        if not words:
            return 0
        try:
            return self.run(words)
        except Missing as missing:
            self._console.write("stderr", f"sh: {missing}\n".encode())
            return 127

    def _interactive(self) -> int:
        code = 0
        for line in self._lines():
            code = self._script(line, ("sh", "-c", line))
        return code

    def _lines(self) -> Iterator[str]:
        text = b""
        for piece in self._input():
            *lines, text = (text + piece).split(b"\n")
            yield from (line.decode(errors="replace") for line in lines)
        if text:
            yield text.decode(errors="replace")

    def _input(self) -> Iterator[bytes]:
        while not self._over:
            piece = self._console.read(LOOK_S)
            if piece == b"":
                return
            if piece:
                yield piece

    def _write(self, data: bytes) -> int:
        if self._out == "stdout" and self._caught is not None:
            self._caught.append(data)
        elif self._out in ("stdout", "stderr"):
            self._console.write(self._out, data)
        elif self._out != "/dev/null":
            self._world.files.append(self._path(self._out), data)
        return 0

    def _path(self, path: str) -> str:
        return str(Path(self._world.workdir, path))

    def _complain(self, text: str) -> int:
        self._console.write("stderr", f"{text}\n".encode())
        return 1

    # -- programs -----------------------------------------------------------------------------

    def _echo(self, words: Sequence[str]) -> int:
        bare = words[:1] in (["-n"], ("-n",))
        return self._write(" ".join(words[bare:]).encode() + (b"" if bare else b"\n"))

    def _printf(self, words: Sequence[str]) -> int:
        text, *values = (*words, "") if words else ("",)
        for value in values:
            text = text.replace("%s", value, 1)
        return self._write(unescaped(text))

    def _cat(self, words: Sequence[str]) -> int:
        code = 0
        for path in words:
            try:
                self._write(self._world.files.read(self._path(path)))
            except OSError as error:
                code = self._complain(f"cat: {path}: {error.strerror}")
        for piece in self._input() if not words else ():
            self._write(piece)
        return code

    def _head(self, words: Sequence[str]) -> int:
        if words[:1] not in (["-c"], ("-c",)) or len(words) < 2:
            return 0
        left = int(words[1])
        while left > 0 and not self._over:
            self._write(bytes(min(left, _PIECE)))
            left -= _PIECE
        return 0

    def _ls(self, words: Sequence[str]) -> int:
        code = 0
        for path in (each for each in words if each[:1] != "-"):
            try:
                names = self._world.files.names(self._path(path))
            except OSError as error:
                code = self._complain(f"ls: {path}: {error.strerror}")
            else:
                self._write("".join(f"{each}\n" for each in names or [path]).encode())
        return code

    def _touch(self, words: Sequence[str]) -> int:
        code = 0
        for path in words:
            try:
                self._world.files.append(self._path(path), b"")
            except OSError as error:
                code = self._complain(f"touch: {path}: {error.strerror}")
        return code

    def _test(self, words: Sequence[str]) -> int:
        """Of files; what else it is asked holds."""
        path = words[1] if len(words) > 1 and words[0] in ("-f", "-e", "-s") else "/"
        return 0 if self._world.files.exists(self._path(path)) else 1

    def _hostname(self, _words: Sequence[str]) -> int:
        return self._write(self._world.files.read("/etc/hostname") or b"localhost\n")

    def _rm(self, words: Sequence[str]) -> int:
        code = 0
        for path in (each for each in words if each[:1] != "-"):
            try:
                self._world.files.remove(self._path(path))
            except OSError as error:
                forced = "-f" in words and isinstance(error, FileNotFoundError)
                code = code if forced else self._complain(f"rm: {path}: {error.strerror}")
        return code

    def _sleep(self, words: Sequence[str]) -> int:
        return 0 if self._wait(self._known(("sleep", *words)).exit_after_s) else KILLED

    def _id(self, words: Sequence[str]) -> int:
        world = self._world
        every = " ".join(map(str, dict.fromkeys((world.gid, *world.groups))))
        name = world.users.get(world.uid, str(world.uid))
        short = {"-nu": name, "-un": name, "-u": str(world.uid), "-g": str(world.gid), "-G": every}
        whole = f"uid={world.uid} gid={world.gid} groups={every.replace(' ', ',')}"
        return self._write(f"{short.get(' '.join(words), whole)}\n".encode())

    def _grep(self, words: Sequence[str]) -> int:
        """Through the command lines of processes, as in `/proc/[0-9]*/cmdline`."""
        if len(words) < 2 or not words[-1].startswith("/proc/"):
            return 0
        return 0 if any(re.search(words[-2], each) for each in self._world.running) else 1

    def _stat(self, words: Sequence[str]) -> int:
        """`-c FORMAT PATH`, where %u and %g are known."""
        if words[:1] not in (["-c"], ("-c",)) or len(words) < 3:
            return 0
        code = 0
        for path in words[2:]:
            try:
                user, group = self._world.files.owner(self._path(path))
            except OSError as error:
                code = self._complain(f"stat: {path}: {error.strerror}")
            else:
                text = words[1].replace("%u", str(user)).replace("%g", str(group))
                self._write(f"{text}\n".encode())
        return code

    def _mount(self, words: Sequence[str]) -> int:
        return self._changed("mount", commands.mount, words)

    def _umount(self, words: Sequence[str]) -> int:
        return self._changed("umount", commands.umount, words)

    def _nsenter(self, words: Sequence[str]) -> int:
        """`-t 1 -m -- COMMAND`, as one on the node."""
        return self._changed("nsenter", commands.nsenter, words)

    def _changed(
        self, name: str, change: Callable[[Files, Sequence[str]], None], words: Sequence[str]
    ) -> int:
        try:
            change(self._world.files, words)
        except OSError as error:
            return self._complain(f"{name}: {error.filename}: {error.strerror}")
        return 0

    def _stty(self, words: Sequence[str]) -> int:
        size = self._console.size
        if size is None:
            return self._complain("stty: standard input: Inappropriate ioctl for device")
        return self._write(f"{size.height} {size.width}\n".encode())

    def _env(self, _words: Sequence[str]) -> int:
        return self._write("".join(f"{k}={v}\n" for k, v in self._world.env.items()).encode())


_PROGRAMS: Mapping[str, Callable[[Shell, Sequence[str]], int]] = {
    "[": Shell._test,
    "cat": Shell._cat,
    "echo": Shell._echo,
    "env": Shell._env,
    "false": lambda _shell, _words: 1,
    "grep": Shell._grep,
    "head": Shell._head,
    "hostname": Shell._hostname,
    "id": Shell._id,
    "ls": Shell._ls,
    "mount": Shell._mount,
    "nsenter": Shell._nsenter,
    "printf": Shell._printf,
    "pwd": lambda shell, _words: shell._write(f"{shell._world.workdir}\n".encode()),
    "rm": Shell._rm,
    "sleep": Shell._sleep,
    "stat": Shell._stat,
    "stty": Shell._stty,
    "test": Shell._test,
    "touch": Shell._touch,
    "true": lambda _shell, _words: 0,
    "umount": Shell._umount,
}


def _steps(text: str) -> Iterator[tuple[str, list[str]]]:
    """What ends a step, and its words."""
    lexer = shlex.shlex(text, posix=True, punctuation_chars=";&|<>")
    lexer.whitespace_split, lexer.commenters = True, ""
    words: list[str] = []
    try:
        for token in lexer:
            if token in (";", "&&", "||", "&"):
                yield token, words
                words = []
            else:
                words.append(token)
    except ValueError:  # a quote that nobody closes
        words = []
    yield ";", words
