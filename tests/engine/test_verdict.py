"""How a case says what it wanted."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from itertools import count
from typing import NoReturn

import pytest

from conformance.engine.verdict import (
    Broken,
    Doubtful,
    Several,
    Unjudged,
    eventually,
    expect,
    expect_status,
    should,
    soon,
    stays,
    timeout,
    together,
)
from refimpl.wire.client import Unreachable
from refimpl.wire.status import Code, Refused


def _refuse() -> NoReturn:
    raise Refused(Code.ABORTED, "busy")


def test_an_accepted_reply_is_returned() -> None:
    """The case goes on with it."""
    assert expect_status(lambda: "reply", {Code.OK, Code.ABORTED}, "rule") == "reply"


def test_an_accepted_refusal_is_no_reply() -> None:
    """None: there is nothing to look at."""
    assert expect_status(_refuse, {Code.OK, Code.ABORTED}, "rule") is None


def test_another_status_breaks_the_rule() -> None:
    """The message names both sides."""
    with pytest.raises(Broken) as broken:
        expect_status(_refuse, {Code.INVALID_ARGUMENT, Code.OUT_OF_RANGE}, "the rule")
    assert broken.value.rule == "the rule"
    assert broken.value.wanted == "INVALID_ARGUMENT or OUT_OF_RANGE"
    assert broken.value.got == "ABORTED: busy"


def test_a_reply_where_a_refusal_was_due_breaks_the_rule() -> None:
    """OK is a status like any other."""
    with pytest.raises(Broken) as broken:
        expect_status(lambda: "a volume", {Code.NOT_FOUND}, "the rule")
    assert broken.value.got == "OK, a volume"


def _refuse_for_want_of_room() -> NoReturn:
    raise Unjudged(Refused(Code.RESOURCE_EXHAUSTED, "full", details=b"d"), "no room", "X-1")


def test_a_refusal_that_is_not_about_the_rule_does_not_break_it() -> None:
    """It goes on to the judge, unless its status is accepted like any other."""
    with pytest.raises(Unjudged):
        expect_status(_refuse_for_want_of_room, {Code.OK}, "the rule")
    assert expect_status(_refuse_for_want_of_room, {Code.RESOURCE_EXHAUSTED}, "the rule") is None


def test_a_refusal_that_is_not_about_the_rule_survives_a_pipe() -> None:
    """Workers send what they raise to each other."""
    with pytest.raises(Unjudged) as sent:
        _refuse_for_want_of_room()
    got = pickle.loads(pickle.dumps(sent.value))
    assert (got.code, got.message, got.details) == (Code.RESOURCE_EXHAUSTED, "full", b"d")
    assert (got.because, got.owner) == ("no room", "X-1")


def test_a_long_answer_is_shortened() -> None:
    """A report of one line a finding stays readable."""
    with pytest.raises(Broken) as broken:
        expect(False, "rule", wanted="x", got="y" * 1000)
    assert len(broken.value.got) == 300


def test_an_empty_name_is_seen() -> None:
    """Between two others it would be a blank."""
    with pytest.raises(Broken) as broken:
        expect(False, "rule", wanted=["a", "b"], got=["a", "", "b"])
    assert (broken.value.wanted, broken.value.got) == ("a; b", 'a; ""; b')


def test_the_softer_half_is_doubtful() -> None:
    """It warns in a MUST case."""
    with pytest.raises(Doubtful):
        should(False, "rule", wanted=1, got=2)
    should(True, "rule", wanted=1, got=1)
    expect(True, "rule", wanted=1, got=1)


def test_eventually_returns_the_first_true_answer() -> None:
    """It asks again until then."""
    numbers = count()
    assert eventually(lambda: next(numbers) > 3, 5, "counts up")
    assert next(numbers) == 5


def test_eventually_gives_up_with_the_last_answer() -> None:
    """A broken target costs the deadline, not for ever."""
    with pytest.raises(Broken, match="still"):
        eventually(list, 0.01, "fills up")


def test_what_need_not_come_is_asked_for_and_not_demanded() -> None:
    """The answer is whatever was true first, or nothing, also where the question fails."""
    answers = iter([[], ["a"]])
    assert soon(lambda: next(answers)) == ["a"]
    assert soon(list, 0.001) is None

    def broken() -> bool:
        raise Broken("rule", "wanted", "got")

    assert soon(broken) is None


def test_deadlines_are_scaled_by_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Slow machines exist."""
    monkeypatch.setenv("REFIMPL_TIMEOUT_FACTOR", "3")
    assert timeout(2) == 6


def test_waiting_ends_when_it_is_in_vain() -> None:
    """A process that has died will not register any more; what came before its end counts."""
    with pytest.raises(Broken, match=r"it registers\n.*\n.*it ended with 1"):
        eventually(lambda: False, 60, "it registers", unless=lambda: "it ended with 1")
    assert eventually(lambda: "here", 60, "it registers", unless=lambda: "it ended") == "here"


def test_what_stays_is_watched_until_it_changes() -> None:
    """With what it became."""
    answers = iter([True, True, False])
    with pytest.raises(Broken, match=r"the socket stays\n.*there\n.*it is gone"):
        stays(
            lambda: next(answers), 60, "the socket stays", wanted="there", got=lambda: "it is gone"
        )
    stays(lambda: True, 0.001, "the socket stays")


def _breach(rule: str) -> NoReturn:
    raise Broken(rule, "x", "y")


def _doubt(rule: str) -> NoReturn:
    raise Doubtful(rule, "x", "y")


def _fine() -> None:
    pass


def _raise(error: BaseException) -> NoReturn:
    raise error


def _checked(*parts: Callable[[], object], then: Callable[[], object] = _fine) -> None:
    """Each part checked together with the others, and a step after them that they do not check."""
    with together() as check:
        for part in parts:
            with check:
                part()
        then()


def _told(*parts: Callable[[], object], then: Callable[[], object] = _fine) -> Several:
    with pytest.raises(Several) as several:
        _checked(*parts, then=then)
    return several.value


def test_a_later_breach_is_not_hidden_by_an_earlier_one() -> None:
    """Both are told, in the order in which they were found; what holds is not."""
    several = _told(lambda: _breach("the first"), _fine, _refuse, lambda: _breach("the last"))
    rules = [str(each).partition("\n")[0] for each in several.breaches]
    assert rules == ["the first", "ABORTED: busy", "the last"]
    assert (several.rule, several.soft) == ("the first", False)


def test_one_breach_is_told_as_itself() -> None:
    """Whoever looks for a kind of error finds it."""
    with pytest.raises(Refused):
        _checked(_refuse, _fine)
    _checked(_fine)


def test_what_is_firm_decides_over_what_is_soft() -> None:
    """A MUST that fails behind a SHOULD that fails is no warning."""
    several = _told(lambda: _doubt("soft"), lambda: _breach("firm"))
    assert (several.rule, several.soft) == ("firm", False)
    assert _told(lambda: _doubt("soft"), lambda: _doubt("softer")).soft


@pytest.mark.parametrize("end", [Broken("no result", "one", "none"), Unreachable("gone")])
def test_what_the_rest_needs_stops_it_and_is_told_with_it(end: Exception) -> None:
    """A dependent step fails between the checks."""
    several = _told(lambda: _breach("the first"), then=lambda: _raise(end))
    assert several.breaches[1] is end


def test_the_same_is_told_once() -> None:
    """Five equal answers to five equal questions are one thing to mend."""
    with pytest.raises(Broken) as broken:
        _checked(*[lambda: _breach("the rule")] * 5)
    assert type(broken.value) is Broken


def test_each_text_of_what_is_wrong_is_a_breach() -> None:
    """Oracles that tell in words need no condition."""
    with pytest.raises(Broken, match="it is red"), together() as check:
        check.found("rule", "green", "", "it is red", "")
    with together() as check:
        check.found("rule", "green", "", "")


def test_a_skip_hides_no_breach() -> None:
    """There was something to judge before there was no more."""
    late = pytest.skip.Exception("nothing more to see")
    with pytest.raises(Broken):
        _checked(lambda: _breach("the first"), then=lambda: _raise(late))
    with pytest.raises(pytest.skip.Exception):
        _checked(_fine, then=lambda: _raise(late))


def test_an_error_behind_a_breach_is_told_with_it() -> None:
    """A case that goes on where a target is wrong may find what it did not reckon with."""
    several = _told(lambda: _breach("the first"), then=lambda: _raise(KeyError("gone")))
    assert (several.rule, several.soft) == ("the first", False)
    assert "KeyError: 'gone'" in str(several.breaches[1])


def test_a_fault_of_ours_and_an_interruption_are_no_breach() -> None:
    """Nothing was found before the one, and nobody waits for the other."""
    with pytest.raises(KeyError):
        _checked(_fine, then=lambda: _raise(KeyError("ours")))
    with pytest.raises(KeyboardInterrupt):
        _checked(lambda: _breach("the first"), then=lambda: _raise(KeyboardInterrupt()))


def test_nobody_asks_on_where_nobody_answers() -> None:
    """A target that is gone ends the checks at once."""
    with pytest.raises(Unreachable):
        _checked(lambda: _raise(Unreachable("gone")), lambda: _breach("went on"))


def test_what_says_nothing_of_the_rule_is_told_only_where_nothing_else_is() -> None:
    """A full target is no breach, and hides none."""
    full = Unjudged(Refused(Code.RESOURCE_EXHAUSTED, "full"), "it is full")
    with pytest.raises(Broken, match="the first"):
        _checked(lambda: _raise(full), lambda: _breach("the first"))
    with pytest.raises(Unjudged):
        _checked(lambda: _raise(full), _fine)


def test_checks_within_checks_are_told_one_by_one() -> None:
    """A helper that makes several of its own is one check of its caller."""

    def two(name: str) -> None:
        _checked(lambda: _breach(f"{name}1"), lambda: _breach(f"{name}2"))

    several = _told(lambda: two("a"), lambda: two("b"))
    rules = [each.rule for each in several.breaches if isinstance(each, Broken)]
    assert rules == ["a1", "a2", "b1", "b2"]
