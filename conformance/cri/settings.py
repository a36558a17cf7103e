"""What a user says of a container runtime: the `--cri-` options, the [cri] table of a file."""

from __future__ import annotations

import msgspec

__all__ = ["CriSettings"]


class CriSettings(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Everything of a runtime that cannot be asked over its socket.

    image: of the containers made; it has a shell with the common commands, and the node has it.
    cgroup_parent: of the sandboxes made. handler: a runtime handler to use beside the default one,
    the first that Status lists when empty. netns: path of the network namespace that the runtime is
    in, where it is not ours: on the loopback of that it finds the registry of the suite.
    """

    image: str = ""
    cgroup_parent: str = ""
    handler: str = ""
    netns: str = ""
