"""The devices of a machine, kept up to date: directories, a watch on them, and what they define."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Sequence

from refimpl.cdi.directories import DEFAULT, DirectoryScanner
from refimpl.cdi.host import Lookup, host_node
from refimpl.cdi.inject import CHOICES, Config, InjectionChoices, inject
from refimpl.cdi.registry import Registry
from refimpl.cdi.rules import Policy
from refimpl.cdi.watch import DirectoryWatch

__all__ = ["Cache"]


class Cache:
    """What the directories define, the later one winning. `registry` is always of now.

    `watched`: changes are noticed; without it every look reads all directories anew.
    For several threads; close it, or use it in a with block.
    """

    def __init__(
        self,
        directories: Sequence[str | os.PathLike[str]] = DEFAULT,
        *,
        policy: Policy = "practice",
        watched: bool = True,
    ) -> None:
        self.directories = tuple(os.fspath(path) for path in directories)
        self._scanner = DirectoryScanner(policy)
        self._watch = DirectoryWatch(self.directories) if watched else None
        self._lock = threading.Lock()
        self._registry = Registry()

    @property
    def registry(self) -> Registry:
        """What can be requested now; the files are read again only if something changed."""
        with self._lock:
            if self._watch is None or self._watch.changed():
                self._scan()
            return self._registry

    def refresh(self) -> Registry:
        """Looks at every file, whatever the watch says."""
        with self._lock:
            if self._watch is not None:
                self._watch.changed()
            self._scan()
            return self._registry

    def inject(
        self,
        config: Config,
        names: Iterable[str],
        *,
        choices: InjectionChoices = CHOICES["strict"],
        lookup: Lookup = host_node,
    ) -> Config:
        """As `refimpl.cdi.inject.inject`, with what can be requested now."""
        return inject(self.registry, config, names, choices=choices, lookup=lookup)

    def close(self) -> None:
        """Ends watching; from then on the last state stays."""
        if self._watch is not None:
            self._watch.close()

    def __enter__(self) -> Cache:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _scan(self) -> None:
        listing = self._scanner.scan(self.directories)
        self._registry = Registry(listing.files, listing.errors)
