"""Who may change what the runtime runs as root."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from refimpl.cni.lint.finding import Hit, Severity
from refimpl.cni.lint.rule import Installed, about_folders, about_installed, about_networks
from refimpl.cni.lint.subject import Folder, Network, Source, all_sources

SOURCE = "practice: whoever writes here decides what runs as root"


@about_networks("CNI-CFG-038", SOURCE)
def open_files(network: Network) -> Iterator[Hit]:
    """Files and the network's own folder."""
    for source in all_sources(network):
        yield from _judge(source, source.status)
    if network.subdirectory is not None:
        folder = network.subdirectory
        yield from _judge(Source(folder.path), folder.status)


@about_folders("CNI-CFG-038", SOURCE)
def open_folder(folder: Folder) -> Iterator[Hit]:
    """The folder: whoever may write there adds a network that sorts first."""
    if not folder.alone:
        yield from _judge(Source(folder.path), folder.status)


@about_installed("CNI-CFG-038", SOURCE)
def open_plugins(installed: Installed) -> Iterator[Hit]:
    """The folders of plugins."""
    for path in installed.folders:
        yield from _judge(Source(path), _status(path))


def _judge(source: Source, status: os.stat_result | None) -> Iterator[Hit]:
    """World-writable, or owned by somebody who is neither root nor the one who asks."""
    if status is None:
        return
    if status.st_mode & stat.S_IWOTH:
        message = f"anybody may write to it (mode {stat.S_IMODE(status.st_mode):04o})"
        yield Hit((), message, "chmod o-w", Severity.WARNING, source)
    if status.st_uid not in (0, os.geteuid()):
        message = f"it belongs to user {status.st_uid}, not to root"
        yield Hit((), message, "chown root", Severity.WARNING, source)


def _status(path: Path) -> os.stat_result | None:
    try:
        return os.stat(path)
    except (OSError, ValueError):
        return None
