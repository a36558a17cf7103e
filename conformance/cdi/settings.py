"""What a user says of a CDI target: `--cdi-dir` and its like, the [cdi] table of a file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from conformance.engine.options import BadOption


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


# The command line's name -> the field here; --policy is shared with CNI.
_OPTIONS = {"cni_policy": "policy", "cdi_dirs": "dirs", "cdi_image": "image"}


def settings(table: Mapping[str, Any], options: Mapping[str, Any]) -> CdiSettings:
    """The settings of a target file's table, the command line's on top; raises BadOption."""
    given = {_OPTIONS[name]: value for name, value in options.items() if name in _OPTIONS}
    try:
        return msgspec.convert({**table, **given}, CdiSettings)
    except msgspec.ValidationError as error:
        raise BadOption(f"cdi settings: {error}") from error
