"""The file of a ledger: JSON lines, locked as long as its run lives, gone when nothing is left.

It is written before a thing is made, so a torn last line is of one that never was.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from refimpl import files

__all__ = ["LedgerFile", "UnreadableLedger", "held", "in_use", "records"]


class UnreadableLedger(ValueError):
    """A ledger with a line that is no record; the text says which, and what to do."""


class LedgerFile:
    """Made with its first line: a run that makes nothing has none. path None: nothing is kept."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._file = -1

    def write(self, record: dict[str, Any]) -> None:
        """Adds a line; it is with the kernel when this returns. Raises OSError."""
        if self._path and self._file < 0:
            self._file = _locked(self._path)
        if self._file >= 0:
            files.write_whole(self._file, msgspec.json.encode(record) + b"\n")

    def close(self, *, empty: bool) -> None:
        """Ends the record; its file goes when nothing is left to undo."""
        if self._file >= 0 and self._path:
            if empty:
                self._path.unlink(missing_ok=True)
            os.close(self._file)
            self._file = -1


def _locked(path: Path) -> int:
    """The file at the path with its lock; a sweep may have taken an empty one away before that."""
    while True:
        file = files.append(path)
        fcntl.flock(file, fcntl.LOCK_EX)
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(file), path.stat()):
                return file
        os.close(file)


@contextlib.contextmanager
def held(path: Path) -> Iterator[bool]:
    """Holds the ledger of a run that has ended; False where the run is still going. Raises OSError,
    also for one that another user wrote."""
    file = files.opened_own(path)
    try:
        yield _taken(file)
    finally:
        os.close(file)


def _taken(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def in_use(path: Path) -> bool:
    """Whether the run that keeps this ledger is still going."""
    with held(path) as ended:
        return not ended


def records(path: Path) -> Iterator[dict[str, Any]]:
    """The lines of a ledger, oldest first, without one that is torn at its end.

    Raises OSError, and UnreadableLedger for any other line that is no record: nothing must be taken
    for undone because of it.
    """
    for number, line in enumerate(files.whole_lines(files.read_own(path)), 1):
        try:
            yield msgspec.json.decode(line, type=dict[str, Any])
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise UnreadableLedger(
                f"line {number} of {path} cannot be read ({error}); remove that line, then sweep"
            ) from error
