"""Cases and the decorator that makes them."""

from __future__ import annotations

import pytest

from conformance.engine.case import Case, case, case_of
from conformance.engine.level import MAY, MUST, Level


def test_a_function_becomes_a_case_and_stays_a_function() -> None:
    """The name is the rule, the docstring is why."""

    @case("CSI-CTRL-019", "CSI 1.13 CreateVolume")
    def test_a_repeated_create_returns_the_same_volume() -> str:
        """A second volume
        would leak.
        """
        return "ran"

    a_case = case_of(test_a_repeated_create_returns_the_same_volume)
    assert a_case == Case(
        "CSI-CTRL-019",
        Level.MUST,
        "CSI 1.13 CreateVolume",
        (),
        "a repeated create returns the same volume",
        "A second volume\nwould leak.",
        False,
        False,
    )
    assert test_a_repeated_create_returns_the_same_volume() == "ran"
    assert a_case.interface == "csi"


@pytest.mark.parametrize("id", ["CSI-CTRL-19", "csi-ctrl-019", "CSI", "CSI-CTRL-019 "])
def test_an_id_of_another_form_is_refused(id: str) -> None:
    """Ids are looked up by scripts; a slip must not pass."""
    with pytest.raises(ValueError, match="no case id"):
        case(id, "x")


def test_an_ordinary_function_is_no_case() -> None:
    """Suites may have helpers."""
    assert case_of(len) is None
    assert case_of(None) is None


def test_levels_are_ordered_from_strict_to_soft() -> None:
    """--level should takes MUST and SHOULD."""
    assert MUST < Level.SHOULD < MAY


def test_the_first_need_that_is_unmet_is_the_reason() -> None:
    """One reason is enough to skip."""

    class Need:
        def __init__(self, reason: str | None) -> None:
            self.reason = reason

        def unmet(self, target: object) -> str | None:
            return self.reason

    needs = (Need(None), Need("no wheels"), Need("no doors"))
    a_case = Case("TOY-A-001", MUST, "x", needs, "t", "w", False, False)
    assert a_case.unmet(object()) == "no wheels"
