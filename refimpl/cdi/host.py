"""What the machine has where an edit points to a device node."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable

import attrs


@attrs.frozen
class HostNode:
    """A file of the host: `type` is b, c or p, "" for what is no device node; `mode` without the
    bits of the type.
    """

    type: str
    major: int = 0
    minor: int = 0
    mode: int = 0


Lookup = Callable[[str], HostNode]
"""The node at a path of the host, links not followed. Raises OSError where there is none."""


def host_node(path: str) -> HostNode:
    """Lookup on this machine."""
    status = os.lstat(path)
    kinds = {stat.S_IFBLK: "b", stat.S_IFCHR: "c", stat.S_IFIFO: "p"}
    return HostNode(
        kinds.get(stat.S_IFMT(status.st_mode), ""),
        os.major(status.st_rdev),
        os.minor(status.st_rdev),
        stat.S_IMODE(status.st_mode),
    )
