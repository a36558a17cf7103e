"""Fixtures of the CSI cases."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import pytest

from conformance.csi.target import CsiTarget
from conformance.engine.session import judge_of
from conformance.engine.supervise import Supervised


@pytest.fixture
def csi(request: pytest.FixtureRequest) -> Iterator[CsiTarget]:
    """The driver under test. What a case makes on it is undone when the case ends."""
    target = cast("CsiTarget", judge_of(request.config).target("csi"))
    yield target
    target.clean_up()


@pytest.fixture
def process(csi: CsiTarget) -> Iterator[Supervised]:
    """A driver process of the case's own, started and answering; it ends with the case."""
    started = Supervised(csi.command)
    try:
        yield started.start().ready()
    finally:
        started.close()
