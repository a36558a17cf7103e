"""Whatever a target says, a report shows it as text."""

import json

import pytest

from conformance.engine.reports.text import (
    as_json,
    capped,
    count,
    duration,
    heading,
    one_line,
    printable,
    sketch,
)


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("\x1b[31m", r"\x1b[31m"),
        ("nul\x00", r"nul\x00"),
        ("c1 \x9b", r"c1 \x9b"),
        ("\u202eback", r"\u202eback"),
        ("lone \ud800", r"lone \ud800"),
        ("nonchar \uffff", r"nonchar \uffff"),
        ("windows\r\nline", "windows\nline"),
        ("a\rb", r"a\rb"),
        ("tab\tand\nline", "tab\tand\nline"),
        ("日本語 ärger 💥", "日本語 ärger 💥"),
    ],
)
def test_what_terminals_or_xml_would_obey_is_spelled_out(raw: str, shown: str) -> None:
    """Escapes can clear a screen, forbidden characters make a whole JUnit file unreadable."""
    assert printable(raw) == shown


def test_one_line_is_never_wider_than_asked_for() -> None:
    """Tables and logs break when a message brings its own line breaks."""
    assert one_line("a\n  b\tc") == "a b c"
    assert one_line("abcdefghij", 10) == "abcdefghij"
    assert one_line("abcdefghijk", 10) == "abcdefg..."


def test_what_a_cap_leaves_out_is_counted() -> None:
    """A reader must know that there was more."""
    assert capped("abc", 3) == "abc"
    assert capped("abcdef", 3) == "abc\n[3 more characters in events.jsonl]"


@pytest.mark.parametrize(
    ("section", "shown"),
    [
        ("6.2 CreateVolume / DeleteVolume", "CreateVolume / DeleteVolume"),
        ("7.2 Sandboxes (CRI-SB)", "Sandboxes"),
        ("3b. Runtime under test (CNI-RT): runtime execs us", "Runtime under test"),
        ("(d) Pod resources server under test", "Pod resources server under test"),
        ("7.5 CEL — DRA-CEL (device driver=d)", "CEL"),
        ("Plain", "Plain"),
        ("", "Other"),
    ],
)
def test_a_heading_leaves_out_numbers_and_asides(section: str, shown: str) -> None:
    """The numbers are those of our contract pages and mean nothing to a vendor."""
    assert heading(section) == shown


def test_a_sketch_leaves_out_what_lies_deepest() -> None:
    """The names of the fields say more than the end of the first one."""
    message = {"name": "x", "deep": {"deeper": {"deepest": [1, 2, 3]}}}
    assert sketch(message, 80) == 'name: "x", deep: {deeper: {deepest: [1, 2, 3]}}'
    assert sketch(message, 46) == 'name: "x", deep: {deeper: {deepest: [...]}}'
    assert sketch(message, 25) == 'name: "x", deep: {...}'
    assert sketch(message, 15) == 'name: "x", d...'
    assert sketch({}, 9) == ""
    assert sketch([], 9) == "[]"


def test_json_takes_what_no_encoder_would() -> None:
    """A reply may hold a lone surrogate or a value that JSON does not know."""
    assert json.loads(as_json({"a": "\ud800", "b": {1}})) == {"a": "\ud800", "b": "{1}"}


def test_times_and_counts_read_like_a_sentence() -> None:
    """The verdict line is read by people."""
    assert [duration(s) for s in (0.0042, 4.23, 185)] == ["4 ms", "4.2 s", "3 min 5 s"]
    assert [count(1, "case"), count(2, "case")] == ["1 case", "2 cases"]
    assert count(2, "failure passes", "failures pass") == "2 failures pass"
