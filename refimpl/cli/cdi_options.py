"""The options of `refimpl test cdi`; it shares --policy with cni."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


def cdi_options(function: F) -> F:
    """Adds every option; the value arrives as `cdi_<name>`, empty where not given."""
    image = click.option(
        "--cdi-image", metavar="NAME", help="Image of the containers made, which the node has."
    )
    directories = click.option(
        "--cdi-dir",
        "cdi_dirs",
        multiple=True,
        metavar="DIR",
        help="Directory that a runtime under test reads; a later one wins (repeatable).",
    )
    return directories(image(function))
