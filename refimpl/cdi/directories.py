"""Directories of CDI files: what lies in them, and what keeps one from being read."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Sequence

import attrs

from refimpl.cdi.files import SUFFIXES, load
from refimpl.cdi.registry import SpecFile
from refimpl.cdi.rules import Policy

DEFAULT = ("/etc/cdi", "/var/run/cdi")
"""Written by an administrator; written by drivers while the machine runs. The later one wins."""

# File systems date changes by a clock that ticks: of two in one tick the second one is not seen.
JUST_NOW_NS = 100_000_000

Signature = tuple[int, int, int, int, int]


@attrs.frozen
class Scan:
    """All files of all directories, in the order of directories and names. `errors`: directory to
    why it could not be read; a missing one has none.
    """

    files: tuple[SpecFile, ...]
    errors: dict[str, str]


@attrs.define
class DirectoryScanner:
    """Reads directories; a file that has not changed for a while is not read again."""

    policy: Policy = "practice"
    _read: dict[tuple[str, int], tuple[Signature, SpecFile]] = attrs.field(factory=dict)

    def scan(self, directories: Sequence[str | os.PathLike[str]]) -> Scan:
        """What lies in the directories now; the place in the list is the priority.

        One that cannot be read, or a broken file, keeps nothing else from being found.
        """
        files: list[SpecFile] = []
        errors: dict[str, str] = {}
        previous, self._read = self._read, {}
        for priority, path in enumerate(directories):
            directory = os.fspath(path)
            try:
                paths = list(spec_paths(directory))
            except FileNotFoundError:
                continue
            except OSError as error:
                errors[directory] = f"{directory} cannot be read: {error.strerror}"
                continue
            files += (self._file(spec_path, priority, previous) for spec_path in paths)
        return Scan(tuple(files), errors)

    def _file(
        self, path: str, priority: int, previous: dict[tuple[str, int], tuple[Signature, SpecFile]]
    ) -> SpecFile:
        # Taken before the reading: a change in between shows as another signature next time.
        current = signature(path)
        remembered = previous.get((path, priority))
        file = (
            remembered[1]
            if remembered and remembered[0] == current
            else load(path, priority=priority, policy=self.policy)
        )
        if current is not None and current[3] < time.time_ns() - JUST_NOW_NS:
            self._read[path, priority] = (current, file)
        return file


def spec_paths(directory: str) -> Iterator[str]:
    """The files of one directory that could be specifications, by name. Raises OSError."""
    with os.scandir(directory) as entries:
        names = [
            entry.name
            for entry in entries
            if entry.name.endswith(SUFFIXES) and not entry.is_dir(follow_symlinks=False)
        ]
    return (os.path.join(directory, name) for name in sorted(names))


def signature(path: str) -> Signature | None:
    """What changes when the content of a file does; None for one that is not there."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def scan(directories: Iterable[str | os.PathLike[str]], policy: Policy = "practice") -> Scan:
    """What lies in the directories, read once."""
    return DirectoryScanner(policy).scan(list(directories))
