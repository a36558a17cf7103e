"""A finding looked for once more: its case judges a fresh target by the calls of the run.

A case draws nothing but names, and by the run's seed, so it makes the same calls in the same order;
which of the recorded ones came is counted and told. It judges more than replies: mounts, links,
files, a process that dies.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import attrs

from conformance.engine import run
from conformance.engine.events import CaseDone, Event, Run
from conformance.engine.judging.session import Listener
from conformance.engine.options import Options
from conformance.engine.replay.recorded import Recorded

__all__ = ["Again", "look_again"]

Sight = Literal["again", "otherwise", "passes", "skipped", "none"]

_MORE = re.compile(r" \(and \d+ more\)$")
# What differs between two runs: names and addresses that hold a digit, and temporary folders.
_OF_A_RUN = re.compile(r"(?<=/tmp/)[^/\s\"']+|\brefimpl-[\w.-]+|[\w.:+-]*\d[\w.:+-]*")


@attrs.frozen
class Again:
    """What came of it. target: as the new run names it. done: the case there, None where it was
    not judged. exit_code: of the run. tries: how often the case was judged."""

    recorded: Recorded
    target: str
    done: CaseDone | None
    exit_code: int
    tries: int = 1

    @property
    def sight(self) -> Sight:
        """Whether the finding shows again, another one does, or none."""
        if self.done is None:
            return "none"
        if self.done.outcome == "skip":
            return "skipped"
        if self.done.outcome == "pass":
            return "passes"
        return "again" if _same(self.recorded.done, self.done) else "otherwise"

    @property
    def played(self) -> int:
        """How many of the recorded calls were made, in their order."""
        calls = iter(_shapes(self.done.calls if self.done else ()))
        return sum(shape in calls for shape in _shapes(self.recorded.done.calls))


def look_again(recorded: Recorded, options: Options, times: int = 1) -> Again:
    """Judges the case, so often at most until it fails, each time on a fresh target; raises
    BadOption and Unreachable as a run does."""
    for number in range(1, times + 1):
        again = attrs.evolve(_judged(recorded, options), tries=number)
        if again.sight != "passes":
            break
    return again


def _judged(recorded: Recorded, options: Options) -> Again:
    seen: list[Event] = []
    code = run.run(options, plugins=[Listener(seen.append)])
    target = next((event.target for event in seen if isinstance(event, Run)), "")
    ends = (event for event in seen if isinstance(event, CaseDone))
    done = next((event for event in ends if event.id == recorded.done.id), None)
    return Again(recorded, target, done, code)


def _same(then: CaseDone, now: CaseDone) -> bool:
    """Whether a rule that was broken then is broken now. A known failure tells its reason in the
    place of the rule, so there it is what was wanted."""
    if then.outcome == "xfail":
        return _plain(then.wanted) == _plain(now.wanted)
    return bool(_rules(then) & _rules(now))


def _rules(done: CaseDone) -> set[str]:
    message = done.message.partition("\nthe target ")[0]
    return {_plain(_MORE.sub("", text)) for text in (message, *(each.rule for each in done.also))}


def _plain(text: str) -> str:
    return _OF_A_RUN.sub("#", " ".join(text.split()))


def _shapes(calls: Iterable[dict[str, Any]]) -> Sequence[str]:
    """Calls as far as they are the same in every run."""
    return [f"{call.get('method')} {_text(call.get('requests'))}" for call in calls]


def _text(requests: Any) -> str:
    # Sorted: the entries of a map come in any order.
    return json.dumps(_without_names(requests), sort_keys=True)


def _without_names(value: Any) -> Any:
    if isinstance(value, str):
        return _plain(value)
    if isinstance(value, dict):
        return {_plain(key): _without_names(each) for key, each in value.items()}
    return [_without_names(each) for each in value] if isinstance(value, list) else value
