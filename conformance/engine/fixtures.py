"""Finds the data that travels with the suite, in a checkout and in an installed wheel alike."""

from __future__ import annotations

from pathlib import Path

import conformance


def folder() -> Path:
    """The folder of fixtures: `conformance/_fixtures` when installed, else the checkout's own."""
    package = Path(conformance.__file__).parent
    installed = package / "_fixtures"
    return installed if installed.is_dir() else package.parent / "fixtures"


def locate(name: str, kind: str) -> Path:
    """The file called `name`, or fixtures/<kind>/<name>.toml when there is no such file."""
    path = Path(name)
    ours = folder() / kind / f"{name}.toml"
    return ours if not path.exists() and ours.is_file() else path
