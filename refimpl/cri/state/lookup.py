"""Finding by id, or by the beginning of one, and by filter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from refimpl.cri.state.models import Container, Sandbox, Wanted
from refimpl.wire.status import Code, Refused

__all__ = ["find", "get", "matching"]

R = TypeVar("R")
T = TypeVar("T", Sandbox, Container)


def find(table: Mapping[str, R], sent: str, what: str) -> R | None:
    """The record of an id or of a unique beginning of one, None if there is none.

    INVALID_ARGUMENT for an empty id and for a beginning of several.
    """
    if not sent:
        raise Refused(Code.INVALID_ARGUMENT, f"the id of the {what} is empty: name one")
    if sent in table:
        return table[sent]
    matches = [record for key, record in table.items() if key.startswith(sent)]
    if len(matches) > 1:
        raise Refused(
            Code.INVALID_ARGUMENT,
            f"{what} id {sent!r} is the beginning of {len(matches)} ids: give more of it",
        )
    return matches[0] if matches else None


def get(table: Mapping[str, R], sent: str, what: str) -> R:
    """As `find`, but NOT_FOUND for an unknown id: the reading side of CRI."""
    record = find(table, sent, what)
    if record is None:
        raise Refused(Code.NOT_FOUND, f"there is no {what} with the id {sent!r}")
    return record


def matching(records: Mapping[str, T], wanted: Wanted) -> list[T]:
    """Those for which all of the filter holds, in their order; never an error. An id may be the
    beginning of one, if it is that of one only (D3)."""
    if wanted == Wanted():
        return list(records.values())
    named = [record for id, record in records.items() if id.startswith(wanted.id)]
    if wanted.id and wanted.id not in records and len(named) > 1:
        return []
    return [record for record in named if _matches(record, wanted)]


def _matches(record: Sandbox | Container, wanted: Wanted) -> bool:
    of = record.sandbox_id if isinstance(record, Container) else record.id
    return (
        of.startswith(wanted.sandbox_id)
        and wanted.state in (None, int(record.state))
        and wanted.labels.items() <= record.labels.items()
    )
