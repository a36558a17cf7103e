"""The verdict on a run in one sentence somebody can act on, and the facts that go with it."""

from __future__ import annotations

import datetime
from typing import Literal

import attrs

from conformance.engine.options import (
    CONFORMANT,
    INTERRUPTED,
    NOT_CONFORMANT,
    NOTHING_SELECTED,
    UNREACHABLE,
    USAGE,
)
from conformance.engine.reports.digest import RANKED, Digest, plural
from conformance.engine.reports.text import count, duration, one_line


@attrs.frozen
class Conclusion:
    """sign: `good` and `bad` are verdicts, `open` says that the run came to none."""

    sign: Literal["good", "bad", "open"]
    sentence: str
    note: str = ""


def conclude(digest: Digest) -> Conclusion:
    """The verdict. A run that was cut short never counts as conformant."""
    if digest.end is None:
        text = f"Unfinished: the run was cut short after {_cases(digest)}; {_so_far(digest)}"
        return Conclusion("open", text)
    code, note = digest.end.exit_code, one_line(digest.end.message)
    if code == CONFORMANT:
        return _good(digest, note)
    if code == NOT_CONFORMANT:
        return Conclusion("bad", _bad(digest), note)
    if code == INTERRUPTED:
        text = f"Interrupted after {_cases(digest)}; {_so_far(digest)}"
        return Conclusion("open", text, note)
    if code == NOTHING_SELECTED:
        return Conclusion("open", "Nothing was judged: no case matches what was selected", note)
    if code == UNREACHABLE:
        return _lost(digest, note.removeprefix("the run ended early: ") or "it does not answer")
    if code == USAGE:
        return Conclusion("open", "No verdict: the run could not start", note)
    return _broken(digest, note)


def facts(digest: Digest) -> list[tuple[str, str]]:
    """What identifies the run, as name and value; empty values are left out."""
    run, end = digest.run, digest.end
    rows = {
        "Target": run.target,
        "Revision": run.revision,
        "Started": _date(run.started),
        "Took": duration(end.duration_s) if end else "unknown: the run was cut short",
        "Suite": run.suite,
        "Seed": str(run.seed),
        "Level": {"must": "MUST only", "should": "MUST and SHOULD"}.get(
            str(run.config.get("level", "")), ""
        ),
        "Selection": digest.choices,
    }
    return [(name, one_line(value)) for name, value in rows.items() if value]


def tally(digest: Digest) -> str:
    """`7 failed, 3 warnings, 221 passed`, what never happened left out."""
    counts = digest.counts
    parts = [f"{counts[name]} {plural(name, counts[name])}" for name in RANKED if counts[name]]
    return ", ".join(parts) or "no case"


def _good(digest: Digest, note: str) -> Conclusion:
    met, judged = digest.musts
    if not any(done.outcome != "skip" for done in digest.cases):
        text = f"Nothing was judged: all {_cases(digest)} were skipped"
        return Conclusion("open", text if digest.cases else "Nothing was judged", note)
    where = " in this selection" if digest.choices else ""
    if not judged:
        text = f"Nothing failed{where}, but no MUST requirement was judged"
        return Conclusion("good", text, note)
    if met == judged:
        text = f"Conformant{where}: {_all(judged)} met"
    else:
        known = count(judged - met, "known failure")
        text = f"Conformant{where} but for {known}: {met} of {judged} MUST requirements are met"
    warned = digest.counts["warn"]
    return Conclusion("good", text + (f", with {count(warned, 'warning')}" if warned else ""), note)


def _bad(digest: Digest) -> str:
    failed = _failed(digest)
    if failed:
        where = " in this selection" if digest.choices else ""
        return f"Not conformant{where}: {failed}"
    if digest.counts["xpass"]:
        passes = count(digest.counts["xpass"], "known failure passes", "known failures pass")
        return f"Expectations are out of date: {passes} now"
    return "Expectations are out of date: an entry matches nothing"


def _broken(digest: Digest, note: str) -> Conclusion:
    errors = digest.counts["error"]
    what = f"{count(errors, 'case')} broke in the suite itself" if errors else "the suite broke"
    failed = _failed(digest)
    if failed:
        return Conclusion("bad", f"Not conformant: {failed}, and {what}", note)
    return Conclusion("open", f"No verdict: {what}", note)


def _lost(digest: Digest, reason: str) -> Conclusion:
    if not digest.cases:
        return Conclusion("open", f"No verdict: the target is out of reach: {reason}")
    text = f"Unfinished: the target was lost after {_cases(digest)}; {_so_far(digest)}"
    return Conclusion("open", text, reason)


def _failed(digest: Digest) -> str:
    """`7 of 231 MUST requirements fail`, empty when nothing failed."""
    failed = digest.having("fail")
    musts = sum(done.level == "MUST" for done in failed)
    verb = "fails" if musts == 1 else "fail"
    parts = [f"{musts} of {digest.musts[1]} MUST requirements {verb}"] if musts else []
    if len(failed) > musts:
        softer = count(len(failed) - musts, "SHOULD or MAY requirement")
        parts.append(f"{softer} {'fails' if len(failed) - musts == 1 else 'fail'}")
    return " and ".join(parts)


def _so_far(digest: Digest) -> str:
    return f"so far {_failed(digest) or 'nothing failed'}"


def _all(judged: int) -> str:
    return f"all {judged} MUST requirements are" if judged > 1 else "the one MUST requirement is"


def _cases(digest: Digest) -> str:
    return count(len(digest.cases), "case")


def _date(epoch: float) -> str:
    if not epoch:
        return ""
    moment = datetime.datetime.fromtimestamp(epoch, datetime.UTC)
    return moment.strftime("%Y-%m-%d %H:%M:%S UTC")
