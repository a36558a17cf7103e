"""The file of a ledger: JSON lines, locked as long as its run lives, gone when nothing is left.

It is written before a thing is made, so a torn last line is of one that never was.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Iterator
from io import FileIO
from pathlib import Path
from typing import Any

import msgspec

__all__ = ["LedgerFile", "held", "in_use", "records"]


class LedgerFile:
    """Made with its first line: a run that makes nothing has none. path None: nothing is kept."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._file: FileIO | None = None

    def write(self, record: dict[str, Any]) -> None:
        """Adds a line; it is with the kernel when this returns. Raises OSError."""
        if self._path and not self._file:
            self._file = _locked(self._path)
        if self._file:
            self._file.write(msgspec.json.encode(record) + b"\n")

    def close(self, *, empty: bool) -> None:
        """Ends the record; its file goes when nothing is left to undo."""
        if self._file and self._path:
            if empty:
                self._path.unlink(missing_ok=True)
            self._file.close()


def _locked(path: Path) -> FileIO:
    """The file at the path with its lock; a sweep may have taken an empty one away before that."""
    while True:
        file = path.open("ab", buffering=0)
        fcntl.flock(file, fcntl.LOCK_EX)
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(file.fileno()), path.stat()):
                return file
        file.close()


@contextlib.contextmanager
def held(path: Path) -> Iterator[bool]:
    """Holds the ledger of a run that has ended; False where the run is still going."""
    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True


def in_use(path: Path) -> bool:
    """Whether the run that keeps this ledger is still going."""
    with held(path) as ended:
        return not ended


def records(path: Path) -> Iterator[dict[str, Any]]:
    """The lines of a ledger, oldest first, up to one that is torn."""
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            record = json.loads(line)
        except json.JSONDecodeError:
            return
        yield record
