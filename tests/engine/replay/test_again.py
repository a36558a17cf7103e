"""When a finding has shown again."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.engine.events import Breach, CaseDone, Run
from conformance.engine.replay.again import Again
from conformance.engine.replay.recorded import Recorded

RULE = "a volume published at /tmp/refimpl-r/refimpl-ab_c/x is told"
RUN = Run(interface="csi", target="x", revision="", suite="0", seed=1, started=0, config={})


def done(outcome: Any = "fail", message: str = RULE, **facts: Any) -> CaseDone:
    """A case as it ended."""
    return CaseDone(
        id="CSI-LV-001", level="MUST", outcome=outcome, duration_s=0, message=message, **facts
    )


def again(then: CaseDone, now: CaseDone | None) -> Again:
    """What came of it on another run."""
    return Again(Recorded(RUN, then, ()), "x", now, 0)


OTHER = "no such rule"
SIGHTS = [
    (done(), done(message=RULE.replace("ab_c", "xy_z")), "again"),
    (done(message=f"{RULE} (and 2 more)"), done("warn"), "again"),
    (done(), done(message=OTHER, also=[Breach(rule=RULE)]), "again"),
    (done(), done(message=f"{RULE}\nthe target died and was started again: x"), "again"),
    (done(), done(message=OTHER), "otherwise"),
    (done("xfail", "known: it is old", wanted="A"), done(wanted="A"), "again"),
    (done("xfail", "known: it is old", wanted="A"), done(wanted="B"), "otherwise"),
    (done("error", "KeyError: 'x'"), done("error", "KeyError: 'x'"), "again"),
    (done(), done("error", "KeyError: 'x'"), "otherwise"),
    (done(), done("pass", ""), "passes"),
    (done(), done("skip", "it has no list"), "skipped"),
    (done(), None, "none"),
]


@pytest.mark.parametrize(("then", "now", "sight"), SIGHTS)
def test_it_is_the_rule_that_has_to_be_broken_again(
    then: CaseDone, now: CaseDone | None, sight: str
) -> None:
    """Names differ, and another failure of the case is another finding."""
    assert again(then, now).sight == sight


def call(method: str, **request: Any) -> dict[str, Any]:
    """A call on record."""
    return {"method": method, "requests": [request]}


def test_the_calls_that_were_made_again_are_counted_in_their_order() -> None:
    """By method and request, but for names; more calls between them do no harm."""
    then = [call("A", id="vol-1", n=1), call("B", b={"y": "1", "x": "2"}), call("C", n=2)]
    now = [call("A", id="vol-77", n=1), call("X"), call("B", b={"x": "5", "y": "6"})]
    assert again(done(calls=then), done(calls=[*now, call("C", n=2)])).played == 3
    assert again(done(calls=then), done(calls=[*now, call("C", n=3)])).played == 2
    assert again(done(calls=then), done(calls=now[::-1])).played == 1
