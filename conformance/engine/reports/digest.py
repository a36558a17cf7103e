"""What every report needs to know of a stream: who was judged, and what became of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import attrs

from conformance.engine import events
from conformance.engine.events import CaseDone, End, Event, Outcome, Run
from conformance.engine.interfaces import ALL, INTERFACES, interface_of
from conformance.engine.reports.repeats import replay_line
from conformance.engine.reports.text import heading, one_line

Groups = dict[str, list[CaseDone]]
# How reports call an outcome: the case that had it, and a number of cases (one, many).
WORDS: dict[Outcome, tuple[str, str, str]] = {
    "pass": ("pass", "passed", "passed"),
    "fail": ("FAIL", "failed", "failed"),
    "warn": ("warning", "warning", "warnings"),
    "skip": ("skipped", "skipped", "skipped"),
    "xfail": ("known failure", "known failure", "known failures"),
    "xpass": ("UNEXPECTED PASS", "unexpected pass", "unexpected passes"),
    "error": ("ERROR", "suite error", "suite errors"),
}
# The order of importance, in which reports list them.
RANKED: tuple[Outcome, ...] = ("fail", "error", "xpass", "warn", "xfail", "skip", "pass")
# Outcomes that fail a run.
RED: tuple[Outcome, ...] = ("fail", "error", "xpass")
_CHOICES = ("only", "skip", "focus", "skip_re")


def also(done: CaseDone) -> list[tuple[str, str]]:
    """What else a case found, label and text: `also` a rule, `wanted` and `got` as far as they
    are told. A softer part of a MUST that fails says that it is one.
    """
    decides = done.level == "MUST" and done.outcome != "warn"
    return [
        (label, text)
        for each in done.also
        for label, text in (
            ("also", f"{each.rule} (SHOULD)" if each.soft and decides else each.rule),
            ("wanted", each.wanted),
            ("got", each.got),
        )
        if text
    ]


def headline(done: CaseDone, message: str, width: int) -> str:
    """A message on one line, cut where it is too long, but never so that it hides that there is
    more.
    """
    suffix = f" (and {len(done.also)} more)"
    more = suffix if message.endswith(suffix) else ""
    return one_line(message.removesuffix(more), max(width - len(more), 20)) + more


def plural(outcome: Outcome, number: int) -> str:
    """The word behind a number of cases: `failed`, `warning`, `warnings`."""
    return WORDS[outcome][1 if number == 1 else 2]


@attrs.frozen
class Digest:
    """A stream, sorted. `end` is None where the run was killed."""

    run: Run
    cases: tuple[CaseDone, ...]
    end: End | None

    @classmethod
    def of(cls, stream: Iterable[Event]) -> Digest:
        """Takes any stream; what a torn one lacks is shown as missing, not guessed."""
        run: Run | None = None
        end: End | None = None
        cases: list[CaseDone] = []
        for event in stream:
            if isinstance(event, Run):
                run = run or event
            elif isinstance(event, End):
                end = event
            else:
                cases.append(event)
        cases.sort(key=lambda done: (done.section, done.id))
        return cls(run or _NO_RUN, tuple(cases), end)

    @property
    def counts(self) -> dict[str, int]:
        """Cases by outcome, every outcome named."""
        return events.counts(self.cases)

    def having(self, *outcomes: Outcome) -> list[CaseDone]:
        """The cases that ended in one of these ways, by section and id."""
        return [done for done in self.cases if done.outcome in outcomes]

    def sections(self, *outcomes: Outcome) -> Groups:
        """The same under the headings of their sections."""
        return _grouped(self.having(*outcomes), lambda done: heading(done.section))

    def skips(self) -> Groups:
        """Skipped cases by reason, the reason that costs most first."""
        groups = _grouped(self.having("skip"), lambda done: one_line(done.message) or "no reason")
        return dict(sorted(groups.items(), key=lambda group: -len(group[1])))

    def interface(self, done: CaseDone) -> str:
        """The interface of a case: the run's, or by its id where a run judged them all."""
        named = self.run.interface
        return named if named not in ("", ALL) else interface_of(done.id)

    def repeats(self, done: CaseDone) -> list[tuple[str, str]]:
        """The lines that show a finding again, each with its label: with us, and without us what
        repeats its last call, where that can work."""
        if done.outcome not in ("fail", "warn", "xfail", "error"):
            return []
        lines = [("replay", replay_line(self.run, done)), ("last call", done.reproduce)]
        return [(label, line) for label, line in lines if line]

    @property
    def subject(self) -> str:
        """`CSI`, or what to call a run over several interfaces."""
        named = self.run.interface
        if named in ("", ALL):
            return "Node interface"
        return INTERFACES[named].heading if named in INTERFACES else named.upper()

    @property
    def musts(self) -> tuple[int, int]:
        """Of the MUST requirements: how many are met, how many were judged.

        Skipped ones were not judged. A known failure is not met; a warning is, since the softer
        half of a MUST is no MUST. A case that broke in the suite is not known to be met.
        """
        judged = [done for done in self.cases if done.level == "MUST" and done.outcome != "skip"]
        met = [done for done in judged if done.outcome in ("pass", "xpass", "warn")]
        return len(met), len(judged)

    @property
    def choices(self) -> str:
        """The options that left cases out, as on a command line; empty for a whole run."""
        return " ".join(
            f"--{name.replace('_', '-')} {one_line(str(value))}"
            for name in _CHOICES
            if name in self.run.config
            for value in _listed(self.run.config[name])
        )


_NO_RUN = Run(interface="", target="", revision="", suite="", seed=0, started=0, config={})


def _listed(value: object) -> list[object]:
    return list(value) if isinstance(value, list | tuple) else [value]


def _grouped(cases: Iterable[CaseDone], key: Callable[[CaseDone], str]) -> Groups:
    groups: Groups = {}
    for done in cases:
        groups.setdefault(key(done), []).append(done)
    return groups
