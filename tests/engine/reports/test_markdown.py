"""Markdown that shows what a target said and obeys none of it."""

import re
from typing import Any

import pytest
from markdown_it import MarkdownIt
from msgspec import structs

from conformance.engine.reports import markdown
from conformance.engine.reports.repeats import CALLS_SHOWN


def rendered(text: str) -> str:
    """The HTML a CI system makes of it."""
    return MarkdownIt("commonmark", {"html": True}).enable("table").render(text)


def test_verdict_counts_and_failures_are_all_there_is_to_see_at_first(sample: Any) -> None:
    """A job's summary has room for little; the rest is behind a click."""
    page = rendered(markdown(sample(end=1, passed=3)))
    seen = re.sub(r"<details>.*?</details>", "", page, flags=re.DOTALL)
    assert "<strong>Not conformant: 4 of 11 MUST requirements fail.</strong>" in seen
    assert "<td>failed</td>" in seen
    assert "<h3>Failures (4)</h3>" in seen
    assert "CSI-LV-001" in seen
    assert "CREATE_DELETE_SNAPSHOT" not in seen


def test_the_table_counts_outcomes_by_level(sample: Any, case: Any) -> None:
    """A failed MUST is another matter than a warning."""
    cases = [case(1), case(2, "fail"), case(3, "warn", "SHOULD")]
    lines = markdown(sample(end=1, only=cases)).splitlines()
    assert [line for line in lines if line.startswith("|")] == [
        "| | MUST | SHOULD | all |",
        "|---|---:|---:|---:|",
        "| failed | 1 | 0 | 1 |",
        "| warnings | 0 | 1 | 1 |",
        "| passed | 1 | 0 | 1 |",
    ]


def test_a_failure_has_its_details_behind_a_click(sample: Any, case: Any) -> None:
    """Calls and the line to reproduce are where somebody looks for them."""
    text = markdown(sample(end=1, only=[case(1, "fail")]))
    details = text[text.index("<details>") :]
    assert "wanted:    volume_id vol-1" in details
    assert "call:      DeleteVolume() -> INVALID_ARGUMENT: volume id is empty (12 ms)" in details
    assert "replay:    refimpl test csi" in details
    assert "last call: grpcurl -plaintext" in details


def test_that_there_were_more_calls_is_told(sample: Any, case: Any) -> None:
    """A breach that is told with others may be about one of those that are not shown."""
    failed = case(1, "fail")
    many = structs.replace(failed, calls=failed.calls[:1] * (CALLS_SHOWN + 1))
    assert "calls:     1 call before these" in markdown(sample(end=1, only=[many]))


def test_hostile_text_stays_text(sample: Any) -> None:
    """No markup, no HTML, no mention, no fence or table that ends early."""
    text = markdown(sample(passed=0))
    page = rendered(text)
    tags = set(re.findall(r"<(/?\w+|!--)", page))
    names = {tag.strip("/") for tag in tags}
    assert names == {
        *("h2", "h3", "p", "strong", "code", "pre", "ul", "li", "details", "summary", "b", "!--"),
        *("table", "thead", "tbody", "tr", "th", "td"),
    }
    assert page.count("<details>") == page.count("</details>") == page.count("<summary>") == 8
    assert "@everyone" not in re.sub(r"<pre>.*?</pre>", "", page, flags=re.DOTALL)
    assert "\x1b" not in text
    assert "\u202e" not in text


@pytest.mark.parametrize(("end", "sentence"), [(None, "the run was cut short"), (2, "Interrupted")])
def test_a_run_that_did_not_end_says_so(sample: Any, end: int | None, sentence: str) -> None:
    """Its counts are no verdict."""
    assert f"⚠️ **{'Unfinished: ' if end is None else ''}{sentence}" in markdown(sample(end=end))


def test_the_page_stays_below_what_a_ci_system_takes(sample: Any, case: Any) -> None:
    """GitHub refuses a summary of more than 1 MiB as a whole."""
    failed = [case(n, "fail", got="x" * 4000, message="m" * 4000) for n in range(1000)]
    text = markdown(sample(end=1, only=failed))
    assert len(text.encode()) < 1_000_000
    assert "- and 700 more, see report.html" in text
    assert re.search(r"Details of \d+ failures more are in report.html", text)


def test_the_note_of_the_end_is_quoted(sample: Any, case: Any) -> None:
    """It names the expectation that matched nothing."""
    assert "> CSI-X-001 is gone" in markdown(sample(only=[case(1)], message="CSI-X-001 is gone"))
