"""The page of several targets: one row a case, one column a target, differences first."""

from __future__ import annotations

from collections.abc import Mapping

from conformance.engine.reports.conclusion import conclude, tally
from conformance.engine.reports.html import render
from conformance.engine.reports.sidebyside import Comparison, Row
from conformance.engine.reports.text import printable

__all__ = ["matrix"]


def matrix(comparison: Comparison, lines: Mapping[str, str]) -> str:
    """The page as one document, which links into the reports of its columns: a column `x` has its
    own at `x/report.html`. lines: a column's name -> the command that judges it alone."""
    return render(
        "matrix.html.j2",
        comparison=comparison,
        subject=next((each.digest.subject for each in comparison.columns if each.cases), "Matrix"),
        conclude=conclude,
        tally=tally,
        lines=lines,
        sought=_sought,
    )


def _sought(row: Row) -> str:
    """What the text filter looks through."""
    messages = (cell.message for cell in row.cells if cell)
    parts = (row.case.id, row.case.title, row.case.section, *messages)
    return printable(" ".join(parts)).lower()[:600]
