"""What a user says of a CNI target: the `--config` family of options, the [cni] table of a file."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

PluginKind = Literal["", "interface", "chained", "ipam"]


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
    kind: PluginKind = ""
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
