"""Runs side by side: what differs, what does not, and what fits a terminal."""

from collections.abc import Sequence

import pytest

from conformance.engine.events import CaseDone, End, Outcome, Run
from conformance.engine.reports.digest import Digest
from conformance.engine.reports.matrix import matrix
from conformance.engine.reports.sidebyside import LETTERS, Comparison
from tests.engine.reports.test_html import Page


def side_by_side(*outcomes: Sequence[Outcome]) -> Comparison:
    """A column for each sequence, whose cases are CSI-LV-000 and so on."""
    run = Run(interface="csi", target="a", revision="", suite="", seed=1, started=0, config={})
    end = End(counts={}, exit_code=0, duration_s=1)
    runs = [
        [
            CaseDone(
                id=f"CSI-LV-{number:03}",
                level="MUST",
                outcome=outcome,
                duration_s=0,
                title="the rule of it <b>",
                message="what came </td>",
            )
            for number, outcome in enumerate(column)
        ]
        for column in outcomes
    ]
    return Comparison.of(
        (f"target-{number}", Digest.of([run, *cases, end])) for number, cases in enumerate(runs)
    )


def test_groups_come_in_the_order_they_are_looked_for() -> None:
    """A difference that is only a skip comes after one that is a finding."""
    comparison = side_by_side(("pass", "skip", "fail", "fail"), ("pass", "pass", "fail", "pass"))
    assert [(heading, [row.case.id for row in rows]) for heading, rows in comparison.groups] == [
        ("Different", ["CSI-LV-003"]),
        ("Judged on some, skipped on others", ["CSI-LV-001"]),
        ("The same finding on all", ["CSI-LV-002"]),
        ("The same on all", ["CSI-LV-000"]),
    ]


def test_cases_that_ran_once_cannot_differ() -> None:
    """A column without cases is told by its verdict, one that lacks some by their ids."""
    assert side_by_side(("pass", "fail"), ("fail",), ()).conclusion() == [
        "1 of 1 cases that ran more than once differ",
        "B did not run CSI-LV-001",
    ]


@pytest.mark.parametrize("columns", [2, 3, 6, len(LETTERS)])
def test_a_table_fits_eighty_columns(columns: int) -> None:
    """Words where there is room, else a mark each, which is explained."""
    comparison = side_by_side(*[("pass", "fail")] * (columns - 1), ("xfail", "warn"))
    head, *lines = comparison.table(comparison.rows, 80)
    assert all(len(line) <= 80 for line in (head, *lines))
    assert head.split() == list(LETTERS[:columns])
    words = lines[1].split()[1 : columns + 1]
    marks = columns > 3
    assert words == ["F" if marks else "fail"] * (columns - 1) + ["w" if marks else "warn"]
    assert ("w warn" in comparison.key(comparison.rows, 80)) == marks


def test_the_page_stands_on_its_own() -> None:
    """Balanced, one cell a case and column, and nothing of a target is markup."""
    comparison = side_by_side(("pass", "fail"), ("fail",))
    page = Page(matrix(comparison, {"target-0": "refimpl test csi a"}))
    assert page.texts("h2") == ["Different (1)", "The same finding on all (1)"]
    assert len(page.texts("td")) == 4
    assert "did not run" in page.texts("td")
    assert page.texts("code").count("refimpl test csi a") == 1
    links = [attributes["href"] for tag, attributes, _ in page.elements if tag == "a"]
    assert "target-1/report.html#CSI-LV-000" in links
