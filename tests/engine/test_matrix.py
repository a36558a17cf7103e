"""The suite against deliberately broken fakes; `tox -e mutants` runs all of it."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any, ClassVar

import pytest

from conformance.engine import matrix, mutants
from conformance.engine.events import Breach, CaseDone
from conformance.engine.mutants import Mutant, fates
from conformance.engine.mutants.fates import Verdicts


class Harmless(Mutant):
    """Does nothing."""

    kills = frozenset({"CSI-LV-001"})
    nodes = 2
    shaped_by = ("nodes",)


def verdicts(exit_code: int = 0, **outcomes: str) -> Verdicts:
    """What the suite said, by case."""
    named = {name.replace("_", "-"): outcome for name, outcome in outcomes.items()}
    return Verdicts(named, {id: f"why {id}" for id in named}, exit_code, 1.0)


# One case stands for the whole suite against the whole fake.
SHORT = """
from conformance.engine import matrix

judge = matrix.judge
matrix.judge = lambda interface, target, only: judge(interface, target, only or ["CSI-LV-001"])
raise SystemExit(matrix.main(["ForgetsReadOnly", "-i", "csi", "-n", "2"]))
"""


def test_a_mutant_dies_of_what_it_names() -> None:
    """Each is judged in a forked process, so this one must know nothing of gRPC yet."""
    done = subprocess.run(
        [sys.executable, "-c", SHORT], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "dies     ForgetsReadOnly" in done.stdout
    assert "every mutant dies of what it names" in done.stdout


def test_an_unknown_mutant_is_no_success(capsys: pytest.CaptureFixture[str]) -> None:
    """A typing error would prove nothing and look like a proof."""
    with pytest.raises(SystemExit) as ended:
        matrix.main(["ForgetReadOnly"])
    assert ended.value.code == 2
    assert "no mutant called ForgetReadOnly" in capsys.readouterr().err


@pytest.mark.parametrize("outcome", ["pass", "xfail"])
def test_a_mutant_that_survives_is_reported(outcome: str) -> None:
    """With what became of the case."""
    result = verdicts(CSI_LV_001=outcome)
    (sentence,) = fates.wrong("Harmless", Harmless, result).values()
    assert sentence == f"Harmless survives CSI-LV-001 ({outcome} why CSI-LV-001)"
    assert "SURVIVES" in fates.row("Harmless", Harmless, result)


@pytest.mark.parametrize("outcome", ["fail", "warn", "error"])
def test_whatever_notices_is_a_killer(outcome: str) -> None:
    """Others that notice are shown beside those named."""
    more = verdicts(1, **{f"CSI_LV_00{number}": outcome for number in range(1, 8)})
    assert fates.wrong("Harmless", Harmless, more) == {}
    shown = fates.row("Harmless", Harmless, more)
    assert "(+ 6: CSI-LV-002 CSI-LV-003 CSI-LV-004 CSI-LV-005 …)" in shown


@pytest.mark.parametrize(
    ("again", "lines", "said"),
    [
        ("fail", [], "flaky kill: Harmless survives CSI-LV-001"),
        ("pass", ["Harmless survives CSI-LV-001 (pass why CSI-LV-001)"], "- Harmless survives"),
    ],
)
def test_who_survives_is_judged_once_more(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    again: str,
    lines: Any,
    said: str,
) -> None:
    """One that dies then had luck, and is told apart from what is wrong."""
    rounds = iter([[verdicts(), verdicts(CSI_LV_001="pass")], [verdicts(CSI_LV_001=again)]])
    monkeypatch.setattr(matrix, "judge_all", lambda *_: iter(next(rounds)))
    monkeypatch.setattr(mutants, "classes", lambda _: {"Harmless": Harmless})
    monkeypatch.setattr(matrix, "_unbroken", lambda *_: [])
    assert matrix.check("csi", ["Harmless"], 1, False) == lines
    *told, last = capsys.readouterr().out.splitlines()
    assert "it is judged once more at the end" in told[-1]
    assert last.startswith(said)


def test_a_breach_that_hides_another_is_reported() -> None:
    """A mutant with two breaches of one case dies of the first; both have to be told."""

    class Twice(Harmless):
        tells: ClassVar = {"CSI-LV-001": ("why CSI-LV", "why not")}

    (sentence,) = fates.wrong("Twice", Twice, verdicts(1, CSI_LV_001="fail")).values()
    assert sentence == "Twice: the finding of CSI-LV-001 does not tell of 'why not'"


def test_all_that_a_case_found_is_told() -> None:
    """Its message is that of the first breach."""
    also = [Breach(rule="the second"), Breach(rule="the third")]
    case = CaseDone(
        id="X-001", level="MUST", outcome="fail", duration_s=0, message="the first", also=also
    )
    assert matrix._rules(case) == "the first; the second; the third"


@pytest.mark.parametrize(
    ("result", "sentences"),
    [
        (verdicts(CSI_LV_001="pass"), []),
        (
            verdicts(1, CSI_LV_001="fail"),
            ["unbroken:Harmless fails CSI-LV-001: why CSI-LV-001"],
        ),
        (
            verdicts(3, CSI_LV_001="pass"),
            ["unbroken:Harmless: the suite did not come to its end (exit code 3)"],
        ),
    ],
)
def test_a_fake_that_nothing_was_done_to_has_to_be_well(result: Verdicts, sentences: Any) -> None:
    """A case that fails on it anyway would kill every mutant."""
    assert fates.sick(("csi", "unbroken:Harmless", ["CSI-LV-001"]), result) == sentences


def test_a_case_without_a_killer_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless a reason is on record, which has to be true."""
    reasons = {"CSI-LV-001": "r", "CSI-LV-002": "r"}
    monkeypatch.setattr(fates, "unkilled", lambda _: reasons)
    known = dict.fromkeys(["CSI-LV-001", "CSI-LV-002", "CSI-LV-003", "CSI-LV-004"])
    monkeypatch.setattr(fates.cases, "found", lambda _: known)
    assert fates.without_killer("csi", {"CSI-LV-002", "CSI-LV-004"}) == [
        "no mutant kills CSI-LV-003",
        "unkilled.toml lists CSI-LV-002, but a mutant kills it; remove the entry",
    ]


def test_shapes_are_judged_once() -> None:
    """For all mutants that break a fake of that shape; the usual one is judged as a whole."""

    class Small(Harmless):
        nodes = 1

    class Other(Small):
        kills = frozenset({"CSI-LV-002"})

    jobs = matrix._unbroken("csi", {"Harmless": Harmless, "Small": Small, "Other": Other})
    assert jobs == [("csi", "unbroken:Small", ["CSI-LV-001", "CSI-LV-002"])]


def test_a_run_that_dies_has_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not counted as one that noticed."""

    monkeypatch.setattr(matrix, "judge", lambda *_: os._exit(9))
    (verdict,) = matrix.judge_all([("csi", "fake", ())], 1)
    assert (verdict.killers, verdict.exit_code) == (set(), -1)


def test_fakes_are_those_that_can_be_served() -> None:
    """By one process, as cases that kill the driver need it; CNI plugins are files."""
    assert callable(matrix.fake_class("csi"))
    assert mutants.classes("csi")
