"""Properties within a case."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.engine.properties import examples, quiet
from conformance.engine.verdict import Broken


def test_a_seed_gives_the_same_examples_again() -> None:
    """A finding is shown again by the same --seed."""

    def tried(seed: int) -> list[int]:
        numbers: list[int] = []

        @examples(10, seed)
        @given(st.integers())
        def collect(number: int) -> None:
            numbers.append(number)

        collect()
        return numbers

    assert tried(1) == tried(1)
    assert tried(1) != tried(2)


def test_one_finding_is_told_however_many_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    """As the exception that it is: a verdict, not an error of the suite."""

    @examples(50, 1)
    @given(st.integers())
    def check(number: int) -> None:
        if number > 0:
            raise Broken("rule", "at most 0", "more")
        if number < 0:
            raise Broken("rule", "at least 0", "less")

    with pytest.raises(Broken):
        check()
    assert capsys.readouterr().out == ""


def test_making_a_failure_small_can_be_left_out() -> None:
    """Where each example takes many calls."""
    assert len(quiet(5, shrink=False).phases) + 1 == len(quiet(5).phases)
    assert quiet(5, steps=7).stateful_step_count == 7
