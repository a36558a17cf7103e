"""`refimpl compare`: runs side by side, one row a case whose outcome differs."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from typing import TYPE_CHECKING

import attrs
import click

from refimpl.cli.errors import Usage
from refimpl.cli.streams import load

if TYPE_CHECKING:
    from conformance.engine.events import CaseDone
    from conformance.engine.reports.digest import Digest

EPILOG = """\b
Example:
  refimpl compare containerd/events.jsonl crio/events.jsonl
"""
_ABSENT = "-"
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_NAMED = 3  # ids named where cases are missing


@attrs.frozen
class _Side:
    """One run of the comparison, under its letter."""

    letter: str
    name: str
    digest: Digest
    cases: dict[str, CaseDone]


@click.command(epilog=EPILOG)
@click.argument("events", nargs=-1, required=True, metavar="A.jsonl B.jsonl...")
def command(events: tuple[str, ...]) -> None:
    """Show runs side by side: one row a case whose outcome differs.

    Cases that did not run everywhere (`-`) are counted at the end; they make no row by themselves.
    """
    sides = _sides(events)
    for side in sides:
        click.echo(_legend(side))
    rows = _rows(sides)
    click.echo("")
    if rows:
        for line in _table(sides, rows):
            click.echo(line)
        click.echo("")
    shared = set.intersection(*(set(side.cases) for side in sides))
    click.echo(f"{len(rows)} of {len(shared)} cases that ran everywhere differ")
    for side in sides:
        if missing := _missing(side, sides):
            click.echo(missing)


def _sides(names: Sequence[str]) -> list[_Side]:
    if not 2 <= len(names) <= len(_LETTERS):
        raise Usage(f"{len(names)} stream given; name the events.jsonl of two to 26 runs")
    from conformance.engine.reports.digest import Digest

    sides = []
    for letter, name in zip(_LETTERS, names, strict=False):
        digest = Digest.of(load(name))
        sides.append(_Side(letter, name, digest, {case.id: case for case in digest.cases}))
    ran = [set(side.cases) for side in sides if side.cases]
    if len(ran) > 1 and not any(
        first & second for first in ran for second in ran if first is not second
    ):
        kinds = ", ".join(f"{side.letter} is {side.digest.run.interface}" for side in sides)
        raise Usage(f"the runs have no case in common ({kinds}); compare runs of one interface")
    return sides


def _legend(side: _Side) -> str:
    from conformance.engine.reports.conclusion import conclude
    from conformance.engine.reports.text import one_line

    run = side.digest.run
    facts = ", ".join(part for part in (run.target, run.revision, side.name) if part)
    return f"{side.letter}  {one_line(facts)}\n   {one_line(conclude(side.digest).sentence)}"


def _rows(sides: Sequence[_Side]) -> list[list[CaseDone | None]]:
    """For each case with more than one outcome, what became of it on every side."""
    ids = dict.fromkeys(case.id for side in sides for case in side.digest.cases)
    rows = [[side.cases.get(id) for side in sides] for id in ids]
    differing = [row for row in rows if len({case.outcome for case in row if case}) > 1]
    return sorted(differing, key=_place)


def _place(row: Sequence[CaseDone | None]) -> tuple[str, str]:
    case = next(case for case in row if case)
    return case.section, case.id


def _table(sides: Sequence[_Side], rows: Sequence[Sequence[CaseDone | None]]) -> list[str]:
    from conformance.engine.reports.text import one_line

    cases = [next(case for case in row if case) for row in rows]
    width = max(len(case.id) for case in cases)
    letters = "".join(f"{side.letter:<7}" for side in sides)
    room = max(shutil.get_terminal_size().columns - width - len(letters) - 9, 20)
    lines = [f"{'':<{width}}  {letters}".rstrip()]
    for case, row in zip(cases, rows, strict=True):
        outcomes = "".join(f"{cell.outcome if cell else _ABSENT:<7}" for cell in row)
        title = one_line(case.title, room)
        lines.append(f"{case.id:<{width}}  {outcomes}{case.level:<6} {title}")
    return lines


def _missing(side: _Side, sides: Sequence[_Side]) -> str:
    """A line on the cases that ran elsewhere and not here, empty when there are none."""
    ids = dict.fromkeys(case.id for compared in sides for case in compared.digest.cases)
    missing = [id for id in ids if id not in side.cases]
    if not missing:
        return ""
    more = f" and {len(missing) - _NAMED} more" if len(missing) > _NAMED else ""
    return f"{side.letter} did not run {', '.join(missing[:_NAMED])}{more}"
