"""A target file: where a target is or how it is started, and what its interface wants to know."""

from __future__ import annotations

import tomllib
from collections.abc import Collection
from pathlib import Path
from typing import Any

import msgspec

from conformance.engine import fixtures
from conformance.engine.options import BadOption
from refimpl import files


class TargetFile(msgspec.Struct, forbid_unknown_fields=True):
    """endpoint: as TARGET on the command line. settings: the table named after the interface.
    interface: its name, for commands that are not told it; without it, that of the table."""

    interface: str = ""
    endpoint: str = ""
    command: list[str] = []
    revision: str = ""
    settings: dict[str, Any] = {}
    named: bool = False  # whether there is a file at all


def target_file(target: str, interface: str) -> TargetFile:
    """The file that TARGET names, `my.toml` or one of ours; an empty one for other targets.

    Raises BadOption for a file that cannot be used.
    """
    if not _is_file(target):
        return TargetFile()
    path = fixtures.locate(target, "targets")
    file = _read(path, interface)
    file.named = True
    if file.interface not in ("", interface):
        raise BadOption(f"{path}: a target of {file.interface}, not of {interface}")
    if file.endpoint and file.command:
        raise BadOption(f"{path}: endpoint and command exclude each other")
    if not (file.endpoint or file.command):
        raise BadOption(f"{target}: it names neither an endpoint nor a command")
    return file


def interface_named(target: str, interfaces: Collection[str]) -> str:
    """Which of the interfaces the file that TARGET names is about; empty where it does not say,
    or TARGET is no file. Raises BadOption for one that cannot be read."""
    if not _is_file(target):
        return ""
    table = _table(fixtures.locate(target, "targets"))
    tables = [name for name in interfaces if name in table]
    return str(table.get("interface", "")) or (tables[0] if len(tables) == 1 else "")


def _is_file(target: str) -> bool:
    ours = fixtures.folder() / "targets" / f"{target}.toml"
    return target.endswith(".toml") or ours.is_file()


def _read(path: Path, interface: str) -> TargetFile:
    table = _table(path)
    table["settings"] = table.pop(interface, {})
    try:
        return msgspec.convert(table, TargetFile)
    except msgspec.ValidationError as error:
        raise BadOption(f"{path}: {error}") from error


def _table(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(files.read(path).decode())
    except OSError as error:
        raise BadOption(f"{path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadOption(f"{path}: {error}") from error
