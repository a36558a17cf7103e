"""What a case needs, and the reason given where that is not there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from conformance.csi import needs
from conformance.csi.capabilities import Offers
from conformance.engine.revision import Revision

Stub = Callable[..., Any]


def test_a_capability_has_to_be_on_or_off(stub: Stub) -> None:
    """The reason names it, without its number."""
    on, off = stub("controller:GET_CAPACITY"), stub()
    assert needs.GET_CAPACITY.unmet(on) is None
    assert needs.GET_CAPACITY.unmet(off) == "controller capability GET_CAPACITY is off"
    absent = needs.Absent("controller:GET_CAPACITY")
    assert absent.unmet(off) is None
    assert absent.unmet(on) == "controller capability GET_CAPACITY is on"


def test_one_of_several_is_enough(stub: Stub) -> None:
    """All reasons are told where there is none."""
    either = needs.AnyOf((needs.GET_CAPACITY, needs.LIST_VOLUMES))
    assert either.unmet(stub("controller:LIST_VOLUMES")) is None
    assert either.unmet(stub()) == (
        "controller capability GET_CAPACITY is off and controller capability LIST_VOLUMES is off"
    )


def test_services_and_revisions_are_those_of_the_run(stub: Stub) -> None:
    """A rule of one revision is none of the other."""
    target = stub(offers=Offers(services=frozenset({"node"})), revision=Revision("csi", "1.12"))
    assert needs.NODE.unmet(target) is None
    assert needs.CONTROLLER.unmet(target) == "no controller service"
    assert needs.REVISION_1_12.unmet(target) is None
    assert "judges by 1.12" in str(needs.REVISION_1_13.unmet(target))


def test_surroundings_give_their_own_reason(stub: Stub) -> None:
    """An empty one is none."""
    assert needs.ROOT.unmet(stub(no_root="")) is None
    assert needs.ROOT.unmet(stub(no_root="needs root")) == "needs root"


def test_a_mode_is_named(stub: Stub) -> None:
    """In the reason and in lists of cases."""
    assert needs.WRITERS.unmet(stub(makes=lambda _: True)) is None
    reason = needs.WRITERS.unmet(stub(makes=lambda _: False))
    assert reason == "the driver makes no volumes for access mode SINGLE_NODE_MULTI_WRITER"
    assert needs.WRITERS.label == "SINGLE_NODE_MULTI_WRITER"


@pytest.mark.parametrize(
    "name", [name for name, need in vars(needs).items() if isinstance(need, needs.Has)]
)
def test_every_need_of_surroundings_is_answered(csi: Any, name: str) -> None:
    """By a text of the target, a whole phrase where it is not empty."""
    answer = getattr(csi, vars(needs)[name].lacking)
    assert isinstance(answer, str)
    assert vars(needs)[name].unmet(csi) == (answer or None)
