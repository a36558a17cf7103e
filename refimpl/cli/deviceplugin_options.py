"""The options of `refimpl test deviceplugin`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

# option -> (type, metavar, what --help says)
OPTIONS: dict[str, tuple[Any, str | None, str]] = {
    "dp-resource": (str, "NAME", "Resource to judge.  [the first that the plugin registers]"),
    "dp-illusion": (
        click.Choice(["auto", "always", "never"]),
        None,
        "Show the plugin its folder at /var/lib/kubelet.  [auto: without {dir} in COMMAND]",
    ),
}


def deviceplugin_options(function: F) -> F:
    """Adds every option; the value arrives as `dp_<name>`, None where not given."""
    for name, (kind, metavar, text) in reversed(OPTIONS.items()):
        key = name.replace("-", "_")
        function = click.option(f"--{name}", key, type=kind, metavar=metavar, help=text)(function)
    return function
