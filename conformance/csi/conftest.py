"""Fixtures of the CSI cases."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import pytest

from conformance.csi.target import CsiTarget
from conformance.engine.session import judge_of


@pytest.fixture
def csi(request: pytest.FixtureRequest) -> Iterator[CsiTarget]:
    """The driver under test. What a case makes on it is undone when the case ends."""
    target = cast("CsiTarget", judge_of(request.config).target("csi"))
    yield target
    target.clean_up()
