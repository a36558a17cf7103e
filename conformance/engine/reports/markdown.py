"""Markdown for the summary page of a CI job (GitHub's step summary, a merge request note)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from conformance.engine.events import CaseDone, Event
from conformance.engine.reports.calls import Call
from conformance.engine.reports.conclusion import conclude, facts
from conformance.engine.reports.digest import RANKED, Digest, also, headline, plural
from conformance.engine.reports.text import capped, count, one_line, printable

# A step summary above 1 MiB is refused whole, so details end well before.
_BUDGET = 600_000
_LISTED = 300
_SIGNS = {"good": "✅", "bad": "❌", "open": "⚠️"}
_SPECIAL = re.compile(r"([\\`*_\[\]#|~$]|:(?=//))")


def markdown(stream: Iterable[Event]) -> str:
    """The report: verdict, counts, a line a failure, and the rest in collapsible parts."""
    digest = Digest.of(stream)
    conclusion = conclude(digest)
    lines = [
        f"## {_text(digest.subject)} conformance",
        "",
        f"{_SIGNS[conclusion.sign]} **{_text(conclusion.sentence)}.**",
        "",
    ]
    if conclusion.note:
        lines += [f"> {_text(conclusion.note)}", ""]
    lines += _facts(digest)
    lines += _counts(digest)
    lines += _listed(digest, ("fail",), "Failures")
    lines += _listed(digest, ("error",), "Errors in the suite itself")
    lines += _listed(digest, ("xpass",), "Known failures that pass now")
    lines += _details(digest)
    lines += _folded("Warnings", [_line(done) for done in digest.having("warn")])
    lines += _folded("Known failures", [_line(done) for done in digest.having("xfail")])
    lines += _folded("Skipped: what the target would have to offer", list(_skips(digest)))
    return "\n".join(lines)


def _facts(digest: Digest) -> list[str]:
    return [f"{' · '.join(f'{name}: {_code(value)}' for name, value in facts(digest))}", ""]


def _counts(digest: Digest) -> list[str]:
    """A table: outcomes by level, what never happened left out."""
    levels = [name for name in ("MUST", "SHOULD", "MAY") if _level(digest, name)]
    rows = [f"| | {' | '.join([*levels, 'all'])} |", f"|---|{'---:|' * (len(levels) + 1)}"]
    for outcome in RANKED:
        cases = digest.having(outcome)
        if cases:
            cells = [str(sum(done.level == name for done in cases)) for name in levels]
            rows.append(f"| {' | '.join([plural(outcome, 2), *cells, str(len(cases))])} |")
    return [*rows, ""] if digest.cases else []


def _level(digest: Digest, name: str) -> list[CaseDone]:
    return [done for done in digest.cases if done.level == name]


def _listed(digest: Digest, outcomes: tuple[str, ...], title: str) -> list[str]:
    cases = [done for done in digest.cases if done.outcome in outcomes]
    if not cases:
        return []
    lines = [f"- {_line(done)}" for done in cases[:_LISTED]]
    if len(cases) > _LISTED:
        lines.append(f"- and {len(cases) - _LISTED} more, see report.html")
    return [f"### {title} ({len(cases)})", "", *lines, ""]


def _line(done: CaseDone) -> str:
    message = headline(done, done.message, 200)
    text = f": {_text(message)}" if message and message != done.title else ""
    return f"**{_text(done.id)}** ({_text(done.level)}) {_text(done.title)}{text}"


def _details(digest: Digest) -> list[str]:
    """A collapsed part a failure, as many as the page may hold."""
    lines: list[str] = []
    size = 0
    cases = digest.having("fail", "error")
    for number, done in enumerate(cases):
        part = _detail(digest, done)
        size += sum(len(line.encode("utf-8", "replace")) + 1 for line in part)
        if size > _BUDGET:
            left = count(len(cases) - number, "failure")
            return [*lines, f"Details of {left} more are in report.html.", ""]
        lines += part
    return lines


def _detail(digest: Digest, done: CaseDone) -> list[str]:
    body = [
        f"{name} {capped(value, 2_000)}"
        for name, value in (
            ("rule:     ", done.message),
            ("why:      ", one_line(done.why)),
            ("source:   ", done.source),
            ("wanted:   ", done.wanted),
            ("got:      ", done.got),
            *((f"{label}:".ljust(10), text) for label, text in also(done)),
        )
        if value
    ]
    body += [f"calls:     {text}" for text in filter(None, [Call.earlier(done)])]
    body += [f"call:      {call.line(300)}" for call in Call.last(done)]
    body += [f"{f'{label}:':10} {one_line(line)}" for label, line in digest.repeats(done)]
    summary = f"<summary><b>{_html(done.id)}</b> {_html(done.title)}</summary>"
    return ["<details>", summary, "", *_fenced("\n".join(body)), "", "</details>", ""]


def _skips(digest: Digest) -> Iterator[str]:
    for reason, cases in digest.skips().items():
        ids = ", ".join(done.id for done in cases)
        yield f"{_text(reason)} ({count(len(cases), 'case')}: {_text(one_line(ids, 200))})"


def _folded(title: str, lines: list[str]) -> list[str]:
    if not lines:
        return []
    shown = [f"- {line}" for line in lines[:_LISTED]]
    if len(lines) > _LISTED:
        shown.append(f"- and {len(lines) - _LISTED} more, see report.html")
    summary = f"<summary>{_html(title)} ({len(lines)})</summary>"
    return ["<details>", summary, "", *shown, "", "</details>", ""]


def _text(text: str) -> str:
    """Text that stays text in Markdown: no markup, no HTML, no mention, no link."""
    escaped = _SPECIAL.sub(r"\\\1", _html(text))
    # An underscore within a word is none of Markdown's business, and common in names of statuses.
    return re.sub(r"(?<=\w)\\_(?=\w)", "_", escaped)


def _html(text: str) -> str:
    escaped = one_line(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return escaped.replace("@", "@<!-- -->")  # an @ by itself mentions nobody


def _code(text: str) -> str:
    """A code span; its fence is longer than any run of backticks inside."""
    line = one_line(text)
    fence = "`" * (_longest(line) + 1)
    pad = " " if "`" in line else ""
    return f"{fence}{pad}{line}{pad}{fence}"


def _fenced(text: str) -> list[str]:
    fence = "`" * max(3, _longest(text) + 1)
    return [f"{fence}text", printable(text), fence]


def _longest(text: str) -> int:
    return max((len(run) for run in re.findall("`+", text)), default=0)
