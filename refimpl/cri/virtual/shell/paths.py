"""Programs that look at files and mounts, or change them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from refimpl.cri.virtual.machine import commands
from refimpl.cri.virtual.machine.files import Files
from refimpl.cri.virtual.shell.world import Command, Session

__all__ = ["PATHS"]


def _each(name: str, act: Callable[[Session, str], object]) -> Command:
    """A program that does so with each path that it is given, and tells of those that it cannot;
    with -f it is silent about what is not there."""

    def run(shell: Session, words: Sequence[str]) -> int:
        code = 0
        for path in (each for each in words if each[:1] != "-"):
            try:
                act(shell, path)
            except OSError as error:
                if not ("-f" in words and isinstance(error, FileNotFoundError)):
                    code = shell.complain(f"{name}: {path}: {error.strerror}")
        return code

    return run


def _list(shell: Session, path: str) -> None:
    names = shell.world.files.names(shell.path(path))
    shell.write("".join(f"{each}\n" for each in ([path] if names is None else names)).encode())


def _show(shell: Session, path: str) -> None:
    shell.write(shell.world.files.read(shell.path(path)))


def _cat(shell: Session, words: Sequence[str]) -> int:
    for piece in shell.input() if not words else ():
        shell.write(piece)
    return _each("cat", _show)(shell, words)


def _test(shell: Session, words: Sequence[str]) -> int:
    """Of files; what else it is asked holds."""
    path = words[1] if len(words) > 1 and words[0] in ("-f", "-e", "-s") else "/"
    return 0 if shell.world.files.exists(shell.path(path)) else 1


def _mkdir(shell: Session, words: Sequence[str]) -> int:
    parents = "-p" in words
    return _each(
        "mkdir", lambda shell, path: shell.world.files.mkdir(shell.path(path), parents=parents)
    )(shell, words)


def _stat(shell: Session, words: Sequence[str]) -> int:
    """`-c FORMAT PATH`, where %u and %g are known."""
    if [*words[:1]] != ["-c"] or len(words) < 3:
        return 0

    def tell(shell: Session, path: str) -> None:
        user, group = shell.world.files.owner(shell.path(path))
        text = words[1].replace("%u", str(user)).replace("%g", str(group))
        shell.write(f"{text}\n".encode())

    return _each("stat", tell)(shell, words[2:])


def _changes(name: str, change: Callable[[Files, Sequence[str]], None]) -> Command:
    def run(shell: Session, words: Sequence[str]) -> int:
        try:
            change(shell.world.files, words)
        except OSError as error:
            return shell.complain(f"{name}: {error.filename}: {error.strerror}")
        return 0

    return run


PATHS: Mapping[str, Command] = {
    "[": _test,
    "cat": _cat,
    "ls": _each("ls", _list),
    "mkdir": _mkdir,
    "mount": _changes("mount", commands.mount),
    "nsenter": _changes("nsenter", commands.nsenter),
    "rm": _each("rm", lambda shell, path: shell.world.files.remove(shell.path(path))),
    "stat": _stat,
    "test": _test,
    "touch": _each("touch", lambda shell, path: shell.world.files.append(shell.path(path), b"")),
    "umount": _changes("umount", commands.umount),
}
