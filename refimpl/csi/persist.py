"""What a driver remembers over a restart: one append-only file of JSON lines in a directory.

    ["volume", "ID", {...}]      a record came or changed
    ["volume", "ID", null]       it is gone

`StateLog.append` is the state's `OnChange`: a line is written before the call that made it is
answered, so a killed process loses nothing that it acknowledged. The file is rewritten without its
history at each start where there is room, and when history outgrows content. Only a last line
without its line feed may be missing at a start; any other that cannot be read ends it, and nothing
is touched.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from refimpl import files
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

__all__ = ["STORAGE", "StateError", "StateLog", "restore"]

_NAME = "state.jsonl"
_FORMAT = ["format", "refimpl-csi", 1]
STORAGE = "storage"
"""Where the content of volumes lies beside the log, which is there first."""

_SLACK = 20_000
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
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
        self._lines = 0
        self._directory = self._claimed(directory)
        try:
            self._compacted = self._begun()
        except BaseException:
            self.close()
            raise

    def records(self) -> Iterator[Record]:
        """What is remembered, in the order of its first appearance."""
        for line in _live(self._data() or b"", self.path).values():
            kind, _, raw = msgspec.json.decode(line, type=_Line)
            yield _KINDS[kind].decode(raw)

    def append(self, kind: ChangeKind, key: str, record: object | None) -> None:
        """OnChange: writes one change down. Raises Refused and leaves the file as it was, with
        RESOURCE_EXHAUSTED for a full disk."""
        line = self._encoder.encode((kind, key, record)) + b"\n"
        with self._lock:
            self._write(line)
            self._lines += 1
            if self._lines > 2 * self._compacted + _SLACK:
                self._compacted = self._shortened()

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
            descriptor = files.folder(directory, 0o700)
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

    def _begun(self) -> int:
        """Reads all of the file and opens it for what is to come; the number of live lines."""
        data = self._data()
        live = {} if data is None else _live(data, self.path)
        try:
            return self._rewritten(live)
        except OSError as error:
            if data is None or error.errno not in _FULL:
                raise StateError(f"cannot write {str(self.path)!r}: {error.strerror}") from error
        # On a full disk the file serves as it is, but for the line that was torn.
        self._file = files.opened_own(self.path, os.O_RDWR | os.O_APPEND)
        os.ftruncate(self._file, data.rindex(b"\n") + 1)
        self._lines = data.count(b"\n") - 1
        return len(live)

    def _shortened(self) -> int:
        try:
            return self._rewritten(_live(self._data() or b"", self.path))
        except (OSError, StateError):
            return self._lines  # the long file still serves

    def _write(self, line: bytes) -> None:
        try:
            files.write_whole(self._file, line, sync=self._sync)
        except OSError as error:
            raise refusal(error, "write down a change", str(self.path)) from error

    def _data(self) -> bytes | None:
        """What the file holds; None where there was never one, which the storage tells."""
        try:
            return files.read_own(self.path)
        except FileNotFoundError as error:
            if not self.path.with_name(STORAGE).exists():
                return None
            raise self._refused(error) from error
        except OSError as error:
            raise self._refused(error) from error

    def _refused(self, error: OSError) -> StateError:
        return StateError(
            f"{str(self.path)!r} cannot be read: {error.strerror}; nothing was touched: restore "
            "the file, or start with an empty state directory"
        )

    def _rewritten(self, live: _Live) -> int:
        """Puts a file of live lines in the place of the old one; returns their number. Raises
        OSError, and the old one stays."""
        with files.beside(self.path, 0o600) as (descriptor, fresh):
            lines = [msgspec.json.encode(_FORMAT), *live.values(), b""]
            files.write_whole(descriptor, b"\n".join(lines), sync=True)
            os.replace(fresh, self.path)
        for torn in self.path.parent.glob(f".{_NAME}.*"):  # of a process killed at this point
            torn.unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # the new name is there, if not yet on the disk
            os.fsync(self._directory)
        if self._file >= 0:
            os.close(self._file)
        self._file, self._lines = descriptor, len(live)
        return len(live)


def restore(tables: DriverTables, log: StateLog, storage: OpenStorage) -> None:
    """Fills the tables from the log and lets the storage take over what is still in use.

    What an earlier process left in storage without having written it down is taken away.
    """
    load(tables, log.records())
    storage.adopt(volume_paths(tables), owned_keys(tables))


def _live(data: bytes, path: Path) -> _Live:
    """The newest line of every object that still exists. Raises StateError for a line that is no
    record, whichever: half a memory is worse than none, as what has no owner is deleted."""
    first, *lines = files.whole_lines(data) or [b""]
    if first != msgspec.json.encode(_FORMAT):
        raise _unreadable(path, 1, f"it should be {msgspec.json.encode(_FORMAT).decode()}")
    live: _Live = {}
    for number, line in enumerate(lines, 2):
        kind, key, record = _decoded(line, path, number)
        if record is None:
            live.pop((kind, key), None)
        else:
            live[kind, key] = line
    return live


def _decoded(line: bytes, path: Path, number: int) -> tuple[str, str, Record | None]:
    try:
        kind, key, raw = msgspec.json.decode(line, type=_Line)
        if kind not in _KINDS:
            raise _unreadable(path, number, f"there is no kind {kind!r}")
        return kind, key, None if bytes(raw) == b"null" else _KINDS[kind].decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _unreadable(path, number, str(error)) from error


def _unreadable(path: Path, number: int, why: str) -> StateError:
    return StateError(
        f"line {number} of {str(path)!r} cannot be read ({why}); nothing was touched: restore the "
        "file, or start with an empty state directory"
    )
