"""What commands in a virtual container see of it, and what they are written with."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol

import attrs

from refimpl.cri.virtual.machine.files import Files
from refimpl.cri.virtual.programs import Program
from refimpl.streaming.streams import Size

__all__ = ["KILLED", "LOOK_S", "Command", "Console", "Missing", "Session", "World"]

KILLED = 137
LOOK_S = 0.02
"""Between two looks at whether a client has left."""


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


class Session(Protocol):
    """What a program has around it. known: the scripted program of a command line."""

    world: World
    console: Console
    known: Callable[[Sequence[str]], Program]

    @property
    def over(self) -> bool:
        """Whether the client or the container has gone."""

    def input(self) -> Iterator[bytes]:
        """What comes in, until its end or all is over."""

    def path(self, path: str) -> str:
        """As seen from the working directory."""

    def write(self, data: bytes) -> int:
        """To where its output goes; 0."""

    def complain(self, text: str) -> int:
        """A line to stderr; 1."""

    def wait(self, seconds: float | None) -> bool:
        """False where the client or the container has gone before."""


Command = Callable[[Session, Sequence[str]], int]
"""A program: from its words, without its name, to its exit code."""
