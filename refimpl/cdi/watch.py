"""Notices that directories of CDI files changed: by inotify, or by looking where that fails.

Every way for a file to come or go counts: written, renamed, moved in, linked hard or softly,
removed; and the directory itself may be missing, go, or come back as another one.
"""

from __future__ import annotations

import contextlib
import os
import select
import threading
import time
from collections.abc import Iterable

from inotify_simple import INotify, flags

from refimpl.cdi.directories import Signature, signature, spec_paths
from refimpl.cdi.files import SUFFIXES

# Between two looks while waiting, s: without inotify, and for what inotify cannot see.
INTERVAL_S = 0.2

_CHANGES = (
    flags.CREATE
    | flags.MODIFY
    | flags.CLOSE_WRITE
    | flags.ATTRIB
    | flags.MOVED_FROM
    | flags.MOVED_TO
    | flags.DELETE
    | flags.DELETE_SELF
    | flags.MOVE_SELF
    | flags.ONLYDIR
)
# Of a directory in which a missing one may appear; added to what is watched there already.
_ARRIVALS = flags.CREATE | flags.MOVED_TO | flags.ONLYDIR | flags.MASK_ADD

_LOST = flags.DELETE_SELF | flags.MOVE_SELF | flags.UNMOUNT | flags.IGNORED

Identity = tuple[int, int]


class DirectoryWatch:
    """Watches directories until it is closed. `polling` does without inotify from the start."""

    def __init__(
        self, directories: Iterable[str | os.PathLike[str]], *, polling: bool = False
    ) -> None:
        self.directories = tuple(os.fspath(path) for path in directories)
        self._inotify: INotify | None = None
        self._watched: dict[str, tuple[int, Identity]] = {}
        self._elsewhere: dict[str, Signature | None] = {}
        self._first = True
        if not polling:
            self._open()

    @property
    def polling(self) -> bool:
        """Whether it looks at every file each time, because inotify was not available."""
        return self._inotify is None

    def changed(self) -> bool:
        """Whether anything may have changed since the last call; the first time it is True.

        Scan after it, not before: the next call reports what happens meanwhile.
        """
        first, self._first = self._first, False
        # All three are done each time: each one takes note of what it sees.
        changes = [self._reported(), self._replaced(), self._looked()]
        return first or any(changes)

    def wait(self, timeout_s: float) -> bool:
        """Returns as soon as `changed` would be True, or False after `timeout_s` seconds."""
        deadline = time.monotonic() + timeout_s
        while not self.changed():
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                return False
            self._rest(min(remaining, INTERVAL_S))
        return True

    def close(self) -> None:
        """Ends watching; a second time changes nothing."""
        inotify, self._inotify = self._inotify, None
        if inotify is not None:
            inotify.close()

    def __enter__(self) -> DirectoryWatch:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _open(self) -> None:
        try:
            self._inotify = INotify()
        except OSError:  # out of instances or descriptors
            self._inotify = None

    def _rest(self, interval_s: float) -> None:
        if self._inotify is None:
            threading.Event().wait(interval_s)
        else:
            self._arrivals()
            select.select([self._inotify], [], [], interval_s)

    def _reported(self) -> bool:
        """Whether inotify has reported something that matters."""
        if self._inotify is None:
            return False
        matters = False
        for event in self._inotify.read(timeout=0):
            # Of a directory left behind, or of one above, nothing matters but that it woke us.
            of_ours = event.wd in {number for number, _ in self._watched.values()}
            by_name = not event.name or event.name.endswith(SUFFIXES)
            matters = matters or (of_ours and by_name) or bool(event.mask & flags.Q_OVERFLOW)
            if event.mask & _LOST:
                self._forget(event.wd)
        return matters

    def _forget(self, number: int) -> None:
        """A directory left: what stands at its path next may even have its inode's number."""
        for directory, (watch, _) in list(self._watched.items()):
            if watch == number:
                del self._watched[directory]
        with contextlib.suppress(OSError):  # where the kernel has forgotten it already
            if self._inotify is not None:
                self._inotify.rm_watch(number)

    def _replaced(self) -> bool:
        """Whether a directory is another one than before; the new one is watched from now on."""
        changed = False
        for directory in self.directories:
            previous = self._watched.get(directory)
            current = _identity(directory)
            if current == (previous and previous[1]):
                continue
            changed = True
            self._watched.pop(directory, None)
            if current is not None:
                self._watched[directory] = (self._add(directory, _CHANGES), current)
        return changed

    def _add(self, directory: str, mask: int) -> int:
        """The watch's number, -1 where there is none: then every file is looked at."""
        if self._inotify is None:
            return -1
        try:
            return int(self._inotify.add_watch(directory, mask))
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            return -1
        except OSError:  # out of watches
            self.close()
            return -1

    def _arrivals(self) -> None:
        """Lets a missing directory's appearance end the waiting."""
        for directory in self.directories:
            if directory not in self._watched:
                self._add(_nearest(directory), _ARRIVALS)

    def _looked(self) -> bool:
        """Whether files changed that inotify does not report: what links lead to, or all files."""
        signatures = {}
        for directory in self.directories:
            try:
                paths = list(spec_paths(directory))
            except OSError:
                continue
            for path in paths:
                if self._inotify is None or _has_other_names(path):
                    signatures[path] = signature(path)
        previous, self._elsewhere = self._elsewhere, signatures
        return previous != signatures


def _identity(directory: str) -> Identity | None:
    try:
        status = os.stat(directory)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _nearest(directory: str) -> str:
    """The closest directory above that exists."""
    while directory not in ("", "/"):
        directory = os.path.dirname(directory)
        if os.path.isdir(directory):
            return directory
    return directory or "."


def _has_other_names(path: str) -> bool:
    """Whether the file can be written to without this directory hearing of it."""
    try:
        status = os.lstat(path)
    except OSError:
        return True
    return os.path.islink(path) or status.st_nlink > 1
