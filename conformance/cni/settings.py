"""What a user says of a CNI target: the `--config` family of options, the [cni] table of a file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from conformance.engine.options import BadOption

Kind = Literal["", "interface", "chained", "ipam"]


class CniSettings(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Everything of a CNI target that its path does not tell.

    config: the network configuration, a file or the name of one of ours (fixtures/networks).
    path: CNI_PATH, the plugin's own directory comes first. kind: what the plugin does, where its
    place in the configuration does not show it. ifname: the interface it makes, "" for the
    usual one. args: CNI_ARGS.
    policy: strict is the specification's text, practice what the reference library does, report
    tells where they part and fails nothing for it.
    conf_dir, bin_dir: where a runtime under test looks. capability_args: what a runtime would pass
    for the capabilities declared.
    hooks: commands that restart, kill or reboot a runtime under test. cgroup_parent: where it puts
    the pods of the suite, its default when empty.
    """

    config: str = ""
    path: str = ""
    kind: Kind = ""
    ifname: str = ""
    args: str = ""
    policy: Literal["strict", "practice", "report"] = "strict"
    conf_dir: str = ""
    bin_dir: str = ""
    cache_dir: str = ""
    capability_args: dict[str, Any] = {}
    cgroup_parent: str = ""
    hooks: dict[Literal["restart", "kill", "reboot"], list[str]] = {}
    data_dir: bool = True  # ipam.dataDir is set to a folder of the case's own


# The command line's name -> the field here.
_OPTIONS = {
    "cni_config": "config",
    "cni_path": "path",
    "cni_kind": "kind",
    "cni_ifname": "ifname",
    "cni_args": "args",
    "cni_policy": "policy",
    "cni_conf_dir": "conf_dir",
    "cni_bin_dir": "bin_dir",
    "cni_cache_dir": "cache_dir",
}


def settings(table: Mapping[str, Any], options: Mapping[str, Any]) -> CniSettings:
    """The settings of a target file's table, the command line's on top; raises BadOption."""
    given = {_OPTIONS[name]: value for name, value in options.items() if name in _OPTIONS}
    try:
        return msgspec.convert({**table, **given}, CniSettings)
    except msgspec.ValidationError as error:
        raise BadOption(f"cni settings: {error}") from error
