"""Tells of sockets that come to a folder and go from it: by inotify, or, failing that, by looking.

What kubelet's watcher of plugins_registry sees: folders below count, too, however deep; names that
begin with a dot and what is no socket do not; a link to a socket is one.
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
import stat
import threading
import time
from collections.abc import Iterator
from typing import Any, Literal, Self

from attrs import frozen
from inotify_simple import INotify, flags

__all__ = ["SocketDirectory", "SocketEvent"]

# Between two looks while waiting, s: without inotify, or while the folder itself is missing.
INTERVAL_S = 0.2

_ARRIVED = flags.CREATE | flags.MOVED_TO
_LEFT = flags.DELETE | flags.MOVED_FROM
_MASK = _ARRIVED | _LEFT | flags.DELETE_SELF | flags.MOVE_SELF | flags.ONLYDIR

# Of one binding of a socket: device, inode (which a file system gives out again), ns of its making.
Identity = tuple[int, int, int]


@frozen
class SocketEvent:
    """A socket was bound (or moved, or linked) at this absolute path, or is there no more.

    "appeared" for one that is known means that another one has taken its place.
    """

    kind: Literal["appeared", "gone"]
    path: str


class SocketDirectory:
    """Watches a folder until it is closed. `polling` does without inotify from the start.

    The folder may be missing, go, and come back. For one thread, but for `wake`.
    """

    def __init__(self, folder: str | os.PathLike[str], *, polling: bool = False) -> None:
        self.folder = os.path.abspath(folder)
        self._inotify: INotify | None = None
        self._folders: dict[int, str] = {}
        self._known: dict[str, Identity] = {}
        # Found by looking: inotify may tell of the same binding later.
        self._looked: set[str] = set()
        self._woken, self._waker = socket.socketpair()
        self._waker.setblocking(False)
        if not polling:
            with contextlib.suppress(OSError):  # out of instances or descriptors
                self._inotify = INotify()

    @property
    def polling(self) -> bool:
        """Whether it looks at the whole folder each time, because inotify could not be had."""
        return self._inotify is None

    def events(self, timeout_s: float = 0.0) -> list[SocketEvent]:
        """What happened since the last call, in order; at first, what is there.

        Waits for the first event up to `timeout_s` seconds, or until `wake` is called.
        """
        deadline = time.monotonic() + timeout_s
        while not (events := self._take()):
            left = deadline - time.monotonic()
            if left <= 0 or self._rest(left):
                return self._take()
        return events

    def wake(self) -> None:
        """Ends a waiting of `events`, this one or the next; from any thread."""
        with contextlib.suppress(BlockingIOError, OSError):  # enough calls wait, or it is closed
            self._waker.send(b"x")

    def close(self) -> None:
        """Ends watching; a second time changes nothing."""
        self._do_without_inotify()
        self._waker.close()
        self._woken.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Waiting

    def _rest(self, left_s: float) -> bool:
        """Waits for a sign from the kernel, or for the next look; whether `wake` was called."""
        sources: list[Any] = [self._woken]
        watched = self._inotify is not None and self._root_watched()
        if watched:
            sources.append(self._inotify)
        ready, _, _ = select.select(sources, [], [], left_s if watched else min(left_s, INTERVAL_S))
        if self._woken in ready:
            self._woken.recv(4096)
            return True
        return False

    def _take(self) -> list[SocketEvent]:
        events: list[SocketEvent] = []
        lost = not self._root_watched()
        for event in self._inotify.read(timeout=0) if self._inotify else ():
            lost = lost or bool(event.mask & flags.Q_OVERFLOW)
            events += self._events_of(event)
        if lost or not self._root_watched():
            events += self._scan()
        return events

    # What inotify tells

    def _events_of(self, event: Any) -> Iterator[SocketEvent]:
        folder = self._folders.get(event.wd)
        if folder is None:  # of a folder that was left behind
            return
        if event.mask & (flags.DELETE_SELF | flags.MOVE_SELF | flags.IGNORED):
            self._forget(folder)
        elif _counts(event.name):
            path = os.path.join(folder, event.name)
            if event.mask & _LEFT:
                yield from self._left(path)
            elif event.mask & flags.ISDIR:
                yield from self._entered(path)
            elif event.mask & _ARRIVED:
                yield from self._arrived(path)

    def _arrived(self, path: str) -> Iterator[SocketEvent]:
        identity = _identity(path)
        if identity is None:
            yield from self._left(path)
        elif path in self._looked and self._known.get(path) == identity:
            self._looked.discard(path)
        else:
            self._known[path] = identity
            yield SocketEvent("appeared", path)

    def _entered(self, folder: str) -> Iterator[SocketEvent]:
        """A new folder: sockets may have been bound in it before it could be watched."""
        for path, identity in self._walk(folder):
            if self._known.get(path) != identity:
                self._known[path] = identity
                self._looked.add(path)
                yield SocketEvent("appeared", path)

    def _left(self, path: str) -> Iterator[SocketEvent]:
        below = path + os.sep
        self._forget(path)
        for known in [each for each in self._known if each == path or each.startswith(below)]:
            del self._known[known]
            self._looked.discard(known)
            yield SocketEvent("gone", known)

    # Looking

    def _scan(self) -> Iterator[SocketEvent]:
        sockets = dict(self._walk(self.folder))
        for path in self._known.keys() - sockets.keys():
            yield from self._left(path)
        for path, identity in sockets.items():
            if self._known.get(path) != identity:
                self._known[path] = identity
                yield SocketEvent("appeared", path)
        self._looked = set(sockets)

    def _walk(self, top: str) -> Iterator[tuple[str, Identity]]:
        """The sockets below, each folder watched before it is read."""
        self._watch(top)
        for folder, names, files in os.walk(top):
            names[:] = sorted(name for name in names if _counts(name))
            for name in names:
                self._watch(os.path.join(folder, name))
            for name in sorted(filter(_counts, files)):
                path = os.path.join(folder, name)
                if (identity := _identity(path)) is not None:
                    yield path, identity

    def _watch(self, folder: str) -> None:
        if self._inotify is None or (folder != self.folder and os.path.islink(folder)):
            return
        try:
            self._folders[int(self._inotify.add_watch(folder, _MASK))] = folder
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            return
        except OSError:  # out of watches
            self._do_without_inotify()

    def _root_watched(self) -> bool:
        return self.folder in self._folders.values()

    def _forget(self, folder: str) -> None:
        """Watches go with a folder's name: its inode may live on elsewhere."""
        below = folder + os.sep
        for number, watched in list(self._folders.items()):
            if watched == folder or watched.startswith(below):
                del self._folders[number]
                with contextlib.suppress(OSError):  # where the kernel has forgotten it already
                    if self._inotify is not None:
                        self._inotify.rm_watch(number)

    def _do_without_inotify(self) -> None:
        inotify, self._inotify = self._inotify, None
        self._folders.clear()
        if inotify is not None:
            # The kernel takes its time with it: 15 ms, and many seconds where the CPUs are busy.
            threading.Thread(target=inotify.close, name="refimpl-inotify", daemon=True).start()


def _counts(name: str) -> bool:
    return bool(name) and not name.startswith(".")


def _identity(path: str) -> Identity | None:
    """What tells one binding from the next; None where no socket is."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return (
        (status.st_dev, status.st_ino, status.st_mtime_ns)
        if stat.S_ISSOCK(status.st_mode)
        else None
    )
