"""Runs side by side: a column a run, a row a case, and what sets the runs apart."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

import attrs

from conformance.engine.events import CaseDone, Outcome
from conformance.engine.reports.conclusion import conclude
from conformance.engine.reports.digest import RANKED, Digest
from conformance.engine.reports.text import one_line

__all__ = ["LETTERS", "Column", "Comparison", "Row"]

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
"""One names a column where there is no room for more, so there are at most so many."""

_ABSENT = "-"
_CELL, _LEVEL, _TITLE = 7, 7, 20  # columns of a terminal: an outcome, a level, the least of a title
_MARKS: dict[Outcome, str] = {
    "pass": ".",
    "fail": "F",
    "error": "E",
    "xpass": "X",
    "warn": "w",
    "xfail": "x",
    "skip": "s",
}
_NAMED = 3  # ids named where cases are missing
_UNREMARKABLE = {"pass", "skip"}


@attrs.frozen
class Column:
    """A run under its letter. name: how the user knows it, such as the file of its events."""

    letter: str
    name: str
    digest: Digest
    cases: dict[str, CaseDone]

    @property
    def facts(self) -> str:
        """Who was judged by which revision, and the name."""
        run = self.digest.run
        return one_line(", ".join(part for part in (run.target, run.revision, self.name) if part))

    @property
    def verdict(self) -> str:
        """The verdict on the run, or why there is none."""
        conclusion = conclude(self.digest)
        reason = conclusion.note if conclusion.sign == "open" else ""
        return one_line(": ".join(part for part in (conclusion.sentence, reason) if part))

    def legend(self, width: int) -> list[str]:
        """Who is behind the letter and the verdict on it, in lines of that width where words are
        no longer."""
        return [
            line
            for head, text in ((f"{self.letter}  ", self.facts), ("   ", self.verdict))
            for line in textwrap.wrap(
                text,
                width,
                initial_indent=head,
                subsequent_indent="   ",
                break_long_words=False,
                break_on_hyphens=False,
            )
        ]


@attrs.frozen
class Row:
    """What became of a case in each column; None where it did not run."""

    cells: tuple[CaseDone | None, ...]

    @property
    def case(self) -> CaseDone:
        """The case, as the first that ran it has it."""
        return next(cell for cell in self.cells if cell)

    @property
    def outcomes(self) -> set[Outcome]:
        """The outcomes it had."""
        return {cell.outcome for cell in self.cells if cell}

    @property
    def differs(self) -> bool:
        """Whether it had more than one. A column that did not run it makes no difference."""
        return len(self.outcomes) > 1

    @property
    def remarkable(self) -> bool:
        """Whether some column has something to tell of it."""
        return not self.outcomes <= _UNREMARKABLE

    @property
    def worst(self) -> Outcome:
        """Its weightiest outcome."""
        return min(self.outcomes, key=RANKED.index)


@attrs.frozen
class Comparison:
    """Columns in the order that they were given in, rows by section and id."""

    columns: tuple[Column, ...]
    rows: tuple[Row, ...]

    @classmethod
    def of(cls, runs: Iterable[tuple[str, Digest]]) -> Comparison:
        """Of names and runs, no more than there are LETTERS."""
        columns = tuple(
            Column(letter, name, digest, {done.id: done for done in digest.cases})
            for letter, (name, digest) in zip(LETTERS, runs, strict=False)
        )
        ids = dict.fromkeys(id for column in columns for id in column.cases)
        rows = [Row(tuple(column.cases.get(id) for column in columns)) for id in ids]
        return cls(columns, tuple(sorted(rows, key=lambda row: (row.case.section, row.case.id))))

    @property
    def differing(self) -> list[Row]:
        """The rows with more than one outcome."""
        return [row for row in self.rows if row.differs]

    @property
    def shared(self) -> int:
        """How many cases ran in more than one column, so that they could differ."""
        return sum(sum(cell is not None for cell in row.cells) > 1 for row in self.rows)

    @property
    def strangers(self) -> bool:
        """Whether no two of the runs that have cases have one in common."""
        ran = [set(column.cases) for column in self.columns if column.cases]
        pairs = [(one, other) for n, one in enumerate(ran) for other in ran[n + 1 :]]
        return bool(pairs) and not any(one & other for one, other in pairs)

    @property
    def groups(self) -> list[tuple[str, list[Row]]]:
        """All rows under headings, those first that a reader looks for first."""
        headings: dict[str, list[Row]] = {
            "Different": [row for row in self.differing if row.remarkable],
            "Judged on some, skipped on others": [
                row for row in self.differing if not row.remarkable
            ],
            "The same finding on all": [
                row for row in self.rows if not row.differs and row.remarkable
            ],
            "The same on all": [row for row in self.rows if not row.differs and not row.remarkable],
        }
        return [(heading, rows) for heading, rows in headings.items() if rows]

    def conclusion(self) -> list[str]:
        """How many differ, and which cases a column lacks."""
        lacking = [line for column in self.columns if (line := self._lacking(column))]
        number = len(self.differing)
        return [f"{number} of {self.shared} cases that ran more than once differ", *lacking]

    def _lacking(self, column: Column) -> str:
        missing = [row.case.id for row in self.rows if row.case.id not in column.cases]
        if not (missing and column.cases):  # without any, its verdict says why
            return ""
        more = f" and {len(missing) - _NAMED} more" if len(missing) > _NAMED else ""
        return f"{column.letter} did not run {', '.join(missing[:_NAMED])}{more}"

    def table(self, rows: Sequence[Row], width: int) -> list[str]:
        """The rows under the letters, at most `width` wide; where outcomes do not fit in words, a
        mark stands for each (`key` explains them)."""
        ids = max((len(row.case.id) for row in rows), default=0)
        words = self._in_words(ids, width)
        cell = _CELL if words else 2
        letters = "".join(f"{column.letter:<{cell}}" for column in self.columns)
        room = max(width - ids - 2 - len(letters) - _LEVEL, 0)
        lines = [f"{'':<{ids}}  {letters}".rstrip()]
        for row in rows:
            outcomes = "".join(f"{_word(each, words):<{cell}}" for each in row.cells)
            title = one_line(row.case.title, room) if room else ""
            lines.append(f"{row.case.id:<{ids}}  {outcomes}{row.case.level:<6} {title}".rstrip())
        return lines

    def key(self, rows: Sequence[Row], width: int) -> str:
        """What the marks of `table` mean; empty where it has words."""
        ids = max((len(row.case.id) for row in rows), default=0)
        if self._in_words(ids, width):
            return ""
        return ", ".join([*(f"{mark} {name}" for name, mark in _MARKS.items()), "- did not run"])

    def _in_words(self, ids: int, width: int) -> bool:
        """Two or three columns always have words: the title gives way."""
        needed = ids + 2 + _CELL * len(self.columns) + _LEVEL + _TITLE
        return len(self.columns) <= 3 or needed <= width


def _word(cell: CaseDone | None, words: bool) -> str:
    if cell is None:
        return _ABSENT
    return cell.outcome if words else _MARKS[cell.outcome]
