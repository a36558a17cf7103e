"""Finds the data that travels with the suite, in a checkout and in an installed wheel alike."""

from __future__ import annotations

import functools
import json
import tomllib
from pathlib import Path
from typing import Any

import conformance
from conformance.engine.case import interface_of

Row = dict[str, Any]


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


# Interfaces whose rows lie in several files.
_FILES = {"deviceplugin": ("deviceplugin", "registration", "podresources")}


@functools.cache
def catalogue(interface: str) -> dict[str, Row]:
    """The rows of an interface's contract by id; none where it has no contract."""
    paths = [folder() / "catalogue" / f"{name}.json" for name in _FILES.get(interface, [interface])]
    rows = (row for path in paths if path.is_file() for row in json.loads(path.read_text()))
    return {row["id"]: row for row in rows}


@functools.cache
def deferred() -> dict[str, str]:
    """Rows that have no case yet: id or id glob, and the reason."""
    text = (folder() / "catalogue" / "deferred.toml").read_text()
    return {row["id"]: row["reason"] for row in tomllib.loads(text)["deferred"]}


def section(id: str) -> str:
    """The section of the contract a case belongs to, empty for an unknown id."""
    title = str(catalogue(interface_of(id)).get(id, {}).get("section", ""))
    return title.partition(" ")[2] if title[:1] in "0123456789(" else title
