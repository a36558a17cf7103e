"""The mount table as this process sees it, and mounts that a case makes or takes away itself."""

from __future__ import annotations

import os
import subprocess

from conformance.engine.ledger.mounts import mount_points, table

__all__ = ["bind", "fs_type", "layers", "mount_points", "options", "take_away", "uncover"]


def layers(path: str) -> int:
    """How many mounts lie on top of each other at a path; its parents may be links."""
    return mount_points().count(_plain(path))


def options(path: str) -> frozenset[str]:
    """Options of the topmost mount at a path, its own and those of its file system (proc(5))."""
    words: frozenset[str] = frozenset()
    for point, line in table():
        if point == _plain(path):
            own, of_file_system = line.split(" ")[5], line.rpartition(" ")[2]
            words = frozenset(f"{own},{of_file_system}".split(","))
    return words


def fs_type(path: str) -> str:
    """The file system that is topmost at a path, empty where nothing is mounted (proc(5))."""
    name = ""
    for point, line in table():
        if point == _plain(path):
            name = line.partition(" - ")[2].split(" ")[0]
    return name


def bind(source: str, target: str) -> None:
    """Shows at `target` what is at `source`; needs root."""
    _run("mount", "--bind", source, target)


def uncover(path: str, down_to: int = 0) -> None:
    """Takes mounts off a path until `down_to` are left; needs root where there are more."""
    while layers(path) > down_to:
        _run("umount", _plain(path))


def take_away(path: str) -> None:
    """Removes what a driver has put at a target, behind its back; needs root for a mount.

    Only what is published goes, a link, a mount or an empty directory, never what a volume holds.
    """
    uncover(path)
    if os.path.isdir(path) and not os.path.islink(path):
        os.rmdir(path)
    elif os.path.lexists(path):
        os.unlink(path)


def _plain(path: str) -> str:
    parent, name = os.path.split(path)
    return os.path.join(os.path.realpath(parent), name)


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise OSError(f"{' '.join(command)}: {done.stderr.strip()}")
