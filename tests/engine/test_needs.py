"""Needs, and how a target answers them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from conformance.engine.needs import AllOf, AnyOf, Feature, Lacks, Since, Until, Without
from conformance.engine.targets.revision import Revision


def target(number: str = "1.12", **reasons: Any) -> Any:
    """One that says so of itself."""
    return SimpleNamespace(revision=Revision("csi", number), lacks=Lacks(reasons))


def test_a_feature_is_there_where_there_is_no_reason() -> None:
    """A reason is a text, or is found out when it is asked for."""
    names: list[str] = []

    def why() -> str:
        names.append("mounts")
        return "it makes no mounts"

    under_test = target(root="", mounts=why)
    assert Feature("root").unmet(under_test) is None
    assert names == []
    assert Feature("mounts").unmet(under_test) == "it makes no mounts"
    assert names == ["mounts"]
    with pytest.raises(KeyError):
        Feature("wheels").unmet(under_test)
    assert set(under_test.lacks) == {"root", "mounts"}
    assert len(under_test.lacks) == 2


def test_features_of_a_kind_may_be_answered_by_one_function() -> None:
    """Such as all capabilities."""
    lacks = Lacks({"root": ""}, lambda feature: f"{feature} is off")
    assert lacks["controller:CLONE"] == "controller:CLONE is off"
    assert lacks["root"] == ""


def test_a_need_can_be_of_what_is_not_there() -> None:
    """Rules about drivers without a capability."""
    need = Without("clone", "clone is on")
    assert need.unmet(target(clone="")) == "clone is on"
    assert need.unmet(target(clone="no")) is None


def test_one_of_several_needs_is_enough() -> None:
    """Else all reasons are told."""
    need = AnyOf((Feature("a"), Feature("b")))
    assert need.unmet(target(a="no a", b="")) is None
    assert need.unmet(target(a="no a", b="no b")) == "no a and no b"


def test_several_needs_may_be_one_of_them() -> None:
    """All of them are needed then, and the first that is missing is told."""
    every = AllOf((Feature("b"), Since("1.13")))
    need = AnyOf((Feature("a"), every))
    assert need.unmet(target("1.13", a="no a", b="")) is None
    assert need.unmet(target("1.13", a="no a", b="no b")) == "no a and no b"
    assert str(need) == "a or b and revision 1.13"
    assert str(AllOf(every.needs, "much")) == "much"


def test_a_rule_holds_since_or_until_a_revision() -> None:
    """That one included; numbers are compared as numbers."""
    assert Since("1.9").unmet(target("1.12")) is None
    assert Since("1.12").unmet(target("1.12")) is None
    assert "from 1.13 on; this run judges by csi-1.12" in str(Since("1.13").unmet(target("1.12")))
    assert Until("1.12").unmet(target("1.12")) is None
    assert "up to 1.9; this run judges by csi-1.12" in str(Until("1.9").unmet(target("1.12")))


def test_needs_are_told_in_a_word() -> None:
    """As lists of cases show them."""
    needs = (Feature("a", "an A"), Feature("b"), Without("c", "c is on"), Since("1"), Until("2"))
    assert [str(need) for need in needs] == [
        *("an A", "b", "without c", "revision 1", "up to revision 2")
    ]
    assert str(AnyOf((Feature("a"), Feature("b")))) == "a or b"
