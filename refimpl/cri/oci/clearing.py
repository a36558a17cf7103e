"""All that a runtime has made of this machine's kernel is taken back: when it ends, and by the next
one where it was killed. What there is stands in its `place`."""

from __future__ import annotations

import socket
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from refimpl.cni import config
from refimpl.cni.config import ConfigError
from refimpl.cni.contract import CniError
from refimpl.cni.host import changes, syscalls
from refimpl.cni.runtime import Runtime, Trouble
from refimpl.cri.oci.bundles import Bundle, mounts_below
from refimpl.cri.oci.cgroups import Cgroup
from refimpl.cri.oci.network import BRIDGE
from refimpl.cri.oci.pins import unpin
from refimpl.cri.oci.place import CGROUP, RUN, left, remove_folder

__all__ = ["clear", "clear_left"]

_TROUBLES = (CniError, Trouble, ConfigError, OSError, ValueError)


def clear_left(run: Path = RUN) -> None:
    """After runtimes that were killed."""
    for folder in left(run):
        clear(folder)


def clear(folder: Path) -> None:
    """No process, cgroup, mount, namespace and address is left of what is in a place; nor the
    place. May be repeated."""
    bundles = [Bundle(each) for each in _children(folder / "b")]
    own = CGROUP.format(folder.name)
    groups = [Cgroup(path) for path in (*(each.cgroup for each in bundles), own)]
    above = [Cgroup(path) for each in bundles for path in each.parents]
    for group in groups:
        group.end()
    _detach(folder)
    for each in _children(folder / "net"):
        unpin(each)
    for group in (*groups, *above):
        group.remove()
    for point in mounts_below(str(folder)):
        with suppress(OSError):
            syscalls.umount(point)
    _delete_bridge(BRIDGE.format(folder.name))
    with suppress(OSError):
        remove_folder(folder)


def _detach(folder: Path) -> None:
    """DEL of every attachment that is remembered (CNI 1.1, section 2)."""
    try:
        plugins = (folder / "plugins").read_text().splitlines()
    except OSError:
        return
    runtime = Runtime(plugins, folder / "cni", profile="strict")
    for kept in runtime.kept:
        with suppress(*_TROUBLES):
            runtime.delete(config.parse(kept.config), kept.attachment)


def _delete_bridge(name: str) -> None:
    with suppress(OSError):
        changes.delete_link(socket.if_nametoindex(name))


def _children(folder: Path) -> Iterable[Path]:
    with suppress(OSError):
        return [*folder.iterdir()]
    return ()
