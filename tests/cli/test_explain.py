"""`refimpl explain`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from conformance.engine import cases

Command = Callable[..., Any]  # see conftest.py


def test_a_case_is_explained(refimpl: Command) -> None:
    """As the engine words it; ids may be typed in small letters."""
    done = refimpl("explain", "csi-ctrl-019")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == cases.explanation("CSI-CTRL-019") + "\n"


@pytest.mark.parametrize(
    ("id", "said"), [("CSI-LV-6", "did you mean CSI-LV-"), ("zzz", "there is no case ZZZ")]
)
def test_an_unknown_id_is_a_usage_error(refimpl: Command, id: str, said: str) -> None:
    """With the nearest there is."""
    done = refimpl("explain", id)
    assert (done.returncode, done.stdout) == (4, "")
    assert said in done.said
