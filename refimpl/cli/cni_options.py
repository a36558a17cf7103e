"""The options of `refimpl test cni`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

# option -> (type, metavar, what --help says)
OPTIONS: dict[str, tuple[Any, str | None, str]] = {
    "config": (str, "FILE", "Network configuration that names the plugin.  [one of ours]"),
    "cni-path": (str, "DIRS", "Where delegates of a plugin, and plugins of dir: and file:, lie."),
    "cni-kind": (click.Choice(["interface", "chained", "ipam"]), None, "What the plugin does."),
    "cni-ifname": (str, "NAME", "Interface to ask for.  [eth0]"),
    "cni-args": (str, "K=V;...", "CNI_ARGS of every attachment."),
    "policy": (
        click.Choice(["strict", "practice", "report"]),
        None,
        "Where the specification and the field part: which counts; report only warns.  [strict]",
    ),
    "cni-conf-dir": (str, "DIR", "Where a runtime under test reads configurations."),
    "cni-bin-dir": (str, "DIR", "Where a runtime under test looks for plugins."),
    "cni-cache-dir": (str, "DIR", "Where a runtime under test keeps its results."),
}


def cni_options(function: F) -> F:
    """Adds every option; the value arrives as `cni_<name>`, None where not given."""
    for name, (kind, metavar, text) in reversed(OPTIONS.items()):
        key = f"cni_{name.removeprefix('cni-').replace('-', '_')}"
        function = click.option(f"--{name}", key, type=kind, metavar=metavar, help=text)(function)
    return function
