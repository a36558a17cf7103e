"""Networks in a folder: which files count, in which order, and a network's own sub-directory."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import attrs

from refimpl import files
from refimpl.cni.config.model import ConfigError, NetworkList
from refimpl.cni.config.read import parse, parse_plugin

LISTS = (".conflist",)
SINGLES = (".conf", ".json")


def extension(name: str) -> str:
    """From the last dot on, as the loaders see it: of ".conf" that is all of it."""
    dot = name.rfind(".")
    return name[dot:] if dot >= 0 else ""


def configurations(folder: Path, extensions: Iterable[str]) -> list[Path]:
    """The files of the folder with one of the extensions, in the order of their names' bytes.

    No folder, no files; everything but a directory counts, hidden or not. Raises OSError.
    """
    wanted = tuple(extensions)
    try:
        with os.scandir(folder) as entries:
            names = [
                entry.name
                for entry in entries
                if extension(entry.name) in wanted and not entry.is_dir(follow_symlinks=False)
            ]
    except FileNotFoundError:
        return []
    return [folder / name for name in sorted(names, key=os.fsencode)]


def discover(folder: Path) -> list[Path]:
    """The configurations in the order in which a search by name reads them: lists first, then
    single plugins, each sorted by name. Raises OSError.
    """
    return configurations(folder, LISTS) + configurations(folder, SINGLES)


def subdirectory_files(source: Path, name: str) -> list[Path]:
    """The plugin documents of network `name`, which `source` describes (CNI 1.1-main)."""
    return configurations(source.parent / name, (".conf",))


def load(path: Path) -> NetworkList:
    """Reads a file and appends the plugins of the network's sub-directory, unless its
    loadOnlyInlinedPlugins is true. Raises ConfigError, also for a file that cannot be read.
    """
    network = attrs.evolve(parse(_read(path), name=str(path)), source=path)
    if network.single or network.load_only_inlined_plugins:
        return network
    try:
        files = subdirectory_files(path, network.name)
    except OSError as error:
        raise ConfigError(f"{path.parent / network.name}: {error.strerror}") from error
    more = tuple(parse_plugin(_read(file), name=str(file)) for file in files)
    if not network.plugins and not more:
        raise ConfigError(
            f'{path}:1:1: network "{network.name}" has no plugins; add "plugins" or put *.conf '
            f"files into {path.parent / network.name} (CNI-CFG-011)"
        )
    return attrs.evolve(network, plugins=network.plugins + more)


def _read(path: Path) -> bytes:
    try:
        return files.read(path)
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}; name a readable file") from error
