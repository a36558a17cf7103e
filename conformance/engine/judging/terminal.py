"""What a run shows while it runs: a live line on a terminal, now and then a line in a log."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from conformance.engine.events import CaseDone, Event, Run
from conformance.engine.options import Options
from conformance.engine.reports.console import STYLES, Printer, summary, verdict
from conformance.engine.reports.digest import RED, WORDS, Digest
from conformance.engine.reports.text import duration, one_line

if TYPE_CHECKING:
    from rich.console import Console
    from rich.live import Live

_EVERY = 50  # cases between two lines in a log
_REDRAW_S = 0.1


class Screen:
    """Draws the events of one run, each as it comes; how many there will be is not known."""

    def __init__(self, options: Options, console: Console | None = None) -> None:
        self._options = options
        self._console = console
        self._seen: list[Event] = []
        self._done = self._failing = 0
        self._live: Live | None = None
        self._drawn = 0.0

    def show(self, event: Event) -> None:
        """Takes the next event; the end record makes the summary."""
        self._seen.append(event)
        console = self._console = self._console or make_console()
        if isinstance(event, Run):
            self._begin(event, console)
        elif isinstance(event, CaseDone):
            self._case(event, console)
        else:
            self._end(console)

    def _begin(self, run: Run, console: Console) -> None:
        if self._options.quiet:
            return
        facts = [run.target, run.revision, f"seed {run.seed}"]
        Printer(console).line((", ".join(fact for fact in facts if fact), "bold"))
        if console.is_interactive:
            from rich.live import Live

            # Drawn by ourselves: a thread and a hidden cursor would outlive a killed run.
            self._live = Live(
                console=console,
                auto_refresh=False,
                transient=True,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self._live.start()
            console.show_cursor(True)

    def _case(self, done: CaseDone, console: Console) -> None:
        self._done += 1
        self._failing += done.outcome in RED
        if self._options.quiet:
            return
        if self._options.verbose:
            _line(done, Printer(console))
        if self._live:
            self._draw(done, console)
        elif not self._options.verbose and self._done % _EVERY == 0:
            Printer(console).line((f"{self._done} cases done, {self._failing} failing", ""))

    def _draw(self, done: CaseDone, console: Console) -> None:
        now = time.monotonic()
        if not self._live or now - self._drawn < _REDRAW_S:
            return
        from rich.text import Text

        self._drawn = now
        state = f"{self._done} done, {self._failing} failing  {done.id} {done.title}"
        style = "red" if self._failing else "green"
        line = Text(one_line(state, console.width - 1), style, no_wrap=True, overflow="crop")
        self._live.update(line, refresh=True)

    def _end(self, console: Console) -> None:
        if self._live:
            self._live.stop()
            self._live = None
        digest = Digest.of(self._seen)
        if self._options.quiet:
            verdict(digest, console)
            return
        summary(
            digest,
            console,
            verbose=self._options.verbose,
            report_dir=self._options.report_dir,
        )


def make_console() -> Console:
    """A console on stdout: live only on a terminal that can move its cursor, whatever FORCE_COLOR
    says. To be made when the run starts, since pytest captures stdout before that."""
    import os
    import sys

    from rich.console import Console

    alive = sys.stdout.isatty() and os.environ.get("TERM", "") not in ("", "dumb")
    return Console(highlight=False, markup=False, emoji=False, force_interactive=alive)


def _line(done: CaseDone, out: Printer) -> None:
    """`pass  CSI-CTRL-019 title  12 ms`, as wide as the console at most."""
    took = duration(done.duration_s)
    word = f"{WORDS[done.outcome][0]:<15} "
    room = max(out.width - len(word) - len(done.id) - len(took) - 3, 10)
    title = one_line(done.title, room).ljust(room)
    out.line((word, STYLES[done.outcome]), (f"{done.id} {title}  ", ""), (took, "dim"))
