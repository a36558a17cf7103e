"""Copies that are cut, on our fake, and what is made of the answers to who asks again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from conformance.csi.common import cut_copies
from conformance.csi.target import CsiTarget
from conformance.engine.verdict import Broken, Unjudged
from refimpl.csi.api import csi_pb2 as pb
from refimpl.wire.status import Code, Refused


@pytest.fixture
def first(csi: CsiTarget) -> cut_copies.Original:
    """A volume that can be copied."""
    return cut_copies.original(csi)


def test_a_volume_is_copied_by_all_ways_that_there_are(
    csi: CsiTarget, first: cut_copies.Original
) -> None:
    """Of the fake both."""
    assert set(first.sources) == {"restore", "clone"}
    request = cut_copies.copy_request(csi, first, first.sources["clone"])
    assert request.volume_content_source.volume.volume_id == first.volume.volume_id
    assert cut_copies.usual_s(csi, request) > 0
    assert not cut_copies.forgotten(csi, first)


@pytest.mark.parametrize("cut", [cut_copies.passes_its_deadline, cut_copies.leaves])
def test_whoever_is_cut_and_asks_again_gets_a_whole_copy(
    csi: CsiTarget, first: cut_copies.Original, cut: cut_copies.Cut
) -> None:
    """However short the first try was."""
    request = cut_copies.copy_request(csi, first, first.sources["restore"])
    cut(csi, request, 0.0001)
    cut_copies.expect_finished(csi, request, first, "a restore that was cut")


def test_a_volume_that_was_deleted_is_forgotten(csi: CsiTarget, first: cut_copies.Original) -> None:
    """As is one of a driver that keeps all in memory and was started again."""
    gone = csi.steps.volume()
    csi.controller.DeleteVolume(csi.requests.delete(gone.volume_id))
    lost = cut_copies.Original(first.request, gone, b"", {})
    assert cut_copies.forgotten(csi, lost)


class _Answering:
    """Refuses CreateVolume with these codes, one after the other, and then with the last."""

    def __init__(self, *codes: Code) -> None:
        self._codes: Iterator[Code] = iter(codes)
        self._last = Code.OK

    def CreateVolume(self, _request: Any, **_: Any) -> pb.CreateVolumeResponse:
        self._last = next(self._codes, self._last)
        if self._last != Code.OK:
            raise Refused(self._last, "not now")
        return pb.CreateVolumeResponse()


def _stub(stub: Any, *codes: Code) -> Any:
    return stub(controller=_Answering(*codes))


def test_aborted_is_an_answer_for_a_while(stub: Any, first: cut_copies.Original) -> None:
    """And so is whatever does not stay."""
    bare = cut_copies.Original(first.request, first.volume, b"", {})
    codes = [Code.ABORTED] * 3 + [Code.INTERNAL, Code.OK]
    cut_copies.expect_finished(_stub(stub, *codes), first.request, bare, "a clone that was cut")


def test_the_same_refusal_for_ever_is_broken(
    stub: Any, first: cut_copies.Original, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ends as soon as that is sure."""
    monkeypatch.setattr(cut_copies, "_STUBBORN", 5)
    driver = _stub(stub, Code.ABORTED, Code.ALREADY_EXISTS)
    with pytest.raises(Broken, match="is made when it is asked for again") as broken:
        cut_copies.expect_finished(driver, first.request, first, "a clone that was cut")
    assert "ALREADY_EXISTS" in broken.value.got


def test_a_copy_that_cannot_even_be_repeated_is_another_cases_matter(
    stub: Any, first: cut_copies.Original, csi: CsiTarget
) -> None:
    """One cause is one finding."""
    driver = _stub(stub, Code.OK, Code.ALREADY_EXISTS)
    for kind, owner in (("restore", "CSI-CTRL-042"), ("clone", "CSI-CTRL-047")):
        request = cut_copies.copy_request(csi, first, first.sources[kind])
        with pytest.raises(Unjudged) as unjudged:
            cut_copies.usual_s(driver, request)
        assert unjudged.value.owner == owner
        driver = _stub(stub, Code.OK, Code.ALREADY_EXISTS)


def test_a_way_that_cannot_be_repeated_is_left_out(
    first: cut_copies.Original, csi: CsiTarget, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others are judged; where there is none, its owner is named."""
    assert set(cut_copies.ways(csi, first)) == {"restore", "clone"}
    usual_s = cut_copies.usual_s

    def restores_only(target: CsiTarget, request: pb.CreateVolumeRequest) -> float:
        if request.volume_content_source.HasField("snapshot"):
            return usual_s(target, request)
        raise Unjudged(Refused(Code.ALREADY_EXISTS, "another source"), "it cannot be repeated")

    monkeypatch.setattr(cut_copies, "usual_s", restores_only)
    assert set(cut_copies.ways(csi, first)) == {"restore"}
    clone = {"clone": first.sources["clone"]}
    with pytest.raises(Unjudged):
        cut_copies.ways(csi, cut_copies.Original(first.request, first.volume, b"", clone))
