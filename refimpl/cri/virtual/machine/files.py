"""The files of a container, wherever they are: in its own layer, or in one of its mounts."""

from __future__ import annotations

import contextlib
import errno
import os
import posixpath
from collections.abc import Mapping, Sequence

import attrs

from refimpl.cri.virtual.machine.node import Node
from refimpl.cri.virtual.machine.owners import Ids, shown
from refimpl.cri.virtual.machine.places import Memory, refusal
from refimpl.cri.virtual.machine.table import Mounted, Table, below

__all__ = ["Files"]


class Files:
    """By absolute paths. table: its mounts, of which the first is the root. readonly: paths below
    which nothing can be written, unless something is mounted there. node: the machine it is on.
    privileged: whether mounts can be made. ids: of its user namespace."""

    def __init__(
        self,
        table: Table | None = None,
        readonly: Sequence[str] = (),
        *,
        node: Node | None = None,
        privileged: bool = False,
        ids: Ids | None = None,
    ) -> None:
        self._ids = ids or Ids()
        self.node, self.privileged = node or Node(), privileged
        self.table = table or Table([Mounted(at="/", place=Memory(loose=True))])
        self._readonly = [posixpath.normpath(path) for path in readonly]
        self._generated: dict[str, bytes | None] = {}
        self._system = Memory()

    def generate(self, texts: Mapping[str, str]) -> None:
        """What the runtime and the kernel write: it lies on top of every mount but one at that very
        path."""
        self._generated |= {path: text.encode() for path, text in texts.items()}
        self._system = Memory(self._generated)

    def read(self, path: str) -> bytes:
        """The content of a file; raises OSError."""
        mounted, rest = self.find(path)
        return mounted.place.read(rest)

    def write(self, path: str, data: bytes) -> None:
        """All of a file; raises OSError."""
        mounted, rest = self._writable(path)
        mounted.place.write(rest, data)

    def append(self, path: str, data: bytes) -> None:
        """To a file, that is made where it is not there; raises OSError."""
        mounted, rest = self._writable(path)
        mounted.place.write(rest, data, append=True)

    def remove(self, path: str) -> None:
        """Raises OSError."""
        mounted, rest = self._writable(path)
        mounted.place.remove(rest)

    def mkdir(self, path: str, *, parents: bool = False) -> None:
        """Raises OSError; with parents not for what is there."""
        if parents and self.exists(path):
            return
        if parents:
            self.mkdir(posixpath.dirname(path), parents=True)
        mounted, rest = self._writable(path)
        mounted.place.mkdir(rest)

    def names(self, path: str) -> list[str] | None:
        """What is in a folder; None for a file. Raises OSError."""
        mounted, rest = self.find(path)
        return mounted.place.names(rest)

    def owner(self, path: str) -> tuple[int, int]:
        """User and group, as the container sees them. Raises OSError."""
        mounted, rest = self.find(path)
        owner = mounted.place.owner(rest)
        return (0, 0) if owner is None else shown(owner, mounted.ids, self._ids)

    def exists(self, path: str) -> bool:
        """Whether there is anything at that path."""
        try:
            self.names(path)
        except OSError:
            return False
        return True

    def why_not(self, path: str) -> str:
        """Why a program there cannot be run; empty where it can."""
        return os.strerror(errno.EACCES) if "noexec" in self.find(path)[0].options else ""

    def script(self, path: str) -> str | None:
        """The text of a shell script in a mount; None for what is none."""
        mounted, rest = self.find(path)
        if mounted.at == "/":
            return None
        with contextlib.suppress(OSError):
            text = mounted.place.read(rest)
            return text.partition(b"\n")[2].decode() if text.startswith(b"#!/bin/sh") else None
        return None

    def outside(self, path: str) -> str | None:
        """The path on the node of what is mounted by a container there; None where nobody else is
        to see it."""
        mounted, rest = self.table.covering(posixpath.normpath(path))
        if not mounted.source or mounted.propagation != "shared":
            return None
        return posixpath.join(mounted.source, rest).rstrip("/")

    def find(self, path: str) -> tuple[Mounted, str]:
        """The mount that a path is in, and what it is in its place."""
        path = posixpath.normpath(path)
        mounted, rest = self.table.covering(path)
        if mounted.inner and (inner := _deepest(mounted, posixpath.join(mounted.source, rest))):
            deeper, rest = inner
            return attrs.evolve(deeper, readonly=mounted.recursive), rest
        if path in self._generated and mounted.at != path:
            return attrs.evolve(mounted, place=self._system), path
        return mounted, rest

    def _writable(self, path: str) -> tuple[Mounted, str]:
        mounted, rest = self.find(path)
        # Read-only is the mount alone, unless it is recursive (mount_setattr(2)).
        locked = mounted.readonly and (mounted.recursive or not mounted.place.beneath(rest))
        if locked or any(self._holds(each, path, mounted) for each in self._readonly):
            raise refusal(errno.EROFS, path)
        return mounted, rest

    def _holds(self, readonly: str, path: str, mounted: Mounted) -> bool:
        return (
            len(readonly) >= len(mounted.at)
            and below(posixpath.normpath(path), readonly) is not None
        )


def _deepest(mounted: Mounted, path: str) -> tuple[Mounted, str] | None:
    """What is mounted on the node below the source of a mount, and the rest of a path of the
    node."""
    inner = [each for each in mounted.inner if below(each.at, mounted.source)]
    fits = [(each, rest) for each in inner if (rest := each.within(path)) is not None]
    return max(fits, key=lambda each: len(each[0].at), default=None)
