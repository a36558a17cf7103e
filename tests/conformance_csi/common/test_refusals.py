"""Calls that must not go through."""

from __future__ import annotations

from typing import Any, NoReturn

import pytest

from conformance.csi.common import refusals
from conformance.engine.verdict import Broken
from refimpl.csi.api import csi_pb2 as pb
from refimpl.wire.status import Code, Refused


def refuse() -> NoReturn:
    """A call that is refused."""
    raise Refused(Code.NOT_FOUND, "no such volume")


def answer() -> pb.Volume:
    """A call that goes through."""
    return pb.Volume(volume_id="v")


def test_a_refusal_is_handed_back_whatever_its_code() -> None:
    """For a closer look."""
    assert refusals.expect_refusal(refuse, "rule").code == Code.NOT_FOUND
    assert refusals.code_of(refuse) == Code.NOT_FOUND
    assert refusals.code_of(answer) == Code.OK


def test_an_answer_where_an_error_was_due_is_shown() -> None:
    """On one line."""
    with pytest.raises(Broken, match="a volume is not given") as raised:
        refusals.expect_refusal(answer, "a volume is not given")
    assert raised.value.got == 'OK, volume_id: "v"'


def test_a_volume_that_is_left_behind_is_told(csi: Any) -> None:
    """By its id; one that was there before is not counted."""
    csi.steps.volume()
    with refusals.makes_no_volume(csi, "nothing"):
        pass
    ids: list[str] = []

    def leave_one() -> None:
        with refusals.makes_no_volume(csi, "a refused call"):
            ids.append(csi.steps.volume().volume_id)

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REFIMPL_TIMEOUT_FACTOR", "0.01")
        with pytest.raises(Broken, match="a refused call leaves no volume behind") as raised:
            leave_one()
    assert ids[0] in raised.value.got


def test_without_a_list_nothing_can_be_seen(opened: Any) -> None:
    """The block is run all the same."""
    csi = opened("fake:csi-1.0-minimal")
    ran = []
    with refusals.makes_no_volume(csi, "a call"):
        ran.append(csi.steps.volume())
    csi.scope.close()
    assert len(ran) == 1
