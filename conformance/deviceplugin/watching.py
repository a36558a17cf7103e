"""What a plugin that waits for kubelet sees of a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Self

from inotify_simple import INotify, flags

__all__ = ["Watching"]

_NAMES = {flags.CREATE: "created", flags.MOVED_TO: "moved in", flags.DELETE: "deleted"}


class Watching:
    """Inotify on one folder, while in a `with` block; `seen` has (what, name) in their order."""

    def __init__(self, folder: Path) -> None:
        self._inotify = INotify()
        self._inotify.add_watch(str(folder), flags.CREATE | flags.MOVED_TO | flags.DELETE)
        self._seen: list[tuple[str, str]] = []

    @property
    def seen(self) -> list[tuple[str, str]]:
        """All events up to now."""
        for event in self._inotify.read(timeout=0):
            kind = next((name for flag, name in _NAMES.items() if event.mask & flag), "")
            if kind:
                self._seen.append((kind, event.name))
        return list(self._seen)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._inotify.close()
