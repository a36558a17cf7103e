"""A target file: where a target is or how it is started, and what its interface wants to know."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import msgspec

from conformance.engine import fixtures
from conformance.engine.options import BadOption
from refimpl import files


class TargetFile(msgspec.Struct, forbid_unknown_fields=True):
    """endpoint: as TARGET on the command line. settings: the table named after the interface."""

    endpoint: str = ""
    command: list[str] = []
    revision: str = ""
    settings: dict[str, Any] = {}
    named: bool = False  # whether there is a file at all


def target_file(target: str, interface: str) -> TargetFile:
    """The file that TARGET names, `my.toml` or one of ours; an empty one for other targets.

    Raises BadOption for a file that cannot be used.
    """
    ours = fixtures.folder() / "targets" / f"{target}.toml"
    if not (target.endswith(".toml") or ours.is_file()):
        return TargetFile()
    path = fixtures.locate(target, "targets")
    file = _read(path, interface)
    file.named = True
    if file.endpoint and file.command:
        raise BadOption(f"{path}: endpoint and command exclude each other")
    if not (file.endpoint or file.command):
        raise BadOption(f"{target}: it names neither an endpoint nor a command")
    return file


def _read(path: Path, interface: str) -> TargetFile:
    try:
        table = tomllib.loads(files.read(path).decode())
        table["settings"] = table.pop(interface, {})
        return msgspec.convert(table, TargetFile)
    except OSError as error:
        raise BadOption(f"{path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.ValidationError) as error:
        raise BadOption(f"{path}: {error}") from error
