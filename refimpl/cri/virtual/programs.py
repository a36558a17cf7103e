"""What a scripted program does, and which one a command is.

`Program` says all that the process model has to know. Those of common commands are made by
`program_of`; a fake may be given others for images and commands by name (`Scripts`).
"""

from __future__ import annotations

import fnmatch
import itertools
import re
import shlex
from collections.abc import Mapping, Sequence

import attrs

__all__ = ["FOREVER", "Program", "Scripts", "program_of", "scripted", "unescaped", "within"]


@attrs.frozen(kw_only=True)
class Program:
    """exit_after_s: None for one that runs until it is ended. ignores: signals without effect.
    traps: signal -> exit code of a program that handles it; else it is 128 + number.
    writes: what it writes at its start, stream and bytes. later: what it writes after so many
    seconds, in their order. fails: why it cannot be started. memory: its working set, in bytes.
    cpu: how much of one CPU it takes. listens: the ports at which it answers, in HTTP."""

    exit_after_s: float | None = None
    exit_code: int = 0
    reason: str = ""
    ignores: frozenset[int] = frozenset()
    traps: Mapping[int, int] = attrs.field(factory=dict)
    writes: tuple[tuple[str, bytes], ...] = ()
    later: tuple[tuple[float, str, bytes], ...] = ()
    fails: str = ""
    memory: int = 1 << 20
    cpu: float = 0.01
    listens: tuple[int, ...] = ()


FOREVER = Program()
"""A program that we know nothing of: it runs until it is stopped, or told to end from outside."""

Scripts = Mapping[str, Program]
"""Programs by a glob of the image's name or of the command line; the first that fits counts."""

_SHELLS = ("sh", "bash", "ash")
_SIGNALS = {"HUP": 1, "INT": 2, "QUIT": 3, "KILL": 9, "USR1": 10, "USR2": 12, "TERM": 15}
_ESCAPE = re.compile(rb"\\([0-7]{1,3}|.)", re.DOTALL)
_ESCAPED = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"\\": b"\\"}
_MISSING = re.compile(r"/nonexistent(/|$)")


def program_of(
    images: Sequence[str], command: Sequence[str], scripts: Scripts | None = None
) -> Program:
    """The program of a command line in an image, of which all names are given.

    What lies below /nonexistent is missing, as by Debian's policy on every machine.
    """
    if program := scripted(images, command, scripts):
        return program
    if not command:
        return FOREVER
    if _MISSING.match(command[0]):
        return Program(fails=f"exec: {command[0]!r}: no such file or directory")
    name = command[0].rpartition("/")[2]
    if name in _SHELLS and "-c" in command[1:-1]:
        return _shell(command[command.index("-c") + 1])
    return _simple(name, command[1:])


def scripted(
    images: Sequence[str], command: Sequence[str], scripts: Scripts | None
) -> Program | None:
    """The program that was given for an image or a command line."""
    names = [*images, " ".join(command)]
    for glob, program in (scripts or {}).items():
        if any(fnmatch.fnmatchcase(name, glob) for name in names):
            return program
    return None


def _simple(name: str, arguments: Sequence[str]) -> Program:
    if name == "true":
        return Program(exit_after_s=0)
    if name == "false":
        return Program(exit_after_s=0, exit_code=1)
    if name == "echo":
        newline = b"" if "-n" in arguments[:1] else b"\n"
        words = arguments[0 if newline else 1 :]
        return Program(exit_after_s=0, writes=(("stdout", " ".join(words).encode() + newline),))
    if name == "printf" and arguments:
        return Program(exit_after_s=0, writes=(("stdout", unescaped(arguments[0])),))
    if name == "seq" and all(map(str.isdecimal, arguments)) and 1 <= len(arguments) <= 2:
        first, last = [1, *map(int, arguments)][-2:]
        counted = "".join(f"{number}\n" for number in range(first, last + 1))
        return Program(exit_after_s=0, writes=(("stdout", counted.encode()),))
    if name == "sleep" and arguments:
        # As the first process of a container it has no handler, so TERM has no effect.
        return Program(exit_after_s=_seconds(arguments[0]), ignores=frozenset({15}))
    if name == "dd":
        given = dict(word.partition("=")[::2] for word in arguments)
        forever = "count" not in given and given.get("if") == "/dev/zero"
        return Program(exit_after_s=None if forever else 0, memory=_bytes(given.get("bs", "512")))
    if name == "top":
        # It handles these, to leave the terminal as it was.
        return Program(traps={number: 128 + number for number in (1, 2, 15)})
    if name == "httpd":
        return Program(listens=(_port(arguments),))
    return FOREVER


def within(program: Program, memory: int) -> Program:
    """What it does with so many bytes of memory (0: no limit): one that wants more is killed."""
    if not 0 < memory < program.memory:
        return program
    return attrs.evolve(program, exit_after_s=0, exit_code=137, reason="OOMKilled", later=())


def _bytes(text: str) -> int:
    number = text.rstrip("kKMG")
    unit = {"k": 10, "K": 10, "M": 20, "G": 30}.get(text[len(number) :], 0)
    return int(number) << unit if number.isdecimal() else 0


def _port(arguments: Sequence[str]) -> int:
    """`-p PORT` or `-p ADDRESS:PORT`, 80 without."""
    after = dict(itertools.pairwise(arguments)).get("-p", "")
    port = after.rpartition(":")[2]
    return int(port) if port.isdecimal() else 80


def _seconds(text: str) -> float | None:
    try:
        seconds = float(text)
    except ValueError:
        return None
    return seconds if seconds < float("inf") else None


def _shell(script: str) -> Program:
    """A shell whose script is commands one after the other, with traps; loops run for ever."""
    after, code, killed = 0.0, 0, 0
    ignores: set[int] = set()
    traps: dict[int, int] = {}
    writes: list[tuple[str, bytes]] = []
    later: list[tuple[float, str, bytes]] = []
    forever = False
    listens: tuple[int, ...] = ()
    memory = FOREVER.memory
    for step in re.split(r"\s*(?:;|&&|\n)\s*", script.strip()):
        words, stream = _words(step)
        if not words:
            continue
        if words[0] == "trap":
            action, numbers = _trap(step)
            ignores |= numbers if action is None else set()
            traps |= dict.fromkeys(numbers, action or 0) if action is not None else {}
        elif words[0] == "exit":
            code = int(words[1]) if len(words) > 1 else code
            break
        elif words[0] == "kill" and words[-1] == "$$":
            killed = _signal(words[1].lstrip("-")) if len(words) > 2 else 15
            break
        elif words[0] in ("while", "for", "until"):
            forever, ignores = True, ignores or {15} - set(traps)
            break
        else:
            part = _simple(words[0].rpartition("/")[2], words[1:])
            for _, written in part.writes:
                if after:
                    later.append((after, stream, written))
                else:
                    writes.append((stream, written))
            code, memory = part.exit_code, max(memory, part.memory)
            if part.exit_after_s is None:
                traps |= part.traps
                forever, ignores = True, ignores | {15} - set(traps)
                listens = part.listens
                break
            after += part.exit_after_s
    return Program(
        exit_after_s=None if forever else after,
        exit_code=128 + killed if killed else code,
        ignores=frozenset(ignores),
        traps=traps,
        writes=tuple(writes),
        later=tuple(later),
        listens=listens,
        memory=memory,
    )


def _words(step: str) -> tuple[list[str], str]:
    """Of a command, and where its output goes."""
    try:
        words = shlex.split(step)
    except ValueError:
        words = step.replace('"', "").replace("'", "").split()
    if words[-1:] == [">&2"]:
        return words[:-1], "stderr"
    return words, "stdout"


def unescaped(text: str) -> bytes:
    """What printf makes of its format."""
    return _ESCAPE.sub(_meant, text.encode()).replace(b"%%", b"%")


def _meant(match: re.Match[bytes]) -> bytes:
    code = match[1]
    return bytes([int(code, 8) & 255]) if code.isdigit() else _ESCAPED.get(code, match[0])


def _trap(step: str) -> tuple[int | None, set[int]]:
    """The exit code of a trap, None for one that does nothing, and its signals."""
    match = re.fullmatch(r"""trap\s+(["']?)(.*?)\1\s+([A-Z0-9 ]+)""", step.strip())
    if match is None:
        return None, set()
    action, names = match[2].split(), match[3].split()
    code = int(action[1]) if action[:1] == ["exit"] and len(action) > 1 else 0
    return (code if action else None), {_signal(name) for name in names}


def _signal(name: str) -> int:
    return int(name) if name.isdecimal() else _SIGNALS.get(name.removeprefix("SIG"), 15)
