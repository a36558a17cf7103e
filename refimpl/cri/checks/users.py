"""What a user namespace may be (CRI v1 UserNamespace)."""

from __future__ import annotations

from refimpl.cri.api import cri_pb2 as pb
from refimpl.wire.status import Code, Refused

__all__ = ["check"]


def check(options: pb.NamespaceOption) -> None:
    """INVALID_ARGUMENT for what no user namespace can be."""
    if not options.HasField("userns_options"):
        return
    users = options.userns_options
    sides = {"uids": users.uids, "gids": users.gids}
    if users.mode == pb.NODE:
        if users.uids or users.gids:
            raise _invalid("mode is NODE and there are mappings: none are in effect there")
    elif users.mode != pb.POD:
        raise _invalid(f"mode is {users.mode}: it is POD or NODE")
    else:
        for name, mappings in sides.items():
            if len(mappings) != 1:
                raise _invalid(f"{name} has {len(mappings)} mappings: there has to be one")
            if mappings[0].container_id or not mappings[0].length:
                raise _invalid(f"{name} has to map the ids from 0 on, of which there are some")


def _invalid(message: str) -> Refused:
    return Refused(Code.INVALID_ARGUMENT, f"userns_options: {message}")
