"""The HTML report stands on its own, whatever a target has said."""

import re
from html.parser import HTMLParser
from typing import Any

import pytest

from conformance.engine.reports import html

VOID = {"meta", "input", "br", "link"}


class Page(HTMLParser):
    """The elements of a page as (name, attributes, text), checked for being balanced."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[int] = []
        self.elements: list[tuple[str, dict[str, str], list[str]]] = []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}, []))
        if tag not in VOID:
            self.open.append(len(self.elements) - 1)

    def handle_endtag(self, tag: str) -> None:
        assert self.elements[self.open.pop()][0] == tag

    def handle_data(self, data: str) -> None:
        for number in self.open:
            self.elements[number][2].append(data)

    def texts(self, tag: str, **wanted: str) -> list[str]:
        return [
            " ".join(" ".join(text).split())
            for name, attributes, text in self.elements
            if name == tag and all(attributes.get(k.strip("_")) == v for k, v in wanted.items())
        ]

    def ids(self, tag: str) -> list[str]:
        return [
            attributes["id"]
            for name, attributes, _ in self.elements
            if name == tag and "id" in attributes
        ]


@pytest.mark.parametrize("end", [0, 1, 2, 3, 6, None])
def test_a_page_is_whole_however_the_run_ended(sample: Any, end: int | None) -> None:
    """Killed runs are looked at most closely."""
    page = Page(html(sample(end=end, passed=5)))
    assert len(page.texts("h1")) == 1
    assert Page(html(sample(end=end, only=[]))).texts("h2") == []


def test_the_page_needs_nothing_from_elsewhere(sample: Any) -> None:
    """It is read from an artifact store, years later, without a network."""
    page = Page(html(sample(passed=5)))
    for _, attributes, _ in page.elements:
        assert "src" not in attributes
        assert attributes.get("href", "#").startswith("#")
    policy = next(a["content"] for _, a, _ in page.elements if "http-equiv" in a)
    assert policy.startswith("default-src 'none'")


def test_the_verdict_comes_first_then_failures_then_the_rest(sample: Any) -> None:
    """A vendor reads from the top and stops early."""
    page = Page(html(sample(passed=5)))
    assert page.texts("p", class_="sentence") == [
        "✗ Not conformant: 4 of 13 MUST requirements fail, and 1 case broke in the suite itself."
    ]
    assert page.texts("h2") == [
        "Failures (4)",
        "Errors in the suite itself (1)",
        "Known failures that pass now (1)",
        "Warnings (2)",
        "Known failures (1)",
        "Skipped (3)",
        "Passed (11)",
    ]


def test_a_failure_shows_why_wanted_got_calls_and_how_to_reproduce(sample: Any, case: Any) -> None:
    """Nobody should need the event stream to mend a driver."""
    page = Page(html(sample(end=1, only=[case(1, "fail")])))
    (shown,) = page.texts("details", id="CSI-LV-001")
    for text in (
        "✗ FAIL MUST CSI-LV-001 a name longer than 128 bytes",
        "the same name and parameters give the volume that is there",
        "Wanted volume_id vol-1",
        "Got volume_id vol-2",
        "Why it matters An orchestrator that lost an answer asks again. A second volume",
        "Source CSI 1.13 ListVolumes",
        "INVALID_ARGUMENT volume id is empty 12 ms",
        "Replay refimpl test csi",
        "Last call grpcurl -plaintext",
    ):
        assert text in shown


def test_failures_are_open_and_passes_folded(sample: Any, case: Any) -> None:
    """What fails is what the page is opened for."""
    page = Page(html(sample(end=1, only=[case(1, "fail"), case(2, "warn"), case(3)])))
    opened = {a.get("id"): "open" in a for name, a, _ in page.elements if name == "details"}
    assert opened["CSI-LV-001"] is True
    assert opened["CSI-NPUB-002"] is False
    assert opened[None] is False


def test_skips_stand_under_what_the_target_would_have_to_offer(sample: Any) -> None:
    """The reasons are a list of what to build next."""
    page = Page(html(sample(passed=0)))
    assert "CREATE_DELETE_SNAPSHOT is not advertised (2 cases)" in page.texts("summary")


def test_every_case_can_be_linked_to_and_filtered(sample: Any) -> None:
    """A link to a failure is what goes into a bug report."""
    stream = sample(passed=20)
    page = Page(html(stream))
    ids = [i for i in page.ids("details") + page.ids("tr") if i.startswith("CSI-")]
    assert len(ids) == len(set(ids)) == len(stream) - 2
    filtered = [a for _, a, _ in page.elements if "data-outcome" in a]
    assert len(filtered) == len(ids)
    assert all(a["data-level"] and a["data-text"] for a in filtered)


def test_hostile_text_stays_text(sample: Any) -> None:
    """A driver's message must not run in the browser of who reads about it."""
    text = html(sample(passed=0))
    page = Page(text)
    assert len(page.texts("script")) == 1
    assert "alert('x')" not in page.texts("script")[0]
    assert "{{ 7 * 7 }}" in page.texts("details", id="CSI-CTRL-006")[0]
    assert not re.search("[^\t\n\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", text)
    assert "\u202e" not in text


def test_a_very_long_text_is_cut_and_says_so(sample: Any) -> None:
    """One endless reply must not make a page that no browser opens."""
    text = html(sample(passed=0))
    assert "more characters in events.jsonl]" in text
    assert len(text) < 200_000


def test_an_outcome_is_a_word_and_not_only_a_colour(sample: Any) -> None:
    """Some readers see no colours, some hear the page."""
    page = Page(html(sample(passed=1)))
    marks = {text for tag, a, _ in page.elements for text in page.texts("span", class_="mark fail")}
    assert marks == {"✗ FAIL"}
    hidden = [a for name, a, _ in page.elements if name == "span" and "aria-hidden" in a]
    assert hidden


def test_a_killed_run_is_told_as_such(sample: Any) -> None:
    """What is missing must not be taken for passed."""
    text = html(sample(end=None))
    assert "The record of this run has no end" in text
    assert "Unfinished: the run was cut short after 218 cases" in text
