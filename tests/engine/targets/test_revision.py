"""Revisions of specifications."""

from __future__ import annotations

import pytest

from conformance.engine.options import BadOption
from conformance.engine.targets.revision import Revision, parse


def test_numbers_are_compared_as_numbers() -> None:
    """1.9 is older than 1.12, and 1.1 is 1.1.0."""
    assert Revision("csi", "1.9") < Revision("csi", "1.12")
    assert Revision("cni", "1.1") == Revision("cni", "1.1.0")
    assert len({Revision("cni", "1.1"), Revision("cni", "1.1.0")}) == 1
    assert Revision("cni", "1.1") != "1.1"
    assert Revision("csi", "1.12").since("1.9")
    assert not Revision("csi", "1.12").until("1.9")


@pytest.mark.parametrize("text", ["csi-1.12", "1.12", "v1.12"])
def test_a_revision_is_named_with_its_family_or_without(text: str) -> None:
    """It is shown with it."""
    assert str(parse(text, "csi", ("1.12", "1.13"))) == "csi-1.12"


def test_an_unknown_one_is_refused_with_those_there_are() -> None:
    """None at all is none."""
    assert parse("", "csi", ("1.12",)) is None
    with pytest.raises(BadOption, match=r"--revision csi-2: there is csi-1\.12, csi-1\.13"):
        parse("csi-2", "csi", ("1.12", "1.13"))
