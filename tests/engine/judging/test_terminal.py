"""What a run looks like on a terminal, in a log, and when nobody wants to hear of it."""

import io
import os
import re
from typing import Any

import pytest
from rich.console import Console

from conformance.engine.events import CaseDone, End, Event, Run
from conformance.engine.judging.terminal import Screen, make_console
from conformance.engine.options import Options

RUN = Run(
    interface="csi",
    target="hostpath 1.17.0 at unix:///run/csi/csi.sock",
    revision="csi-1.13",
    suite="0.1.0",
    seed=4021,
    started=0,
    config={},
)


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """What rich reads of it; who runs the tests may have set any."""
    for name in ("COLUMNS", "FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")


def case(number: int, outcome: Any = "pass", title: str = "an unknown volume is NOT_FOUND") -> Any:
    """A case that took 4 ms."""
    return CaseDone(
        id=f"CSI-LV-{number:03}", level="MUST", outcome=outcome, duration_s=0.004, title=title
    )


def run(*cases: CaseDone, end: int | None = 0) -> list[Event]:
    """The events of a run, killed for None."""
    ending = [] if end is None else [End(counts={}, exit_code=end, duration_s=4.2)]
    return [RUN, *cases, *ending]


def shown(stream: list[Event], *, tty: bool = False, colour: bool = True, **chosen: Any) -> str:
    """Everything a screen of 80 columns has written of a stream."""
    file = io.StringIO()
    console = Console(
        file=file,
        width=80,
        force_terminal=tty,
        force_interactive=tty,
        color_system="standard" if tty else None,
        no_color=not colour,
        highlight=False,
        markup=False,
        emoji=False,
    )
    screen = Screen(Options(interface="csi", **chosen), console)
    for event in stream:
        screen.show(event)
    return file.getvalue()


def test_a_log_starts_with_what_is_judged_and_ends_with_the_verdict() -> None:
    """The seed is there to repeat the run with."""
    assert shown(run(case(1), case(2))).splitlines() == [
        "hostpath 1.17.0 at unix:///run/csi/csi.sock, csi-1.13, seed 4021",
        "2 cases in 4.2 s: 2 passed",
        "Conformant: all 2 MUST requirements are met.",
    ]


def test_a_log_has_a_line_every_fifty_cases() -> None:
    """Enough to see that it lives, and no more."""
    text = shown(run(*(case(n, "fail" if n == 60 else "pass") for n in range(120)), end=1))
    assert re.findall(r"\d+ cases done.*", text) == [
        "50 cases done, 0 failing",
        "100 cases done, 1 failing",
    ]


def test_verbose_gives_every_case_its_line() -> None:
    """Outcome, id, title, time, in columns."""
    long = "a name longer than 128 bytes is accepted or refused with INVALID_ARGUMENT"
    lines = shown(run(case(1, title=long), case(2, "warn")), verbose=1).splitlines()
    assert lines[1:3] == [
        "pass            CSI-LV-001 a name longer than 128 bytes is accepted or...   4 ms",
        "warning         CSI-LV-002 an unknown volume is NOT_FOUND                   4 ms",
    ]


def test_quiet_leaves_the_verdict_only() -> None:
    """One line for scripts that look at the exit code."""
    text = shown(run(*(case(n) for n in range(60))), quiet=True)
    assert text == "Conformant: all 60 MUST requirements are met.\n"


@pytest.mark.parametrize("verbose", [0, 1])
def test_a_log_obeys_no_title(verbose: int) -> None:
    """An escape in a log can forge the lines above it."""
    text = shown(run(case(1, "fail", title="clear \x1b[2J all"), end=1), verbose=verbose)
    assert "\x1b" not in text
    assert r"clear \x1b[2J all" in text


def test_a_terminal_shows_one_line_that_goes_away() -> None:
    """What is being judged now; the summary is printed over it."""
    text = shown(run(case(1)), tty=True)
    assert "1 done, 0 failing CSI-LV-001" in text
    assert text.rindex("\x1b[2K") > text.rindex("1 done, 0 failing")
    assert "cases done" not in text


def test_a_terminal_may_have_both_the_live_line_and_a_line_a_case() -> None:
    """Verbose is no reason to lose sight of the count."""
    text = shown(run(case(1), case(2, "fail"), end=1), tty=True, verbose=1)
    assert "1 done, 0 failing" in text
    assert "FAIL" in text[: text.index("rule" if "rule" in text else "2 cases")]


def test_a_killed_run_leaves_the_cursor_visible() -> None:
    """Nothing is left to clean up after a kill -9."""
    text = shown(run(case(1), end=None), tty=True)
    assert text.rindex("\x1b[?25h") > text.rindex("\x1b[?25l")


def test_no_colour_leaves_bold() -> None:
    """NO_COLOR asks for that; rich reads it where the console is made."""
    stream = run(case(1), case(2, "fail"), end=1)
    codes = {
        colour: set(
            ";".join(re.findall(r"\x1b\[([\d;]*)m", shown(stream, tty=True, colour=colour))).split(
                ";"
            )
        )
        for colour in (True, False)
    }
    assert "31" in codes[True]
    assert codes[False] <= {"", "0", "1", "2"}


def test_forced_colours_do_not_make_a_log_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """CI systems set FORCE_COLOR, and cannot move a cursor."""
    monkeypatch.setattr("sys.stdout", io.StringIO())
    monkeypatch.setenv("FORCE_COLOR", "1")
    console = make_console()
    assert (console.is_terminal, console.is_interactive) == (True, False)


def test_a_terminal_is_recognised(monkeypatch: pytest.MonkeyPatch) -> None:
    """One with TERM=dumb cannot move its cursor either."""
    leader, follower = os.openpty()
    with os.fdopen(follower, "w") as terminal, os.fdopen(leader, "rb"):
        monkeypatch.setattr("sys.stdout", terminal)
        monkeypatch.setenv("TERM", "xterm")
        assert make_console().is_interactive
        monkeypatch.setenv("TERM", "dumb")
        assert not make_console().is_interactive


def test_the_console_is_made_when_the_run_starts(capsys: pytest.CaptureFixture[str]) -> None:
    """Before that pytest holds stdout, and the console would take it for a file."""
    screen = Screen(Options(interface="csi"))
    for event in run(case(1)):
        screen.show(event)
    assert capsys.readouterr().out.endswith("Conformant: the one MUST requirement is met.\n")
