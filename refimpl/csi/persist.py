"""What a driver remembers over a restart: one append-only file of JSON lines in a directory.

    ["volume", "ID", {...}]      a record came or changed
    ["volume", "ID", null]       it is gone

`StateLog.append` is the state's `OnChange`: a line is written before the call that made it is
answered, so a killed process loses nothing that it acknowledged. The file is rewritten without its
history at each start, and when history outgrows content.
"""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import msgspec

from refimpl.csi.state.models import (
    GroupSnapshot,
    Publication,
    Snapshot,
    Staging,
    Volume,
    VolumeAttachment,
    VolumeHealth,
)
from refimpl.csi.state.node import owned_keys, volume_paths
from refimpl.csi.state.ports import ChangeKind
from refimpl.csi.state.tables import DriverTables, Record, StorageFaults, load
from refimpl.csi.storage import OpenStorage
from refimpl.csi.storage.machine import refusal

__all__ = ["StateError", "StateLog", "restore"]

_NAME = "state.jsonl"
_FORMAT = ["format", "refimpl-csi", 1]
_SLACK = 20_000
_KINDS: Mapping[str, msgspec.json.Decoder[Record]] = {
    kind: msgspec.json.Decoder(record)
    for kind, record in {
        "volume": Volume,
        "attachment": VolumeAttachment,
        "snapshot": Snapshot,
        "group": GroupSnapshot,
        "staging": Staging,
        "publication": Publication,
        "health": VolumeHealth,
        "storage_fault": StorageFaults,
    }.items()
}
_Line = tuple[str, str, msgspec.Raw]
_Live = dict[tuple[str, str], bytes]


class StateError(Exception):
    """A state directory that cannot be used; the text says which, why, and what to do."""


class StateLog:
    """The log of one state directory, for one process at a time.

    `sync`: every line reaches the disk before the call is answered, so that a power failure loses
    nothing either, at the price of a disk write a call. Raises StateError on opening.
    """

    def __init__(self, directory: str | os.PathLike[str], *, sync: bool = False) -> None:
        self.path = Path(directory) / _NAME
        self._sync = sync
        self._lock = threading.Lock()
        self._encoder = msgspec.json.Encoder()
        self._file = -1
        self._size = self._lines = 0
        self._directory = self._claimed(directory)
        try:
            self._compacted = self._rewritten()
        except BaseException:
            self.close()
            raise

    def records(self) -> Iterator[Record]:
        """What is remembered, in the order of its first appearance."""
        for number, line in enumerate(self._read().values(), 2):
            kind, _, raw = _decoded(line, self.path, number)
            try:
                yield _KINDS[kind].decode(raw)
            except (KeyError, msgspec.ValidationError) as error:
                raise self._unreadable(number, str(error)) from error

    def append(self, kind: ChangeKind, key: str, record: object | None) -> None:
        """OnChange: writes one change down. Raises Refused and leaves the file as it was, with
        RESOURCE_EXHAUSTED for a full disk."""
        line = self._encoder.encode((kind, key, record)) + b"\n"
        with self._lock:
            self._write(line)
            self._lines += 1
            if self._lines > 2 * self._compacted + _SLACK:
                self._compacted = self._rewritten()

    def close(self) -> None:
        """Gives the directory free for another process."""
        with self._lock:
            for descriptor in (self._file, self._directory):
                if descriptor >= 0:
                    os.close(descriptor)
            self._file = self._directory = -1

    # inner -----------------------------------------------------------------------------------

    def _claimed(self, directory: str | os.PathLike[str]) -> int:
        # The lock lies on the directory: the file changes its identity with every rewrite.
        try:
            os.makedirs(directory, mode=0o700, exist_ok=True)
            descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
        except OSError as error:
            raise StateError(
                f"state directory {os.fspath(directory)!r} cannot be used: {error.strerror}"
            ) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(descriptor)
            raise StateError(
                f"state directory {os.fspath(directory)!r} is in use by another driver; stop it, "
                "or give this one a directory of its own"
            ) from error
        return descriptor

    def _write(self, line: bytes) -> None:
        written = 0
        try:
            while written < len(line):
                written += os.write(self._file, line[written:])
            if self._sync:
                os.fdatasync(self._file)
        except OSError as error:
            # Half a line in the middle would make the file unreadable after the next success.
            os.ftruncate(self._file, self._size)
            raise refusal(error, "write down a change", str(self.path)) from error
        self._size += len(line)

    def _read(self) -> _Live:
        """The newest line of every object that still exists; a line torn by a crash is left out."""
        try:
            lines = self.path.read_bytes().split(b"\n")
        except FileNotFoundError:
            return {}
        lines.pop()  # what has no line feed was never acknowledged
        if lines and not _whole(lines[-1]):
            lines.pop()
        if lines and msgspec.json.decode(lines[0]) != _FORMAT:
            raise self._unreadable(1, f"it should be {msgspec.json.encode(_FORMAT).decode()}")
        live: _Live = {}
        for number, line in enumerate(lines[1:], 2):
            kind, key, raw = _decoded(line, self.path, number)
            if bytes(raw) == b"null":
                live.pop((kind, key), None)
            else:
                live[kind, key] = line
        return live

    def _rewritten(self) -> int:
        """Puts a file of live lines in the place of the old one; returns their number."""
        live = self._read()
        fresh = self.path.with_suffix(".new")
        try:
            descriptor = _written(fresh, live.values())
            os.rename(fresh, self.path)
            os.fsync(self._directory)
        except OSError as error:
            fresh.unlink(missing_ok=True)
            if self._file >= 0:
                return self._lines  # the long file still serves
            raise StateError(f"cannot write {str(self.path)!r}: {error.strerror}") from error
        if self._file >= 0:
            os.close(self._file)
        self._file, self._size, self._lines = descriptor, os.fstat(descriptor).st_size, len(live)
        return len(live)

    def _unreadable(self, number: int, why: str) -> StateError:
        return _unreadable(self.path, number, why)


def restore(tables: DriverTables, log: StateLog, storage: OpenStorage) -> None:
    """Fills the tables from the log and lets the storage take over what is still in use.

    What an earlier process left in storage without having written it down is taken away.
    """
    load(tables, log.records())
    storage.adopt(volume_paths(tables), owned_keys(tables))


def _written(path: Path, lines: Iterable[bytes]) -> int:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)
    try:
        with open(descriptor, "wb", closefd=False) as file:
            file.write(msgspec.json.encode(_FORMAT) + b"\n")
            file.writelines(line + b"\n" for line in lines)
        os.fsync(descriptor)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _whole(line: bytes) -> bool:
    try:
        msgspec.json.decode(line)
    except msgspec.DecodeError:
        return False
    return True


def _decoded(line: bytes, path: Path, number: int) -> _Line:
    try:
        return msgspec.json.decode(line, type=_Line)
    except msgspec.DecodeError as error:
        raise _unreadable(path, number, str(error)) from error


def _unreadable(path: Path, number: int, why: str) -> StateError:
    return StateError(
        f"line {number} of {str(path)!r} cannot be read ({why}); restore the file, or start with "
        "an empty state directory"
    )
