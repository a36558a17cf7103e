"""What a sweep does about each entry of the ledger of a killed run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from conformance.engine.ledger import mounts, processes
from conformance.engine.ledger.entries import CALL, FILE, FOLDER, LedgerEntry, discard, left
from conformance.engine.ledger.processes import PROCESS, PROCESSES
from conformance.engine.verdict import Broken
from refimpl.wire.client import Unreachable
from refimpl.wire.status import Refused

__all__ = ["MOUNT", "Leftovers", "NotRemoved"]

MOUNT = "mount"
"""The kind of what a case has mounted; the name is the path at which."""


class NotRemoved(Exception):
    """A thing of a killed run stays for now; the text says why."""


def _discard(entry: LedgerEntry) -> bool:
    return discard(entry.name)


def _unmount(entry: LedgerEntry) -> bool:
    there = bool(mounts.below(entry.name))
    mounts.release(entry.name)
    return there


def _empty(entry: LedgerEntry) -> bool:
    """Removes a folder, after what is mounted below it: that is not ours to delete."""
    mounts.release(entry.name)
    return discard(entry.name)


_LOCAL: Mapping[str, Callable[[LedgerEntry], bool]] = {
    PROCESSES: lambda entry: processes.end(entry.name),
    PROCESS: lambda entry: processes.end_one(entry.name),
    MOUNT: _unmount,
    FILE: _discard,
    FOLDER: _empty,
}
"""What is undone on this machine, whatever the target."""


class Leftovers:
    """Undoes what killed runs left.

    undo: how an entry of a kind is undone, besides those of this machine; whether it was still
    there. first: kinds that go before all others. begin: told of the entries of a ledger before the
    first is undone. close: ends connections.
    """

    def __init__(
        self,
        undo: Mapping[str, Callable[[LedgerEntry], bool]] | None = None,
        close: Callable[[], None] = lambda: None,
        first: tuple[str, ...] = (),
        begin: Callable[[list[LedgerEntry]], object] = list,
    ) -> None:
        self._undo = {**_LOCAL, **(undo or {})}
        self._rank = {kind: number for number, kind in enumerate(first)}
        self.close, self._begin = close, begin

    def undoes(self, entry: LedgerEntry) -> bool:
        """Whether it is of a kind that is known here."""
        return entry.kind in self._undo

    def left_by(self, path: Path) -> list[LedgerEntry]:
        """What a killed run left, in the order in which it is undone."""
        entries = sorted(left(path), key=lambda each: self._rank.get(each.kind, len(self._rank)))
        self._begin(entries)
        return entries

    def undo(self, entry: LedgerEntry) -> tuple[str, bool]:
        """Undoes an entry; what was done, and whether it is gone."""
        done = "undone" if entry.kind == CALL else "removed"
        if entry.kind not in self._undo:
            return f"{entry} could not be {done}: only a newer refimpl knows how", False
        try:
            there = self._undo[entry.kind](entry)
        except (Refused, Unreachable, OSError, Broken, NotRemoved) as error:
            return f"{entry} could not be {done}: {_reason(error)}", False
        return f"{entry} {done if there else 'was gone already'}", True


def _reason(error: Exception) -> str:
    return error.got if isinstance(error, Broken) else str(error)
