"""How the phases of a case become one verdict, and those of a run one exit code."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from conformance.engine.events import CaseDone, End, Event, EventStream, Run
from conformance.engine.judging.recorder import Recorder
from conformance.engine.options import Options
from tests.conftest import SmallDisk

Toy = Any  # the fixture of that name, in conftest.py
TARGET = {"name": "toy driver", "version": "1.5", "revision": "1"}
CASE = {"id": "TOY-A-001", "level": "MUST", "title": "t", "why": "", "source": "", "section": ""}


def phase(when: str, outcome: str, **more: Any) -> Any:
    """A report as the judge leaves it."""
    facts = {"case": CASE, "target": TARGET, "outcome": outcome, "known": False, **more}
    location = ("toys.py", 9, "test")
    return SimpleNamespace(
        nodeid="toys", when=when, duration=0.25, refimpl=json.dumps(facts), location=location
    )


def recorded(*phases: Any) -> tuple[Recorder, list[Event]]:
    """A recorder that has seen these phases, and what it told."""
    events: list[Event] = []
    recorder = Recorder(Options(interface="toy"), EventStream(listeners=[events.append]), {})
    for each in phases:
        recorder.pytest_runtest_logreport(each)
    return recorder, events


@pytest.mark.parametrize(
    ("setup", "call", "teardown", "verdict"),
    [
        ("pass", "pass", "pass", "pass"),
        ("pass", "pass", "fail", "fail"),
        ("pass", "warn", "fail", "fail"),
        ("pass", "fail", "error", "error"),
        ("skip", None, "pass", "skip"),
        ("pass", "xfail", "pass", "xfail"),
        ("pass", "xpass", "pass", "xpass"),
        ("pass", "xpass", "xfail", "xfail"),
    ],
)
def test_the_weightiest_phase_is_the_verdict(
    setup: str, call: str | None, teardown: str, verdict: str
) -> None:
    """A known failure may be one of cleaning up: then the call passes, and that is no surprise."""
    phases = [phase("setup", setup), *([phase("call", call)] if call else [])]
    recorder, events = recorded(*phases, phase("teardown", teardown))
    assert [done.outcome for done in recorder.done] == [verdict]
    assert [type(event) for event in events] == [Run, CaseDone]


def test_a_case_is_told_when_its_last_phase_is_over() -> None:
    """Durations add up, the place is where the function is, calls are those of the call."""
    calls = [{"rpc": "Play", "code": "OK", "replies": [{"created_at": 1 << 62}]}]
    phases = [
        *(phase("setup", "pass"), phase("call", "pass", calls=calls)),
        phase("teardown", "pass"),
    ]
    recorder, events = recorded(*phases[:2])
    assert events == []
    recorder.pytest_runtest_logreport(phases[2])
    (done,) = recorder.done
    assert (done.duration_s, done.location, done.calls) == (0.75, "toys.py:10", calls)


def test_tests_that_are_no_cases_are_not_recorded() -> None:
    """Under plain pytest a user's own tests may run beside them."""
    assert recorded(SimpleNamespace(nodeid="own", when="call"))[1] == []


@pytest.mark.parametrize(("ended", "code"), [(0, 3), (1, 1), (2, 2), (6, 6)])
def test_a_lost_event_file_is_said_at_the_end(
    ended: int, code: int, capsys: pytest.CaptureFixture[str], small_disk: SmallDisk
) -> None:
    """Whoever looks for the reports has to know why they are not whole; it is no success."""
    stream = EventStream(small_disk.folder / "events.jsonl")
    small_disk.fill()
    recorder = Recorder(Options(), stream, {})
    recorder.end(ended, "")
    assert recorder.exit_code == code
    assert "events.jsonl: No space left on device" in capsys.readouterr().err


INTERRUPTED = """
    import os, signal

    @case("TOY-A-001", "toys")
    def test_a_toy_that_fails(toy):
        raise Broken("toys are whole", "a wheel", "no wheel")

    @case("TOY-A-002", "toys")
    def test_a_toy_in_the_middle_of_which_somebody_has_had_enough(toy):
        os.kill(os.getpid(), signal.SIGINT)

    @case("TOY-A-003", "toys")
    def test_a_toy_after_it(toy):
        pass
"""


def test_an_interrupted_run_is_no_verdict(toy: Toy, tmp_path: Path) -> None:
    """Exit code 2, also where a failure was found before; the reports tell what there is."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        assert toy.run(INTERRUPTED, report_dir=str(tmp_path / "out")) == 2
    finally:
        signal.signal(signal.SIGINT, before)
    assert toy.outcomes == {"TOY-A-001": "fail"}
    assert toy.end.exit_code == 2
    assert "ended early" in toy.end.message
    assert sorted(os.listdir(tmp_path / "out")) == [
        "badge.json",
        "events.jsonl",
        "junit_toy.xml",
        "report.html",
        "summary.md",
    ]


TWO_BAD = """
    @case("TOY-A-001", "toys")
    def test_a_case_with_a_bug(toy):
        {}["missing"]

    @case("TOY-A-002", "toys")
    def test_a_case_with_another(toy):
        {}["missing"]
"""


@pytest.mark.parametrize("workers", ["0", "1"])
def test_a_run_that_ends_at_its_first_error_was_not_interrupted(toy: Toy, workers: str) -> None:
    """-x with workers looks like Ctrl-C to pytest."""
    assert toy.run(TWO_BAD, workers=workers, first=True) == 3
    assert "TOY-A-001" in toy.outcomes


def test_a_worker_that_dies_is_a_fault_of_ours(toy: Toy) -> None:
    """The case it was at must not get lost without a word."""
    cases = """
    import os

    @case("TOY-A-001", "toys")
    def test_a_toy_that_takes_everything_with_it(toy):
        os._exit(9)
    """
    assert toy.run(cases, workers="1") == 3
    assert "TOY-A-001" not in toy.outcomes
    assert "test_a_toy_that_takes_everything_with_it" in toy.end.message


def test_collecting_alone_records_nothing(toy: Toy) -> None:
    """`--pytest --collect-only` is a question, not a run."""
    assert toy.run(toy.ONE_OF_EACH, extra=("--collect-only",)) == 0
    assert [event for event in toy.events if isinstance(event, End)] == []


def test_workers_that_cannot_even_begin_are_a_fault_of_ours(toy: Toy) -> None:
    """Not a run in which nothing was selected."""
    (toy.folder / "conftest.py").write_text(
        "import os\nos.environ.get('PYTEST_XDIST_WORKER') and 1 / 0\n"
    )
    assert toy.run(toy.ONE_OF_EACH, workers="1") == 3
    assert "a worker died" in toy.end.message
    assert "ZeroDivisionError" in toy.end.message
