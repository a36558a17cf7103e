"""`refimpl explain`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from conformance.engine import cases

Command = Callable[..., Any]  # see conftest.py


def test_a_case_is_explained(refimpl: Command) -> None:
    """As the engine words it; ids may be typed in small letters."""
    result = refimpl("explain", "csi-ctrl-019")
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout == cases.explanation("CSI-CTRL-019") + "\n"


@pytest.mark.parametrize(
    ("id", "message"), [("CSI-LV-6", "did you mean CSI-LV-"), ("zzz", "there is no case ZZZ")]
)
def test_an_unknown_id_is_a_usage_error(refimpl: Command, id: str, message: str) -> None:
    """With the nearest there is."""
    result = refimpl("explain", id)
    assert (result.returncode, result.stdout) == (4, "")
    assert message in result.message
