"""What became of mutants: which died, of what, and what is wrong about it."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Sequence

import attrs

from conformance.engine import cases, fixtures
from conformance.engine.interfaces import interface_of
from conformance.engine.mutants.mutant import Mutant
from conformance.engine.options import CONFORMANT

__all__ = [
    "ROOT",
    "Job",
    "Verdicts",
    "missed",
    "row",
    "sick",
    "unkilled",
    "without_killer",
    "wrong",
]

ROOT = os.geteuid() == 0
Job = tuple[str, str, Sequence[str]]
"""Interface, target, ids (none: all)."""
_KILLED = {"fail", "warn", "error"}


@attrs.frozen
class Verdicts:
    """What the suite said of one target: outcome and message by case id, and the exit code."""

    outcomes: dict[str, str]
    messages: dict[str, str]
    exit_code: int
    seconds: float

    @property
    def killers(self) -> set[str]:
        """The cases that noticed."""
        return {id for id, outcome in self.outcomes.items() if outcome in _KILLED}


def unkilled(interface: str) -> dict[str, str]:
    """Cases that no mutant can kill, each with its reason (fixtures/mutants/unkilled.toml)."""
    path = fixtures.folder() / "mutants" / "unkilled.toml"
    rows = tomllib.loads(path.read_text()).get("unkilled", [])
    return {row["id"]: row["reason"] for row in rows if interface_of(row["id"]) == interface}


def sick(job: Job, result: Verdicts) -> list[str]:
    """What is wrong with a fake that nothing was done to."""
    _, target, only = job
    lines = [f"{target} fails {id}: {result.messages.get(id)}" for id in sorted(result.killers)]
    if result.exit_code not in (CONFORMANT, *((1,) if lines else ())):
        lines.append(f"{target}: the suite did not come to its end (exit code {result.exit_code})")
    lines += [
        f"{target} skips {id}, so that its killer proves nothing: {result.messages.get(id)}"
        for id in only
        if result.outcomes.get(id) == "skip"
    ]
    return lines


def row(name: str, kind: type[Mutant], result: Verdicts) -> str:
    """The line of one mutant."""
    also = sorted(result.killers - set(kind.kills))
    fate = "SURVIVES" if missed(kind, result) else "dies"
    return f"{fate:9}{name:44} {' '.join(sorted(kind.kills))}{_also(also)}"


def missed(kind: type[Mutant], result: Verdicts) -> list[str]:
    """The cases it survived that it should have died of.

    Without root the cases about mounts are skipped, so what they would kill is left undecided.
    """
    skipped = {id for id, outcome in result.outcomes.items() if outcome == "skip"}
    return sorted(set(kind.kills) - result.killers - (set() if ROOT else skipped))


def wrong(name: str, kind: type[Mutant], result: Verdicts) -> dict[tuple[str, str], str]:
    """What it survived, and what findings do not tell of: a sentence by case and words."""
    sentences = {}
    for id in missed(kind, result):
        reason = f"{result.outcomes.get(id, 'not run')} {result.messages.get(id, '')}"
        sentences[id, ""] = f"{name} survives {id} ({reason.strip()})"
    for id in sorted(set(kind.tells) & result.killers):
        for words in kind.tells[id]:
            if words not in result.messages.get(id, ""):
                sentence = f"{name}: the finding of {id} does not tell of {words!r}"
                sentences[id, words] = sentence
    return sentences


def _also(ids: list[str]) -> str:
    return f"  (+ {len(ids)}: {' '.join(ids[:4])}{' …' if len(ids) > 4 else ''})" if ids else ""


def without_killer(interface: str, killed: set[str]) -> list[str]:
    explained, known = unkilled(interface), set(cases.found(interface))
    lines = [f"no mutant kills {id}" for id in sorted(known - killed - set(explained))]
    lines += [
        f"unkilled.toml lists {id}, but a mutant kills it; remove the entry"
        for id in sorted(set(explained) & killed)
    ]
    return lines
