"""What a run has made and must remove, where no call tells it: files, folders, pods.

The record is that of the ledger of calls: on file before a thing is made, and gone with it.
"""

from __future__ import annotations

import contextlib
import glob
import secrets
import shutil
import tempfile
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

import attrs

from conformance.engine.ledgerfile import LedgerFile, records
from conformance.engine.verdict import Broken
from refimpl.wire.client import Unreachable
from refimpl.wire.status import Refused

__all__ = ["FILE", "FOLDER", "Leftovers", "NotRemoved", "Thing", "Things", "discard", "left"]

FILE, FOLDER = "file", "folder"


class NotRemoved(Exception):
    """A thing of a killed run stays for now; the text says why."""


@attrs.frozen
class Thing:
    """kind: what it is, in a word. name: its path, or what its owner knows it by."""

    number: int
    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


class Things:
    """What is not yet removed, in memory and in a file; from any thread.

    target: as the user named it, for whoever finds the file.
    """

    def __init__(self, path: Path | None = None, target: str = "") -> None:
        self._file, self._target = LedgerFile(path), target
        self._open: dict[tuple[str, str], int] = {}
        self._count = 0
        self._lock = threading.Lock()

    def making(self, kind: str, name: str | Path) -> None:
        """Puts a thing on record that is about to be made. Raises OSError."""
        key = (kind, str(name))
        with self._lock:
            if key not in self._open:
                self._open[key] = self._count
                if not self._count:
                    self._file.write({"target": self._target})
                self._file.write({"n": self._count, "kind": kind, "name": key[1]})
                self._count += 1

    def gone(self, kind: str, name: str | Path) -> None:
        """It is removed, or never came to be."""
        with self._lock:
            number = self._open.pop((kind, str(name)), None)
            if number is not None:
                self._file.write({"n": number, "gone": True})

    def folder(self, prefix: str) -> Path:
        """A new temporary folder for us alone. Raises OSError."""
        path = Path(tempfile.gettempdir(), f"{prefix}{secrets.token_hex(6)}")
        self.making(FOLDER, path)
        path.mkdir(mode=0o700)
        return path

    def discard(self, path: Path, kind: str = FILE) -> None:
        """Removes a file or folder where that can be done; otherwise it stays on record."""
        with contextlib.suppress(OSError):
            discard(str(path))
            self.gone(kind, path)

    def close(self) -> None:
        """Ends the record; its file goes when nothing is left."""
        self._file.close(empty=not self._open)


def left(path: Path) -> list[Thing]:
    """What the record of a killed run says is still there, newest first."""
    found: dict[int, Thing] = {}
    for record in records(path):
        if "kind" in record:
            found[record["n"]] = Thing(record["n"], record["kind"], record["name"])
        elif record.get("gone"):
            found.pop(record["n"], None)
    return sorted(found.values(), key=lambda thing: -thing.number)


def discard(name: str) -> bool:
    """Removes a file or folder, with what lies half written beside it; whether it was there.

    Raises OSError.
    """
    path = Path(name)
    there = path.exists() or path.is_symlink()
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
    for beside in path.parent.glob(f".{glob.escape(path.name)}.*"):
        beside.unlink(missing_ok=True)
    return there


class Leftovers:
    """Removes what killed runs left; see engine.sweep.

    undo: how a thing of a kind is removed, besides files and folders; whether it was still there.
    """

    def __init__(
        self,
        undo: Mapping[str, Callable[[str], bool]] | None = None,
        close: Callable[[], None] = lambda: None,
    ) -> None:
        self._undo = {FILE: discard, FOLDER: discard, **(undo or {})}
        self.close = close

    def left_by(self, path: Path) -> list[Thing]:
        """What a killed run left, in the order in which it is removed."""
        return left(path)

    def undo(self, made: Thing) -> tuple[str, bool]:
        """Removes a thing; what was done, and whether it is gone."""
        if made.kind not in self._undo:
            return f"{made} could not be removed: only a newer refimpl knows how", False
        try:
            there = self._undo[made.kind](made.name)
        except (Refused, Unreachable, OSError, Broken, NotRemoved) as error:
            return f"{made} could not be removed: {error}", False
        return f"{made} {'removed' if there else 'was gone already'}", True
