"""The options of csi-sanity, under the names its users have in their scripts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

# name below `csi.` -> (type, what --help says)
OPTIONS: dict[str, tuple[Any, str]] = {
    "controllerendpoint": (str, "Endpoint of the controller where it is not the node's."),
    "secrets": (str, "YAML file: one map of secrets for each kind of call."),
    "testvolumesize": (int, "Size in bytes of the volumes made.  [10 GiB]"),
    "testvolumeexpandsize": (int, "Size in bytes to expand to.  [volume size + 1 GiB]"),
    "testvolumeaccesstype": (click.Choice(["mount", "block"]), "Access type of the volumes made."),
    "testvolumeparameters": (str, "YAML file: parameters of CreateVolume."),
    "testvolumemutableparameters": (str, "YAML file: mutable parameters."),
    "testsnapshotparameters": (str, "YAML file: parameters of CreateSnapshot."),
    "testnodevolumeattachlimit": (bool, "Attach up to the limit that the node tells."),
    "testinvalidlistvolumesstartingtoken": (str, "A token ListVolumes has to refuse."),
    "mountdir": (str, "Parent directory of target paths, as the driver sees it."),
    "stagingdir": (str, "Parent directory of staging paths, as the driver sees it."),
    "createmountpathcmd": (str, "Program that makes a target's parent; prints the path to use."),
    "createstagingpathcmd": (str, "Program that makes a staging path; prints the path to use."),
    "createpathcmdtimeout": (str, "Limit of both, such as 10s.  [10s]"),
    "removemountpathcmd": (str, "Program that removes what createmountpathcmd made."),
    "removestagingpathcmd": (str, "Program that removes what createstagingpathcmd made."),
    "removepathcmdtimeout": (str, "Limit of both.  [10s]"),
    "checkpathcmd": (str, "Program that prints file, directory, not_found or other for a path."),
    "checkpathcmdtimeout": (str, "Limit of it.  [10s]"),
}


def csi_options(function: F) -> F:
    """Adds every `--csi.*` option; the value arrives as `csi_<name>`, None where not given."""
    for name, (kind, text) in reversed(OPTIONS.items()):
        flag = {"is_flag": True} if kind is bool else {"type": kind}
        function = click.option(f"--csi.{name}", f"csi_{name}", help=text, **flag)(function)
    return function
