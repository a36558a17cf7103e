"""Device nodes of the host that cases make and change."""

from __future__ import annotations

import functools
import os
import stat
import tempfile
from pathlib import Path
from typing import Protocol

from refimpl.cdi.host import HostNode, host_node

_KINDS = {"c": stat.S_IFCHR, "b": stat.S_IFBLK, "p": stat.S_IFIFO}


class Nodes(Protocol):
    """Makes device nodes."""

    def why_not(self) -> str:
        """Why none can be made, "" where they can."""

    def make(self, path: Path, kind: str, major: int = 0, minor: int = 0) -> None:
        """A node of kind c, b or p at the path, in the place of what was there. Mode 0640."""


class RealNodes:
    """Made by the kernel, which takes root; a FIFO does not."""

    def why_not(self) -> str:
        """Why this process can make no node, "" where it can; tried once."""
        return _tried()

    def make(self, path: Path, kind: str, major: int = 0, minor: int = 0) -> None:
        """By mknod, in the place of what was there; mode 0640. Raises OSError."""
        path.unlink(missing_ok=True)
        os.mknod(path, _KINDS[kind] | 0o640, os.makedev(major, minor))
        path.chmod(0o640)


class FakeNodes:
    """Believed by our own implementation alone, through its `lookup`."""

    def __init__(self) -> None:
        self._made: dict[str, HostNode] = {}

    def why_not(self) -> str:
        """Empty: it takes nothing to believe in one."""
        return ""

    def make(self, path: Path, kind: str, major: int = 0, minor: int = 0) -> None:
        """Remembers it; nothing is there."""
        self._made[str(path)] = HostNode(kind, major, minor, 0o640)

    def lookup(self, path: str) -> HostNode:
        """The node at a path. Raises OSError."""
        return self._made.get(path) or host_node(path)


@functools.cache
def _tried() -> str:
    with tempfile.TemporaryDirectory(prefix="refimpl-") as folder:
        try:
            os.mknod(Path(folder, "null"), stat.S_IFCHR | 0o600, os.makedev(1, 3))
        except OSError as error:
            return f"device nodes cannot be made here: {error.strerror}"
    return ""
