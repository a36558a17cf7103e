"""Programs that write text, and that say who and where they are."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from refimpl.cri.virtual.programs import unescaped
from refimpl.cri.virtual.shell.world import KILLED, Command, Session

__all__ = ["TEXTS"]

_PIECE = 1 << 16


def _echo(shell: Session, words: Sequence[str]) -> int:
    bare = [*words[:1]] == ["-n"]
    return shell.write(" ".join(words[bare:]).encode() + (b"" if bare else b"\n"))


def _printf(shell: Session, words: Sequence[str]) -> int:
    text, *values = (*words, "") if words else ("",)
    for value in values:
        text = text.replace("%s", value, 1)
    return shell.write(unescaped(text))


def _head(shell: Session, words: Sequence[str]) -> int:
    """`head -c NUMBER /dev/zero`."""
    if [*words[:1]] != ["-c"] or len(words) < 2:
        return 0
    left = int(words[1])
    while left > 0 and not shell.over:
        shell.write(bytes(min(left, _PIECE)))
        left -= _PIECE
    return 0


def _hostname(shell: Session, _words: Sequence[str]) -> int:
    return shell.write(shell.world.files.read("/etc/hostname") or b"localhost\n")


def _sleep(shell: Session, words: Sequence[str]) -> int:
    return 0 if shell.wait(shell.known(("sleep", *words)).exit_after_s) else KILLED


def _id(shell: Session, words: Sequence[str]) -> int:
    world = shell.world
    every = " ".join(map(str, dict.fromkeys((world.gid, *world.groups))))
    name = world.users.get(world.uid, str(world.uid))
    short = {"-nu": name, "-un": name, "-u": str(world.uid), "-g": str(world.gid), "-G": every}
    whole = f"uid={world.uid} gid={world.gid} groups={every.replace(' ', ',')}"
    return shell.write(f"{short.get(' '.join(words), whole)}\n".encode())


def _grep(shell: Session, words: Sequence[str]) -> int:
    """Through the command lines of processes, as in `/proc/[0-9]*/cmdline`."""
    if len(words) < 2 or not words[-1].startswith("/proc/"):
        return 0
    return 0 if any(re.search(words[-2], each) for each in shell.world.running) else 1


def _stty(shell: Session, _words: Sequence[str]) -> int:
    size = shell.console.size
    if size is None:
        return shell.complain("stty: standard input: Inappropriate ioctl for device")
    return shell.write(f"{size.height} {size.width}\n".encode())


def _env(shell: Session, _words: Sequence[str]) -> int:
    return shell.write("".join(f"{k}={v}\n" for k, v in shell.world.env.items()).encode())


TEXTS: Mapping[str, Command] = {
    "echo": _echo,
    "env": _env,
    "false": lambda _shell, _words: 1,
    "grep": _grep,
    "head": _head,
    "hostname": _hostname,
    "id": _id,
    "printf": _printf,
    "pwd": lambda shell, _words: shell.write(f"{shell.world.workdir}\n".encode()),
    "sleep": _sleep,
    "stty": _stty,
    "true": lambda _shell, _words: 0,
}
