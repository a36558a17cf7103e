"""What a user says of a CDI target: `--cdi-dir` and its like, the [cdi] table of a file."""

from __future__ import annotations

from typing import Literal

import msgspec


class CdiSettings(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Everything of a CDI target that its path does not tell.

    policy: strict is the specification's text, practice what the Go library does. dirs: the
    directories that a runtime under test reads, the later one winning. image: that of the
    containers made there, which has to be on the node. cgroup_parent: where its pods belong.
    """

    policy: Literal["strict", "practice"] = "strict"
    dirs: list[str] = []
    image: str = ""
    cgroup_parent: str = ""
