"""From what pytest saw to the verdict on a case, shown on a toy interface."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from refimpl.wire.client import Unreachable

Toy = Any  # the fixture of that name, in conftest.py


def test_each_way_to_end_has_its_outcome(toy: Toy) -> None:
    """A MUST fails, a SHOULD warns, a need unmet skips, a refusal where OK was due fails."""
    assert toy.run(toy.ONE_OF_EACH) == 1
    assert toy.outcomes == {
        "TOY-A-001": "pass",
        "TOY-A-002": "fail",
        "TOY-A-003": "warn",
        "TOY-A-004": "skip",
        "TOY-A-005": "warn",
        "TOY-A-006": "fail",
    }


def test_a_failure_tells_rule_wanted_and_got(toy: Toy) -> None:
    """Whoever reads the report has not read our code."""
    toy.run(toy.ONE_OF_EACH)
    broken = toy.cases["TOY-A-002"]
    assert (broken.message, broken.wanted, broken.got) == ("toys are whole", "a wheel", "no wheel")
    assert (broken.title, broken.level, broken.source) == ("a broken toy", "MUST", "toys 2")
    assert toy.cases["TOY-A-006"].got == "NOT_FOUND: no such toy"
    assert toy.cases["TOY-A-004"].message == "toys are off"
    assert toy.cases["TOY-A-001"].why == "It matters."


def test_checks_that_are_made_together_are_one_finding(toy: Toy) -> None:
    """Its outcome is that of the firmest; the stream and whoever listens have all of it."""
    toy.run(
        """
        @case("TOY-A-002", "toys 2")
        def test_a_toy_in_pieces(toy):
            with together() as check:
                with check:
                    should(False, "toys are new", wanted="new", got="old")
                for part in ("wheel", "string"):
                    with check:
                        expect(False, f"toys have a {part}", wanted=part, got="none")

        @case("TOY-A-001", "toys 1")
        def test_a_worn_toy(toy):
            with together() as check:
                for word in ("new", "red"):
                    with check:
                        should(False, f"toys are {word}", wanted=word, got="old")
        """
    )
    assert toy.outcomes == {"TOY-A-002": "fail", "TOY-A-001": "warn"}
    broken = toy.cases["TOY-A-002"]
    assert (broken.message, broken.got) == ("toys have a wheel (and 2 more)", "none")
    assert [(each.rule, each.soft) for each in broken.also] == [
        ("toys have a string", False),
        ("toys are new", True),
    ]


def test_strict_makes_failures_of_warnings(toy: Toy) -> None:
    """--strict is for who wants all of it."""
    assert toy.run(toy.ONE_OF_EACH, strict=True, only=("TOY-A-003", "TOY-A-005")) == 1
    assert set(toy.outcomes.values()) == {"fail"}


def test_warnings_alone_are_conformant(toy: Toy) -> None:
    """Exit code 0 means that every MUST holds."""
    assert toy.run(toy.ONE_OF_EACH, only=("TOY-A-001", "TOY-A-003")) == 0


def test_level_leaves_softer_requirements_out(toy: Toy) -> None:
    """--level must judges MUST rows only."""
    toy.run(toy.ONE_OF_EACH, level="must")
    assert "TOY-A-003" not in toy.outcomes


def test_focus_and_skip_look_at_ids_and_titles(toy: Toy) -> None:
    """As ginkgo's options do."""
    toy.run(toy.ONE_OF_EACH, focus="good", skip_re="half")
    assert list(toy.outcomes) == ["TOY-A-001"]


def test_nothing_selected_has_an_exit_code_of_its_own(toy: Toy) -> None:
    """A mistyped --only must not look like a success."""
    assert toy.run(toy.ONE_OF_EACH, only=("TOY-Z-*",)) == 5


_MISSING = """
    from conformance.engine.verdict import Unjudged, expect_status
    from refimpl.wire.status import Code, Refused

    def refuse(owner):
        raise Unjudged(Refused(Code.UNIMPLEMENTED, "no"), "Roll is not implemented", owner)

    @pytest.fixture
    def rolling():
        refuse("TOY-A-001")

    @case("TOY-A-001", "toys")
    def test_it_rolls(toy):
        expect_status(lambda: refuse("TOY-A-001"), {Code.OK}, "a toy rolls")

    @case("TOY-A-002", "toys")
    def test_it_rolls_far(toy):
        expect_status(lambda: refuse("TOY-A-001"), {Code.OK}, "a toy rolls far")

    @case("TOY-A-003", "toys")
    def test_it_rolls_back(toy, rolling):
        pass

    @case("TOY-A-004", "toys")
    def test_a_full_box(toy):
        refuse("")
    """


def test_one_cause_is_one_finding(toy: Toy) -> None:
    """The case that is about it fails; who only needs it is skipped, and says because of whom."""
    assert toy.run(_MISSING) == 1
    assert toy.outcomes == {
        "TOY-A-001": "fail",
        "TOY-A-002": "skip",
        "TOY-A-003": "skip",
        "TOY-A-004": "skip",
    }
    reason = "because TOY-A-001 failed: Roll is not implemented"
    assert {toy.cases[f"TOY-A-00{number}"].message for number in (2, 3)} == {reason}
    assert toy.cases["TOY-A-004"].message == "Roll is not implemented"


def test_a_cause_that_no_judged_case_is_about_fails_who_meets_it(toy: Toy) -> None:
    """With --only its owner is not there to fail, and a skip would hide it."""
    assert toy.run(_MISSING, only=("TOY-A-002",)) == 1
    assert toy.outcomes == {"TOY-A-002": "fail"}


def test_a_fault_of_ours_is_no_verdict_on_the_target(toy: Toy) -> None:
    """Exit code 3: the case is broken, not the toy."""
    cases = """
    @case("TOY-A-001", "toys")
    def test_a_case_with_a_bug(toy):
        {}["missing"]
    """
    assert toy.run(cases) == 3
    assert toy.outcomes == {"TOY-A-001": "error"}
    assert "KeyError" in toy.cases["TOY-A-001"].message


def test_a_suite_that_cannot_be_imported_is_an_internal_error(toy: Toy) -> None:
    """Never silence, never success."""
    assert toy.run("import no_such_module_anywhere\n") == 3
    assert "no_such_module_anywhere" in toy.end.message


def test_a_target_lost_in_the_middle_ends_the_run(toy: Toy) -> None:
    """One clear sentence, not a failure for every case that is left."""
    cases = """
    @case("TOY-A-001", "toys")
    def test_a_toy_that_dies(toy):
        toy.reason = "it fell down"
        raise Refused(Code.UNAVAILABLE, "connection reset")

    @case("TOY-A-002", "toys")
    def test_a_toy_after_it(toy):
        pass
    """
    assert toy.run(cases) == 6
    assert list(toy.outcomes) == ["TOY-A-001"]
    assert "it fell down" in toy.end.message


def test_a_target_lost_after_a_failure_is_not_conformant(toy: Toy) -> None:
    """The failure stands, whatever becomes of the target."""
    cases = """
    @case("TOY-A-001", "toys")
    def test_a_toy_that_fails(toy):
        raise Broken("toys are whole", "a wheel", "no wheel")

    @case("TOY-A-002", "toys")
    def test_a_toy_that_dies(toy):
        toy.reason = "it fell down"
        raise Refused(Code.UNAVAILABLE, "connection reset")
    """
    assert toy.run(cases) == 1
    assert "it fell down" in toy.end.message


def test_a_target_that_is_started_again_fails_its_case_only(toy: Toy) -> None:
    """The cases after it get their chance, and a death is never a mere warning."""
    cases = """
    @case("TOY-A-001", "toys")
    def test_a_toy_that_dies(toy):
        toy.reason, toy.revived = "it fell down", True
        raise Refused(Code.UNAVAILABLE, "connection reset")

    @case("TOY-A-002", "toys")
    def test_a_toy_after_it(toy):
        toy.reason = ""
    """
    assert toy.run(cases) == 1
    assert toy.outcomes == {"TOY-A-001": "fail", "TOY-A-002": "pass"}
    assert "it fell down" in toy.cases["TOY-A-001"].message


DYING = """
    @pytest.fixture
    def dies(toy):
        def die(cause):
            toy.reason, toy.revived, toy.cause = f"it fell over {cause}", True, cause
        yield die
        toy.reason = ""

    @case("TOY-A-001", "toys")
    def test_a_toy_that_dies(dies):
        dies("a stone 1")
        raise Refused(Code.UNAVAILABLE, "connection reset")

    @case("TOY-A-002", "toys")
    def test_a_toy_that_dies_of_the_same(dies):
        dies("a stone 2")
        raise Refused(Code.UNAVAILABLE, "connection reset")

    @case("TOY-A-003", "toys")
    def test_a_toy_that_dies_of_something_else(dies):
        dies("a wire")
        raise Refused(Code.UNAVAILABLE, "connection reset")
"""


@pytest.mark.parametrize("workers", ["0", "2"])
def test_a_second_death_of_the_same_is_no_further_finding(toy: Toy, workers: str) -> None:
    """Whichever worker it comes from; numbers, such as of an index, do not tell deaths apart."""
    assert toy.run(DYING, workers=workers) == 1
    assert toy.outcomes.pop("TOY-A-003") == "fail"
    first, second = toy.cases["TOY-A-001"], toy.cases["TOY-A-002"]
    if first.outcome == "skip":
        first, second = second, first
    assert (first.outcome, second.outcome) == ("fail", "skip")
    assert f"because {first.id} failed" in second.message


def test_workers_tell_a_target_that_is_gone_once(toy: Toy) -> None:
    """Each has it before it, and none goes on."""
    cases = """
    @case("TOY-A-001", "toys")
    def test_a_toy_that_is_gone(toy):
        toy.reason, toy.cause = "it fell down", "gone"
        raise Refused(Code.UNAVAILABLE, "connection reset")

    @case("TOY-A-002", "toys")
    def test_another_toy_that_is_gone(toy):
        toy.reason, toy.cause = "it fell down", "gone"
        raise Refused(Code.UNAVAILABLE, "connection reset")

    @case("TOY-A-004", "toys")
    def test_a_toy_after_it(toy):
        toy.reason, toy.cause = "it fell down", "gone"
        raise Refused(Code.UNAVAILABLE, "connection reset")

    @case("TOY-A-005", "toys")
    def test_a_toy_at_the_end(toy):
        toy.reason, toy.cause = "it fell down", "gone"
        raise Refused(Code.UNAVAILABLE, "connection reset")
    """
    assert toy.run(cases, workers="2") == 6
    assert sorted(toy.outcomes.values()) == ["fail", "skip", "skip", "skip"]
    assert "it fell down" in toy.end.message


def test_a_known_death_is_known_the_second_time_too(toy: Toy, tmp_path: Path) -> None:
    """An entry is for its case, whoever died first."""
    expect = _known(tmp_path, "TOY-A-002")
    assert toy.run(DYING, only=("TOY-A-001", "TOY-A-002"), expect=expect) == 1
    assert toy.outcomes == {"TOY-A-001": "fail", "TOY-A-002": "xfail"}


def test_a_death_that_no_check_saw_is_a_finding(toy: Toy) -> None:
    """The case after it would be blamed."""
    cases = """
    @case("TOY-A-001", "toys")
    def test_a_toy_that_dies_behind_its_answer(toy):
        toy.reason, toy.revived = "it fell down", True
    """
    assert toy.run(cases) == 1
    assert toy.outcomes == {"TOY-A-001": "fail"}
    assert "it fell down" in toy.cases["TOY-A-001"].message


def test_a_target_out_of_reach_is_said_before_the_run(toy: Toy) -> None:
    """Not 300 failures."""
    with pytest.raises(Unreachable, match="no such file"):
        toy.run(toy.ONE_OF_EACH, target="nowhere")
    assert not toy.events


KNOWN = """
target = "toy driver"
[[known]]
id = "{id}"
reason = "wheels are extra"
rule = "toys 2"
versions = "{versions}"
"""


def _known(folder: Path, id: str, versions: str = "") -> tuple[str, ...]:
    path = folder / f"{id}.toml"
    path.write_text(KNOWN.format(id=id, versions=versions))
    return (str(path),)


def test_a_known_failure_does_not_fail_the_run(toy: Toy, tmp_path: Path) -> None:
    """A vendor goes on with what is known while the rest stays guarded."""
    assert toy.run(toy.ONE_OF_EACH, only=("TOY-A-002",), expect=_known(tmp_path, "TOY-A-002")) == 0
    assert toy.outcomes == {"TOY-A-002": "xfail"}
    assert "wheels are extra" in toy.cases["TOY-A-002"].message


def test_a_known_failure_that_passes_fails_the_run(toy: Toy, tmp_path: Path) -> None:
    """The list cannot rot."""
    assert toy.run(toy.ONE_OF_EACH, only=("TOY-A-001",), expect=_known(tmp_path, "TOY-A-001")) == 1
    assert toy.outcomes == {"TOY-A-001": "xpass"}


def test_what_a_policy_only_tells_is_a_warning(toy: Toy) -> None:
    """The user said that the field may part from the text there; the finding is told."""
    settings = {"toy-told": ["TOY-A-002"]}
    assert toy.run(toy.ONE_OF_EACH, only=("TOY-A-002",), settings=settings) == 0
    assert toy.outcomes == {"TOY-A-002": "warn"}


def test_a_known_failure_that_depends_on_timing_may_pass(toy: Toy, tmp_path: Path) -> None:
    """It says so itself; a skip still matches nothing."""
    ids = ("TOY-A-001", "TOY-A-002")
    paths = [path for id in ids for path in _known(tmp_path, id)]
    for path in map(Path, paths):
        path.write_text(f"{path.read_text()}sometimes = true\n")
    assert toy.run(toy.ONE_OF_EACH, only=ids, expect=tuple(paths)) == 0
    assert toy.outcomes == {"TOY-A-001": "pass", "TOY-A-002": "xfail"}


def test_a_known_failure_of_a_skipped_case_fails_the_run(toy: Toy, tmp_path: Path) -> None:
    """It matches nothing."""
    assert toy.run(toy.ONE_OF_EACH, only=("TOY-A-004",), expect=_known(tmp_path, "TOY-A-004")) == 1
    assert "TOY-A-004" in toy.end.message


def test_a_known_failure_of_another_version_does_not_count(toy: Toy, tmp_path: Path) -> None:
    """The toy is 1.5; what 1.4 could not do is no excuse."""
    expect = _known(tmp_path, "TOY-A-002", "<1.5")
    assert toy.run(toy.ONE_OF_EACH, only=("TOY-A-002",), expect=expect) == 1
    assert toy.outcomes == {"TOY-A-002": "fail"}


def test_a_known_failure_of_no_case_is_a_usage_error(
    toy: Toy, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Probably a typing error in the id."""
    assert toy.run(toy.ONE_OF_EACH, expect=_known(tmp_path, "TOY-A-099")) == 4
    assert "there is no case TOY-A-099" in capfd.readouterr().err


def test_the_first_failure_ends_the_run_when_asked(toy: Toy) -> None:
    """-x, and the verdict is still a verdict."""
    assert toy.run(toy.ONE_OF_EACH, extra=("-x",)) == 1
    assert "TOY-A-006" not in toy.outcomes
