"""The summary of a run says what to do, fits a terminal, and obeys nothing a target said."""

import io
import re
from typing import IO, Any

import pytest
from msgspec import structs
from rich.cells import cell_len
from rich.console import Console

from conformance.engine.events import Breach
from conformance.engine.reports.console import summary, verdict
from conformance.engine.reports.digest import Digest
from conformance.engine.reports.repeats import CALLS_SHOWN


def log(file: IO[str]) -> Console:
    """A console that is no terminal, whatever FORCE_COLOR says."""
    return Console(file=file, width=80, force_terminal=False, highlight=False, markup=False)


def shown(stream: list[Any], **chosen: Any) -> str:
    """The summary in 80 columns, as a log gets it."""
    file = io.StringIO()
    summary(Digest.of(stream), log(file), **chosen)
    return file.getvalue()


@pytest.mark.parametrize("verbose", [0, 1, 2])
def test_everything_but_the_line_to_copy_fits_the_width(sample: Any, verbose: int) -> None:
    """80 columns are what a terminal and a CI log are sure to have."""
    lines = shown(sample(), verbose=verbose, report_dir="out/").splitlines()
    labels = ("  replay: ", "  last call: ")
    copied = {n for n, line in enumerate(lines) if line.startswith(labels)}
    assert len(copied) == (13 if verbose else 9)
    wide = [line for n, line in enumerate(lines) if cell_len(line) > 80 and n not in copied]
    assert wide == []


@pytest.mark.parametrize("verbose", [0, 2])
def test_a_log_holds_no_escape_codes(sample: Any, verbose: int) -> None:
    """Neither ours nor those of a target that tries."""
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", shown(sample(), verbose=verbose))


def test_a_line_to_reproduce_is_whole(sample: Any, case: Any) -> None:
    """It is copied, so that a break in it breaks the command."""
    failed = case(1, "fail")
    assert f"  last call: {failed.reproduce}\n" in shown(sample(end=1, only=[failed]))


def test_a_failure_tells_rule_level_source_wanted_got_and_calls(sample: Any, case: Any) -> None:
    """Enough to act on without opening a report."""
    failed = case(1, "fail", title="a repeated create returns the same volume")
    text = shown(sample(end=1, only=[failed]))
    assert text[: text.index("  replay")].splitlines() == [
        "FAIL MUST CSI-LV-001 a repeated create returns the same volume",
        "  rule:      the same name and parameters give the volume that is there",
        "  source:    CSI 1.13 ListVolumes",
        "  wanted:    volume_id vol-1",
        "  got:       volume_id vol-2",
        "  calls:",
        '    CreateVolume(name: "refimpl-7...) -> OK volume: {volume_id: "vol-1"} (12 ms)',
        '    CreateVolume(name: "refimpl-7f3a-pvc-1", cap...) -> OK volume: {...} (12 ms)',
        "    DeleteVolume() -> INVALID_ARGUMENT: volume id is empty (12 ms)",
    ]


def test_that_there_were_more_calls_is_told(sample: Any, case: Any) -> None:
    """A breach that is told with others may be about one of those that are not shown."""
    failed = case(1, "fail")
    many = structs.replace(failed, calls=failed.calls[:1] * (CALLS_SHOWN + 2))
    text = shown(sample(end=1, only=[many]))
    assert "  calls:    2 calls before these, see events.jsonl\n" in text
    assert text.count("    CreateVolume(") == CALLS_SHOWN


def test_every_breach_of_a_case_is_told(sample: Any, case: Any) -> None:
    """The one that decides first; what is only recommended says so."""
    also = [
        Breach(rule="an id is told", wanted="an id", got="none"),
        Breach(rule="it is short", soft=True),
    ]
    text = shown(sample(end=1, only=[case(1, "fail", also=also)]))
    assert text[text.index("  got:") : text.index("  calls")].splitlines() == [
        "  got:       volume_id vol-2",
        "  also:      an id is told",
        "  wanted:    an id",
        "  got:       none",
        "  also:      it is short (SHOULD)",
    ]


def test_a_text_of_several_lines_hangs_under_its_label(sample: Any, case: Any) -> None:
    """A rule that lists what it found stays readable."""
    text = shown(sample(end=1, only=[case(1, "fail", message="first\nsecond")]))
    assert "  rule:      first\n             second\n" in text


def test_the_verdict_is_the_last_line_and_counts_and_reports_stand_above(
    sample: Any, case: Any
) -> None:
    """Eyes and `tail -1` are at the end."""
    cases = [case(1, "fail"), case(2), case(3, "skip", message="no CLONE")]
    lines = shown(sample(end=1, only=cases), report_dir="out/").splitlines()
    assert lines[-3:] == [
        "3 cases in 1 min 23 s: 1 failed, 1 skipped, 1 passed",
        "reports: out/report.html; JUnit, Markdown, badge, events beside it",
        "Not conformant: 1 of 2 MUST requirements fails.",
    ]


def test_what_does_not_fail_is_short_unless_asked_for(sample: Any) -> None:
    """A screen full of warnings hides the failure above them."""
    brief = shown(sample(passed=0))
    assert "Warnings (2, -v shows them whole)" in brief
    assert "  CSI-LV-010 MUST messages name the volume\n" in brief
    assert "Known failures (1, -v lists them)" in brief
    assert "the lock is lost on restart" not in brief
    whole = shown(sample(passed=0), verbose=1)
    assert "warning MUST CSI-LV-010" in whole
    assert "  CSI-NPUB-011 MUST the lock is lost on restart (rule 4)" in whole


def test_verbose_tells_why_a_rule_matters(sample: Any, case: Any) -> None:
    """The docstring of a case flows, wherever its source has line breaks."""
    stream = sample(end=1, only=[case(1, "fail")])
    why = "  why:       An orchestrator that lost an answer asks again. A second volume\n"
    assert why in shown(stream, verbose=1)
    assert why not in shown(stream)


def test_skips_are_counted_by_reason(sample: Any) -> None:
    """A list of what the target would have to offer."""
    text = shown(sample(passed=0))
    assert "Skipped (3), by what is missing\n    2  CREATE_DELETE_SNAPSHOT is not adver" in text
    assert "CSI-CTRL-012, CSI-LV-013" not in text
    assert "CSI-CTRL-012, CSI-LV-013" in shown(sample(passed=0), verbose=1)


def test_an_unexpected_pass_is_shown_whole(sample: Any) -> None:
    """It fails the run, and the way out is to remove an entry."""
    text = shown(sample(passed=0))
    assert "UNEXPECTED PASS MUST CSI-NPUB-008" in text
    assert "it passes; remove the entry" in text


def test_the_message_of_the_end_stands_before_the_verdict(sample: Any, case: Any) -> None:
    """It explains a verdict that no case explains."""
    lines = shown(sample(end=1, only=[case(1)], message="CSI-X-001 matched nothing")).splitlines()
    assert lines[-2:] == [
        "CSI-X-001 matched nothing",
        "Expectations are out of date: an entry matches nothing.",
    ]


def test_a_killed_run_has_a_summary_too(sample: Any, case: Any) -> None:
    """`refimpl report` shows it."""
    lines = shown(sample(end=None, only=[case(1)])).splitlines()
    assert lines[0] == "1 case: 1 passed"
    assert " ".join(lines[1:]) == (
        "Unfinished: the run was cut short after 1 case; so far nothing failed."
    )


def test_a_console_that_cannot_say_a_character_spells_it(sample: Any) -> None:
    """A log in ASCII must not end the run with an encoding error."""
    raw = io.BytesIO()
    console = log(io.TextIOWrapper(raw, encoding="ascii"))
    summary(Digest.of(sample(passed=0)), console)
    console.file.flush()
    assert rb"\xe4rger" in raw.getvalue()


def test_the_verdict_alone_is_one_line(sample: Any, case: Any) -> None:
    """What a quiet run prints."""
    file = io.StringIO()
    verdict(Digest.of(sample(end=0, only=[case(1), case(2)])), log(file))
    assert file.getvalue() == "Conformant: all 2 MUST requirements are met.\n"
