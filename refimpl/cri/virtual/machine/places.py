"""Where the files of a mount are: in memory, or below a path of this machine.

Paths are relative, "" is the place itself. Each refusal is an OSError with the system's words.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from refimpl import files
from refimpl.cri.virtual.machine.kernel import mounts_below

__all__ = ["HostPath", "Memory", "Place", "refusal"]


def refusal(number: int, path: str) -> OSError:
    """With the words of that errno."""
    return OSError(number, os.strerror(number), path)


class Place(Protocol):
    """Files by their relative path."""

    def read(self, path: str) -> bytes:
        """The content of a file; raises OSError."""

    def write(self, path: str, data: bytes, *, append: bool = False) -> None:
        """All of a file, or at its end; it is made where it is not there. Raises OSError."""

    def remove(self, path: str) -> None:
        """Raises OSError."""

    def names(self, path: str) -> list[str] | None:
        """What is in a folder, in order; None for what is a file. Raises OSError."""

    def mkdir(self, path: str) -> None:
        """A folder, where its own is there; raises OSError."""

    def owner(self, path: str) -> tuple[int, int] | None:
        """User and group on the node; None for what belongs to root, whatever that is. Raises
        OSError."""

    def beneath(self, path: str) -> bool:
        """Whether something else is mounted there."""


class Memory:
    """files: content by path, None for one that was removed. loose: what is not known is there and
    empty, as a probe wants it."""

    def __init__(
        self, files: Mapping[str, bytes | None] | None = None, *, loose: bool = False
    ) -> None:
        self.files, self._loose = dict(files or {}), loose
        self._folders: set[str] = set()

    def read(self, path: str) -> bytes:
        """ENOENT, EISDIR."""
        content = self.files.get(path, b"" if self._loose else None)
        if content is None:
            folder = path in self._folders or self._inside(path)
            raise refusal(errno.EISDIR if folder else errno.ENOENT, path)
        return content

    def write(self, path: str, data: bytes, *, append: bool = False) -> None:
        """Its folder need not be there."""
        self.files[path] = (self.files.get(path) or b"") + data if append else data

    def remove(self, path: str) -> None:
        """ENOENT."""
        self.read(path)
        self.files[path] = None

    def names(self, path: str) -> list[str] | None:
        """Folders are those that were made, and where files are in."""
        inside = self._inside(path)
        if path and not inside and path not in self._folders:
            self.read(path)
            return None
        return inside

    def mkdir(self, path: str) -> None:
        """EEXIST for one that was made before."""
        if path in self._folders or self._inside(path) or self.files.get(path) is not None:
            raise refusal(errno.EEXIST, path)
        self._folders.add(path)

    def owner(self, path: str) -> None:
        """That is made for the container."""
        self.names(path)

    def beneath(self, path: str) -> bool:
        """Nothing is."""
        return False

    def _inside(self, path: str) -> list[str]:
        start = f"{path}/" if path else ""
        below = [
            each.removeprefix(start)
            for each, content in (*self.files.items(), *dict.fromkeys(self._folders, b"").items())
            if each.startswith(start) and content is not None
        ]
        return sorted({each.partition("/")[0] for each in below} - {""})


class HostPath:
    """Files of this machine at a path and below it, be it a folder or a file. What leads out of it
    is not there. apart: what is mounted below later on is not seen either."""

    def __init__(self, top: str, *, apart: bool = False) -> None:
        self._top = Path(top)
        self._before = mounts_below(top) if apart else None

    def read(self, path: str) -> bytes:
        """Also EISDIR, and what is no file."""
        return files.read(self._at(path))

    def write(self, path: str, data: bytes, *, append: bool = False) -> None:
        """As a process would that opened it."""
        how = os.O_APPEND if append else os.O_TRUNC
        flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        with open(os.open(self._at(path), flags | how, 0o644), "wb") as file:
            file.write(data)

    def remove(self, path: str) -> None:
        """A file only."""
        self._at(path).unlink()

    def names(self, path: str) -> list[str] | None:
        """In order."""
        at = self._at(path)
        if at.is_dir():
            hidden = str(at) in self._later()
            return [] if hidden else sorted(each.name for each in at.iterdir())
        at.stat()
        return None

    def mkdir(self, path: str) -> None:
        """As a process would."""
        self._at(path).mkdir(mode=0o755)

    def owner(self, path: str) -> tuple[int, int]:
        """As this machine has it."""
        status = self._at(path).stat()
        return status.st_uid, status.st_gid

    def beneath(self, path: str) -> bool:
        """By the table of this machine."""
        whole = self._at(path)
        return any(whole.is_relative_to(each) for each in mounts_below(str(self._top)))

    def _at(self, path: str) -> Path:
        whole = (self._top / path).resolve() if path else self._top
        if not whole.is_relative_to(self._top):
            raise refusal(errno.ENOENT, path)
        if path and any(whole.is_relative_to(each) for each in self._later() - {str(whole)}):
            raise refusal(errno.ENOENT, path)
        return whole

    def _later(self) -> frozenset[str]:
        """What has been mounted below since, where that is not to be seen."""
        if self._before is None:
            return frozenset()
        return mounts_below(str(self._top)) - self._before
