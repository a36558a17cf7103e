"""The ledger of a run: what it has made and not yet undone, in memory and in a file.

Files, folders, pods, processes and calls are all entries; a kind says how one is undone.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import tempfile
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

import attrs

from conformance.engine.ledger.file import LedgerFile, records

__all__ = ["CALL", "FILE", "FOLDER", "Ledger", "LedgerEntry", "discard", "left"]

CALL, FILE, FOLDER = "call", "file", "folder"


@attrs.define
class LedgerEntry:
    """One thing that was made. kind: what it is, in a word. name: its path, or what its owner knows
    it by. facts: what else it takes to undo it."""

    number: int
    kind: str
    name: str
    facts: dict[str, str] = attrs.field(factory=dict)

    def __str__(self) -> str:
        return self.name.rpartition("/")[2] if self.kind == CALL else f"{self.kind} {self.name}"


class Ledger:
    """From any thread. path None: nothing is kept on file. target: as the user named it, for
    whoever finds the file."""

    def __init__(self, path: Path | None = None, target: str = "") -> None:
        self._file, self._target = LedgerFile(path), target
        self._open: dict[int, LedgerEntry] = {}
        self._count = 0
        self._lock = threading.Lock()

    def add(self, kind: str, name: str, facts: Mapping[str, str] | None = None) -> LedgerEntry:
        """Puts on record what is about to be made. Raises OSError."""
        with self._lock:
            return self._add(kind, name, dict(facts or {}))

    def _add(self, kind: str, name: str, facts: dict[str, str]) -> LedgerEntry:
        entry = LedgerEntry(self._count, kind, name, facts)
        if not self._count:
            self._file.write({"target": self._target})
        self._count += 1
        self._open[entry.number] = entry
        self._file.write(_line(entry))
        return entry

    def learn(self, entry: LedgerEntry, facts: Mapping[str, str]) -> None:
        """Adds what came out when it was made."""
        with self._lock:
            entry.facts.update(facts)
            self._file.write({"n": entry.number, "facts": dict(facts)})

    def remove(self, entry: LedgerEntry) -> None:
        """It is undone, or never came to be."""
        with self._lock:
            self._remove(entry.number)

    def _remove(self, number: int | None) -> None:
        if number is not None and number in self._open:
            del self._open[number]
            self._file.write({"n": number, "gone": True})

    def making(self, kind: str, name: str | Path) -> None:
        """As `add`, for what its name alone says; it is on record once."""
        with self._lock:
            if self._number(kind, str(name)) is None:
                self._add(kind, str(name), {})

    def gone(self, kind: str, name: str | Path) -> None:
        """As `remove`, by kind and name."""
        with self._lock:
            self._remove(self._number(kind, str(name)))

    @contextlib.contextmanager
    def during(self, kind: str, name: str) -> Iterator[None]:
        """What is there only while this lasts."""
        self.making(kind, name)
        try:
            yield
        finally:
            self.gone(kind, name)

    def _number(self, kind: str, name: str) -> int | None:
        wanted = (kind, name)
        same = (each.number for each in self._open.values() if (each.kind, each.name) == wanted)
        return next(same, None)

    def folder(self, prefix: str, length: int = 12) -> Path:
        """A new temporary folder for us alone; length: of the random part of its name. Raises
        OSError."""
        path = Path(tempfile.gettempdir(), f"{prefix}{secrets.token_hex(length // 2)}")
        self.making(FOLDER, path)
        path.mkdir(mode=0o700)
        return path

    def discard(self, path: Path, kind: str = FILE) -> None:
        """Removes a file or folder where that can be done; otherwise it stays on record."""
        with contextlib.suppress(OSError):
            discard(str(path))
            self.gone(kind, path)

    def entries(self) -> list[LedgerEntry]:
        """What is not yet undone, newest first."""
        with self._lock:
            return sorted(self._open.values(), key=lambda entry: -entry.number)

    def close(self) -> None:
        """Ends the record; its file goes when nothing is left."""
        self._file.close(empty=not self._open)


def left(path: Path) -> list[LedgerEntry]:
    """What the ledger of a killed run says is still there, newest first."""
    entries: dict[int, LedgerEntry] = {}
    for record in records(path):
        if "kind" in record:
            facts = dict(record.get("facts", {}))
            entries[record["n"]] = LedgerEntry(record["n"], record["kind"], record["name"], facts)
        elif record.get("gone"):
            entries.pop(record["n"], None)
        elif record.get("n") in entries:
            entries[record["n"]].facts.update(record.get("facts", {}))
    return sorted(entries.values(), key=lambda entry: -entry.number)


def _line(entry: LedgerEntry) -> dict[str, object]:
    line: dict[str, object] = {"n": entry.number, "kind": entry.kind, "name": entry.name}
    return {**line, "facts": entry.facts} if entry.facts else line


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
    for beside in _half_written(path):
        beside.unlink(missing_ok=True)
    return there


def _half_written(path: Path) -> list[Path]:
    """Not by a glob, which compiles an expression for each name, and names are many."""
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        names = os.listdir(path.parent)
        return [path.parent / name for name in names if name.startswith(f".{path.name}.")]
    return []
