"""The summary at the end of a run, for a terminal or a log, at most as wide as the console."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from conformance.engine.events import CaseDone, Outcome
from conformance.engine.reports.calls import Call
from conformance.engine.reports.conclusion import conclude, tally
from conformance.engine.reports.digest import RED, WORDS, Digest, also, headline
from conformance.engine.reports.text import capped, count, duration, one_line, printable

if TYPE_CHECKING:
    from rich.console import Console

STYLES: dict[Outcome, str] = {
    "pass": "green",
    "fail": "bold red",
    "error": "bold red",
    "xpass": "bold red",
    "warn": "yellow",
    "xfail": "magenta",
    "skip": "dim",
}
_SIGNS = {"good": "bold green", "bad": "bold red", "open": "bold yellow"}
_LABEL = 13  # columns in front of what a finding says: "  last call: "
_LONGEST = 1_000


class Printer:
    """Prints plain text in the console's width and encoding; nothing in it is taken for markup."""

    def __init__(self, console: Console) -> None:
        # Imported late: it takes longer than the rest of us together.
        from rich.text import Text

        self._console = console
        self._text = Text
        self.width = console.width

    def line(self, *parts: tuple[str, str], whole: bool = False) -> None:
        """One line of (text, style) parts, wrapped at the width unless it must stay `whole`."""
        words = self._text()
        for text, style in parts:
            words.append(self._shown(text), style)
        if whole:
            self._console.print(words, soft_wrap=True)
            return
        for row in words.wrap(self._console, self.width, overflow="fold"):
            row.rstrip()
            self._console.print(row, soft_wrap=True)

    def labelled(self, label: str, value: str) -> None:
        """`  label:   value`, the value wrapped and hanging; nothing for an empty value."""
        rest = self._text(self._shown(capped(value, _LONGEST)))
        head = f"  {label}:" if label else ""
        for row in rest.wrap(self._console, self.width - _LABEL, overflow="fold") if value else ():
            row.rstrip()
            self._console.print(self._text(head.ljust(_LABEL), "dim") + row, soft_wrap=True)
            head = ""

    def _shown(self, text: str) -> str:
        encoding = self._console.encoding
        return printable(text).encode(encoding, "backslashreplace").decode(encoding)


def summary(digest: Digest, console: Console, *, verbose: int = 0, report_dir: str = "") -> None:
    """Findings first, the verdict last, where eyes are when a command ends."""
    out = Printer(console)
    for outcome in RED:
        for done in digest.having(outcome):
            block(out, done, verbose, digest.repeats(done))
    _warnings(out, digest, verbose)
    _known(out, digest, verbose)
    _skips(out, digest, verbose)
    took = f" in {duration(digest.end.duration_s)}" if digest.end else ""
    if digest.cases:
        out.line((f"{count(len(digest.cases), 'case')}{took}: {tally(digest)}", ""))
    if report_dir:
        folder = report_dir.rstrip("/")
        out.line((f"reports: {folder}/report.html; JUnit, Markdown, badge, events beside it", ""))
    note = conclude(digest).note
    if note:
        out.line((note, "yellow"))
    verdict(digest, console)


def verdict(digest: Digest, console: Console) -> None:
    """The last line, and the only one of a quiet run."""
    conclusion = conclude(digest)
    Printer(console).line((f"{conclusion.sentence}.", _SIGNS[conclusion.sign]))


def block(
    out: Printer, done: CaseDone, verbose: int, repeats: Sequence[tuple[str, str]] = ()
) -> None:
    """One finding, whole. repeats: the lines that show it again, and their labels."""
    word = WORDS[done.outcome][0]
    out.line((f"{word} {done.level} {done.id}", STYLES[done.outcome]), (f" {done.title}", "bold"))
    out.labelled("rule", done.message if done.message != done.title else "")
    out.labelled("why", one_line(done.why) if verbose else "")
    out.labelled("source", done.source)
    out.labelled("wanted", done.wanted)
    out.labelled("got", done.got)
    for label, text in also(done):
        out.labelled(label, text)
    for number, call in enumerate(Call.last(done)):
        if not number:
            out.line((f"  calls:    {Call.earlier(done)}".rstrip(), "dim"))
        room = _LONGEST if verbose > 1 else out.width - 4
        out.line((f"    {call.line(room)}", ""))
    for label, line in repeats:
        out.line((f"  {label}:".ljust(_LABEL), "dim"), (line, ""), whole=True)
    out.line()


def _warnings(out: Printer, digest: Digest, verbose: int) -> None:
    cases = digest.having("warn")
    if verbose:
        for done in cases:
            block(out, done, verbose, digest.repeats(done))
    elif cases:
        out.line((f"Warnings ({len(cases)}, -v shows them whole)", "bold"))
        for done in cases:
            _brief(out, done, done.message or done.title)
        out.line()


def _known(out: Printer, digest: Digest, verbose: int) -> None:
    cases = digest.having("xfail")
    if cases:
        out.line((f"Known failures ({len(cases)}{'' if verbose else ', -v lists them'})", "bold"))
        for done in cases if verbose else ():
            _brief(out, done, done.message.removeprefix("known: "))
        out.line()


def _skips(out: Printer, digest: Digest, verbose: int) -> None:
    skips = digest.skips()
    if not skips:
        return
    out.line((f"Skipped ({digest.counts['skip']}), by what is missing", "bold"))
    for reason, cases in skips.items():
        out.line((f"{len(cases):>5}  {reason}", ""))
        if verbose:
            out.labelled("", ", ".join(done.id for done in cases))
    out.line()


def _brief(out: Printer, done: CaseDone, message: str) -> None:
    head = f"  {done.id} {done.level} "
    out.line((head, STYLES[done.outcome]), (headline(done, message, out.width - len(head)), ""))
