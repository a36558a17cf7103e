"""Devices of a container (CRI Device -> runtime-spec linux.devices and what its cgroup allows)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from refimpl.cdi.host import HostNode

__all__ = ["allowed", "devices"]

_NUMBERS = (
    *(("c", 1, 3), ("c", 1, 5), ("c", 1, 7), ("c", 1, 8), ("c", 1, 9)),  # null to urandom
    *(("c", 5, 0), ("c", 5, 1), ("c", 5, 2), ("c", 136, None)),  # terminals
)
"""What every container may open (runtime-spec, default devices); None: any number."""


def devices(nodes: Iterable[tuple[str, HostNode]]) -> list[dict[str, Any]]:
    """`linux.devices` of (path inside, node of the host)."""
    return [
        {
            "path": path,
            "type": node.type,
            "major": node.major,
            "minor": node.minor,
            "fileMode": node.mode,
            "uid": 0,
            "gid": 0,
        }
        for path, node in nodes
    ]


def allowed(nodes: Iterable[tuple[HostNode, str]], *, privileged: bool) -> list[Mapping[str, Any]]:
    """`linux.resources.devices` of (node, permissions): nothing but what is named; a privileged
    container may open all."""
    if privileged:
        return [{"allow": True, "access": "rwm"}]
    making = [{"allow": True, "type": kind, "access": "m"} for kind in ("c", "b")]
    common = [
        {"allow": True, "type": kind, "major": major, "access": "rwm"}
        | ({} if minor is None else {"minor": minor})
        for kind, major, minor in _NUMBERS
    ]
    own = [
        {
            "allow": True,
            "type": node.type,
            "major": node.major,
            "minor": node.minor,
            "access": permissions or "rwm",
        }
        for node, permissions in nodes
    ]
    return [{"allow": False, "access": "rwm"}, *making, *common, *own]
