"""Mounts of a container (CRI Mount -> runtime-spec mounts)."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from refimpl.cri.api import cri_pb2 as pb

__all__ = ["mappings", "mounts", "root_propagation"]

Entry = dict[str, Any]

_QUIET = ("nosuid", "noexec", "nodev")
_PROPAGATION = {
    pb.PROPAGATION_PRIVATE: "rprivate",
    pb.PROPAGATION_HOST_TO_CONTAINER: "rslave",
    pb.PROPAGATION_BIDIRECTIONAL: "rshared",
}


def mounts(
    config: Any, sources: Sequence[str], files: Mapping[str, str], *, host_ipc: bool
) -> list[Entry]:
    """All of them, parents before what is in them. sources: where each of the container's own
    comes from, in their order. files: what the sandbox has for all of its containers, by its
    path inside; the container's own ones win."""
    privileged = config.linux.security_context.privileged
    own = [*map(_bound, config.mounts, sources)]
    taken = {posixpath.normpath(each["destination"]) for each in own}
    entries = [*_system(privileged=privileged, host_ipc=host_ipc), *_shared(files)]
    kept = [each for each in entries if each["destination"] not in taken]
    return sorted([*kept, *own], key=_depth)


def root_propagation(config: Any) -> str:
    """`linux.rootfsPropagation`: as far as the most open of the mounts needs it."""
    wanted = {each.propagation for each in config.mounts}
    if pb.PROPAGATION_BIDIRECTIONAL in wanted:
        return "rshared"
    return "rslave" if pb.PROPAGATION_HOST_TO_CONTAINER in wanted else "rprivate"


def _system(*, privileged: bool, host_ipc: bool) -> list[Entry]:
    """What every container has (runtime-spec, default file systems)."""
    access = "rw" if privileged else "ro"
    made = [
        _entry("/proc", "proc", "proc", *_QUIET),
        _entry("/dev", "tmpfs", "tmpfs", "nosuid", "strictatime", "mode=755", "size=65536k"),
        _entry(
            *("/dev/pts", "devpts", "devpts", "nosuid", "noexec"),
            *("newinstance", "ptmxmode=0666", "mode=0620", "gid=5"),
        ),
        _entry("/sys", "sysfs", "sysfs", *_QUIET, access),
        _entry("/sys/fs/cgroup", "cgroup", "cgroup", *_QUIET, "relatime", access),
    ]
    if host_ipc:
        return [*made, _entry("/dev/mqueue", "bind", "/dev/mqueue", "rbind", *_QUIET)]
    return [*made, _entry("/dev/mqueue", "mqueue", "mqueue", *_QUIET)]


def _shared(files: Mapping[str, str]) -> list[Entry]:
    return [_entry(path, "bind", source, "rbind", "rprivate") for path, source in files.items()]


def _bound(mount: pb.Mount, source: str) -> Entry:
    options = ["rbind", _PROPAGATION[mount.propagation]]
    readonly = mount.readonly or mount.HasField("image")
    options.append("rro" if mount.recursive_read_only else "ro" if readonly else "rw")
    entry = _entry(mount.container_path, "bind", source, *options, *mount.mount_options)
    for name, mapped in (("uidMappings", mount.uidMappings), ("gidMappings", mount.gidMappings)):
        if mapped:
            entry[name] = mappings(mapped)
    if mount.uidMappings or mount.gidMappings:
        entry["options"].append("idmap")
    return entry


def mappings(ranges: Iterable[pb.IDMapping]) -> list[dict[str, int]]:
    """`uidMappings` or `gidMappings`."""
    return [
        {"containerID": each.container_id, "hostID": each.host_id, "size": each.length}
        for each in ranges
    ]


def _entry(destination: str, kind: str, source: str, *options: str) -> Entry:
    return {
        "destination": destination,
        "type": kind,
        "source": source,
        "options": list(options),
    }


def _depth(entry: Entry) -> int:
    return len([part for part in entry["destination"].split("/") if part])
