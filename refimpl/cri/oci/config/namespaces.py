"""Namespaces of sandboxes and containers (CRI NamespaceOption -> runtime-spec linux.namespaces)."""

from __future__ import annotations

from typing import Any

import attrs

from refimpl.cri.api import cri_pb2 as pb
from refimpl.cri.oci.config.mounts import mappings
from refimpl.wire.status import Code, Refused

__all__ = ["Shared", "check", "of_container", "of_sandbox", "user_mappings"]

_MODES = frozenset((pb.POD, pb.CONTAINER, pb.NODE, pb.TARGET))


@attrs.frozen
class Shared:
    """What a container finds of its pod. pid: of the process that holds the pod's namespaces.
    target: that of another container, 0 without one. netns: path, empty on the node's network."""

    pid: int
    netns: str = ""
    target: int = 0


def check(options: Any, *, userns: bool) -> None:
    """INVALID_ARGUMENT for namespaces that no pod can have. userns: whether the handler has user
    namespaces."""
    for name in ("network", "pid", "ipc"):
        if getattr(options, name) not in _MODES:
            raise _invalid(f"namespace mode {getattr(options, name)} of {name} is none")
    for name in ("network", "ipc"):
        if getattr(options, name) in (pb.CONTAINER, pb.TARGET):
            raise _invalid(f"{name} is of a pod or of the node: its mode is POD or NODE")
    if options.HasField("userns_options"):
        _check_users(options, userns=userns)


def _check_users(options: Any, *, userns: bool) -> None:
    wanted = options.userns_options
    if wanted.mode == pb.NODE:
        if wanted.uids or wanted.gids:
            raise _invalid("userns_options of mode NODE have mappings: the node's has none")
        return
    if wanted.mode != pb.POD:
        raise _invalid(f"userns_options have mode {wanted.mode}: it is POD or NODE")
    if not userns:
        raise _invalid("userns_options ask for a user namespace, which the handler has not")
    if options.network == pb.NODE:
        raise _invalid("a pod with a user namespace cannot be on the network of the node here")
    for name, ranges in (("uids", wanted.uids), ("gids", wanted.gids)):
        if len(ranges) != 1:
            raise _invalid(f"userns_options have {len(ranges)} mappings of {name}: it takes one")
        if ranges[0].container_id or not ranges[0].length:
            raise _invalid(f"the mapping of {name} has to begin at container_id 0, and be longer")
    if list(map(_range, wanted.uids)) != list(map(_range, wanted.gids)):
        raise _invalid("the mappings of uids and gids differ: they have to be the same")


def _range(mapping: pb.IDMapping) -> tuple[int, int, int]:
    return mapping.host_id, mapping.container_id, mapping.length


def of_sandbox(options: Any, netns: str, userns: str = "") -> list[dict[str, str]]:
    """Those of the process that holds a pod's namespaces. userns: path of the user namespace."""
    made = [{"type": "mount"}]
    if options.pid != pb.NODE:
        made.append({"type": "pid"})
    if options.ipc != pb.NODE:
        made.append({"type": "ipc"})
    if options.network != pb.NODE:
        made += [{"type": "uts"}, {"type": "network", "path": netns}]
    if userns:
        made.append({"type": "user", "path": userns})
    return made


def of_container(options: Any, shared: Shared, *, userns: bool) -> list[dict[str, str]]:
    """Its own ones, and the pod's it joins."""
    made = [{"type": "mount"}]
    if options.pid == pb.CONTAINER:
        made.append({"type": "pid"})
    elif options.pid == pb.POD:
        made.append(_joined("pid", shared.pid))
    elif options.pid == pb.TARGET:
        made.append(_joined("pid", shared.target))
    if options.ipc != pb.NODE:
        made.append(_joined("ipc", shared.pid))
    if shared.netns:
        made += [_joined("uts", shared.pid), {"type": "network", "path": shared.netns}]
    if userns:
        made.append(_joined("user", shared.pid))
    return made


def user_mappings(options: Any) -> dict[str, list[dict[str, int]]]:
    """`uidMappings` and `gidMappings`, empty without a user namespace."""
    wanted = options.userns_options
    if not options.HasField("userns_options") or wanted.mode != pb.POD:
        return {}
    return {"uidMappings": mappings(wanted.uids), "gidMappings": mappings(wanted.gids)}


def _joined(kind: str, pid: int) -> dict[str, str]:
    return {"type": kind, "path": f"/proc/{pid}/ns/{kind}"}


def _invalid(message: str) -> Refused:
    return Refused(Code.INVALID_ARGUMENT, message)
