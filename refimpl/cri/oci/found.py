"""What of the machine goes into a container: sources of its mounts, devices, and what the runtime
itself may do."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Iterator
from pathlib import Path

from refimpl.cdi.host import HostNode, host_node
from refimpl.cri.api import cri_pb2 as pb
from refimpl.cri.oci.config.capabilities import NAMES
from refimpl.wire.status import Code, Refused

__all__ = ["MACHINE", "available", "devices", "every_device", "host_path", "profile"]

MACHINE = platform.machine()
_OPTIONAL = ("shared:",)


def host_path(mount: pb.Mount) -> str:
    """Where a link in host_path leads to. NOT_FOUND where nothing is there, FAILED_PRECONDITION
    where what happens inside could not be seen outside (CRI Mount)."""
    path = os.path.realpath(mount.host_path)
    if not os.path.exists(path):
        raise Refused(
            Code.NOT_FOUND,
            f"mount at {mount.container_path!r}: there is no {mount.host_path!r} on the node",
        )
    if mount.propagation == pb.PROPAGATION_BIDIRECTIONAL and not _is_shared(path):
        raise Refused(
            Code.FAILED_PRECONDITION,
            f"mount at {mount.container_path!r}: {path!r} is on no shared mount of the node:"
            " mount --make-rshared it, or do not ask for PROPAGATION_BIDIRECTIONAL",
        )
    return path


def devices(wanted: Iterable[pb.Device]) -> Iterator[tuple[str, HostNode, str]]:
    """Path inside, node and permissions of each; of a folder all that are in it. NOT_FOUND for a
    device that is not there, INVALID_ARGUMENT for a path that is none."""
    for each in wanted:
        path = os.path.realpath(each.host_path)
        if os.path.isdir(path):
            for inner in sorted(Path(path).rglob("*")):
                node = _node(str(inner))
                if node is not None:
                    below = str(inner.relative_to(path))
                    yield os.path.join(each.container_path, below), node, each.permissions
            continue
        node = _node(path)
        if node is None:
            missing = not os.path.exists(path)
            raise Refused(
                Code.NOT_FOUND if missing else Code.INVALID_ARGUMENT,
                f"device {each.host_path!r}: {'nothing is there' if missing else 'it is none'}",
            )
        yield each.container_path, node, each.permissions


def every_device() -> Iterator[tuple[str, HostNode, str]]:
    """All of the machine, as a privileged container has them; terminals and memory are its own."""
    for folder, names, files in os.walk("/dev"):
        names[:] = [name for name in names if name not in ("pts", "shm", "fd", "mqueue")]
        for name in files:
            path = os.path.join(folder, name)
            node = None if os.path.islink(path) or path == "/dev/console" else _node(path)
            if node is not None:
                yield path, node, "rwm"


def _node(path: str) -> HostNode | None:
    try:
        node = host_node(path)
    except OSError:
        return None
    return node if node.type in ("b", "c") else None


def available() -> tuple[str, ...]:
    """The capabilities that this process can hand on."""
    lines = Path("/proc/self/status").read_text().splitlines()
    held = int(next(line.split()[1] for line in lines if line.startswith("CapPrm:")), 16)
    return tuple(name for number, name in enumerate(NAMES) if held >> number & 1)


def profile(path: str) -> str:
    """The text of a seccomp profile; empty for no path. NOT_FOUND."""
    if not path:
        return ""
    try:
        return Path(path).read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise Refused(
            Code.NOT_FOUND, f"the seccomp profile {path} cannot be read: {error}"
        ) from None


def _is_shared(path: str) -> bool:
    """Whether the mount that a path is on has peers (proc_pid_mountinfo(5))."""
    best, shared = "", False
    for line in Path("/proc/thread-self/mountinfo").read_text().splitlines():
        fields, _, _ = line.partition(" - ")
        _, _, _, _, point, _, *optional = fields.split(" ")
        point = point.encode().decode("unicode_escape")
        inside = path == point or path.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best):
            best, shared = point, any(each.startswith(_OPTIONAL) for each in optional)
    return shared
