"""mount, umount and nsenter in a virtual container: by a table, and never on this machine."""

from __future__ import annotations

import errno
import posixpath
from collections.abc import Callable, Mapping, Sequence

import attrs

from refimpl.cri.virtual.machine.files import Files
from refimpl.cri.virtual.machine.node import Node
from refimpl.cri.virtual.machine.places import Memory, refusal
from refimpl.cri.virtual.machine.table import Mounted, drop

__all__ = ["mount", "nsenter", "umount"]


def mount(files: Files, words: Sequence[str]) -> None:
    """`mount -t tmpfs NAME PATH`, `mount --bind FROM PATH`, by a container; raises OSError."""
    if not files.privileged:
        raise refusal(errno.EPERM, words[-1] if words else "")
    path = posixpath.normpath(words[-1])
    if not files.exists(path):
        raise refusal(errno.ENOENT, path)
    if "--bind" in words[:1]:
        shown, root = files.find(posixpath.normpath(words[-2]))
        made = attrs.evolve(shown, at=path, root=root, source="", inner=(), propagation="private")
    else:
        made = Mounted(at=path, place=Memory(), kind="tmpfs")
    outside = files.outside(path)
    if outside is None:
        files.table.add(made)
    else:
        files.node.add(attrs.evolve(made, at=outside, propagation="shared"))
    files.generate({"/proc/self/mountinfo": files.table.mountinfo()})


def umount(files: Files, words: Sequence[str]) -> None:
    """`umount PATH`, by a container; raises OSError."""
    path = posixpath.normpath(words[-1])
    outside = files.outside(path)
    done = drop(files.table.mounts, path) if outside is None else files.node.umount(outside)
    if not (files.privileged and done):
        raise refusal(errno.EINVAL if files.privileged else errno.EPERM, path)
    files.generate({"/proc/self/mountinfo": files.table.mountinfo()})


def nsenter(files: Files, words: Sequence[str]) -> None:
    """`nsenter -t 1 -m -- COMMAND`, by a privileged container. On the node there is `mount --bind
    FROM PATH`, `mount --make-shared PATH`, `mount --make-private PATH`, `mount -t tmpfs NAME PATH`,
    `umount PATH` and `true`. Raises OSError."""
    if not files.privileged:
        raise refusal(errno.EPERM, "setns")
    words = [*words][[*words].index("--") + 1 :] if "--" in words else []
    how = " ".join(words[:2]) if words[:1] == ["mount"] else words[0] if words else ""
    command = _ON_NODE.get(how)
    if command is None or command(files.node, words) is False:
        raise refusal(errno.EINVAL, words[-1] if words else "")


_ON_NODE: Mapping[str, Callable[[Node, Sequence[str]], object]] = {
    "mount --bind": lambda node, words: node.bind(words[-2], words[-1]),
    "mount --make-private": lambda node, words: node.make(words[-1], "private"),
    "mount --make-shared": lambda node, words: node.make(words[-1], "shared"),
    "mount -t": lambda node, words: node.tmpfs(words[-1]),
    "true": lambda _node, _words: True,
    "umount": lambda node, words: node.umount(words[-1]),
}
