"""Finding the program of a plugin (CNI 1.1 section 2, CNI_PATH)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from refimpl.cni.runtime.trouble import PluginMissing

__all__ = ["find", "joined", "split"]


def split(text: str) -> tuple[str, ...]:
    """The directories of a CNI_PATH, in order."""
    return tuple(part for part in text.split(os.pathsep) if part)


def joined(folders: Sequence[str | Path]) -> str:
    """The CNI_PATH that names the directories."""
    return os.pathsep.join(os.fspath(folder) for folder in folders)


def find(plugin: str, folders: Sequence[str | Path], verb: str = "") -> Path:
    """The first regular file of that name, through symlinks; whether it can be executed shows
    when it is. Raises PluginMissing, also for a name with a separator (CNI 1.1 section 1, type).
    """
    if not plugin or os.sep in plugin or plugin in (".", ".."):
        raise PluginMissing(plugin, verb, "a plugin's type is a plain file name without '/'")
    for folder in folders:
        # Joined as the reference library does: "//a//" and "a/." name the same file.
        place = Path(os.path.normpath(os.path.join(folder, plugin)))
        if place.is_file():
            return place
    where = ", ".join(map(str, folders)) or "no directory at all"
    raise PluginMissing(plugin, verb, f"no regular file of that name in {where}; install it there")
