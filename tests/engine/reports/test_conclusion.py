"""One sentence for every way a run can end."""

from typing import Any

import pytest

from conformance.engine.options import (
    CONFORMANT,
    INTERNAL,
    INTERRUPTED,
    NOT_CONFORMANT,
    NOTHING_SELECTED,
    UNREACHABLE,
    USAGE,
)
from conformance.engine.reports.conclusion import conclude, facts, tally
from conformance.engine.reports.digest import Digest

ENDINGS = [
    (CONFORMANT, ["pass"] * 3, "good", "Conformant: all 3 MUST requirements are met"),
    (CONFORMANT, ["pass"], "good", "Conformant: the one MUST requirement is met"),
    (
        CONFORMANT,
        ["pass", "pass", "warn"],
        "good",
        "Conformant: all 3 MUST requirements are met, with 1 warning",
    ),
    (
        CONFORMANT,
        ["pass", "xfail"],
        "good",
        "Conformant but for 1 known failure: 1 of 2 MUST requirements are met",
    ),
    (CONFORMANT, ["skip"] * 2, "open", "Nothing was judged: all 2 cases were skipped"),
    (CONFORMANT, [], "open", "Nothing was judged"),
    (NOT_CONFORMANT, ["pass", "fail"], "bad", "Not conformant: 1 of 2 MUST requirements fails"),
    (
        NOT_CONFORMANT,
        ["pass", "xpass"],
        "bad",
        "Expectations are out of date: 1 known failure passes now",
    ),
    (NOT_CONFORMANT, ["pass"], "bad", "Expectations are out of date: an entry matches nothing"),
    (INTERRUPTED, ["pass"], "open", "Interrupted after 1 case; so far nothing failed"),
    (INTERNAL, ["pass", "error"], "open", "No verdict: 1 case broke in the suite itself"),
    (
        INTERNAL,
        ["fail", "error"],
        "bad",
        "Not conformant: 1 of 2 MUST requirements fails, and 1 case broke in the suite itself",
    ),
    (INTERNAL, [], "open", "No verdict: the suite broke"),
    (USAGE, [], "open", "No verdict: the run could not start"),
    (NOTHING_SELECTED, [], "open", "Nothing was judged: no case matches what was selected"),
    (UNREACHABLE, [], "open", "No verdict: the target is out of reach: it does not answer"),
    (
        UNREACHABLE,
        ["pass", "fail"],
        "open",
        "Unfinished: the target was lost after 2 cases; so far 1 of 2 MUST requirements fails",
    ),
    (
        None,
        ["pass"],
        "open",
        "Unfinished: the run was cut short after 1 case; so far nothing failed",
    ),
]


@pytest.mark.parametrize(("code", "outcomes", "sign", "sentence"), ENDINGS)
def test_every_ending_has_its_sentence(
    sample: Any, case: Any, code: int | None, outcomes: list[str], sign: str, sentence: str
) -> None:
    """Only exit code 0 with something judged may read as conformant."""
    cases = [case(number, outcome) for number, outcome in enumerate(outcomes)]
    conclusion = conclude(Digest.of(sample(end=code, only=cases)))
    assert (conclusion.sign, conclusion.sentence) == (sign, sentence)


def test_softer_requirements_fail_under_their_own_name(sample: Any, case: Any) -> None:
    """With --strict a SHOULD fails the run, yet it stays a SHOULD."""
    cases = [case(1, "fail"), case(2, "fail"), case(3, "fail", "SHOULD")]
    sentence = conclude(Digest.of(sample(end=1, only=cases))).sentence
    assert sentence == (
        "Not conformant: 2 of 2 MUST requirements fail and 1 SHOULD or MAY requirement fails"
    )


@pytest.mark.parametrize(
    ("code", "start"), [(0, "Conformant in this selection"), (1, "Not conformant in this")]
)
def test_a_verdict_on_a_selection_says_so(sample: Any, case: Any, code: int, start: str) -> None:
    """`--only CSI-ID-*` proves nothing about the rest."""
    cases = [case(1), case(2, "fail" if code else "pass")]
    stream = sample(end=code, only=cases, config={"only": ["CSI-ID-*"]})
    assert conclude(Digest.of(stream)).sentence.startswith(start)


def test_the_message_of_the_end_is_told(sample: Any, case: Any) -> None:
    """It says which expectation matched nothing, or why the target is gone."""
    conclusion = conclude(
        Digest.of(sample(end=1, only=[case(1)], message="CSI-X-001 matched nothing"))
    )
    assert conclusion.note == "CSI-X-001 matched nothing"
    lost = sample(end=6, only=[], message="the run ended early: nobody listens")
    assert conclude(Digest.of(lost)).sentence.endswith("out of reach: nobody listens")


def test_facts_identify_the_run(sample: Any) -> None:
    """A report without target, revision and seed cannot be repeated."""
    conclusion = dict(facts(Digest.of(sample(config={"level": "must", "focus": "snapshot"}))))
    assert conclusion == {
        "Target": "hostpath 1.17.0 at unix:///run/csi/csi.sock",
        "Revision": "csi-1.13",
        "Started": "2025-10-09 08:53:20 UTC",
        "Took": "1 min 23 s",
        "Suite": "0.1.0",
        "Seed": "4021",
        "Level": "MUST only",
        "Selection": "--focus snapshot",
    }


def test_the_tally_names_what_happened_only(sample: Any, case: Any) -> None:
    """A row of zeros hides the one number that matters."""
    cases = [case(1), case(2, "warn"), case(3, "xpass"), case(4, "fail")]
    assert tally(Digest.of(sample(only=cases))) == (
        "1 failed, 1 unexpected pass, 1 warning, 1 passed"
    )
    assert tally(Digest.of(sample(only=[]))) == "no case"
