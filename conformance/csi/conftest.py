"""Fixtures of the CSI cases."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import pytest

from conformance.csi.target import CsiTarget
from conformance.engine.judging.judge import Judge
from conformance.engine.judging.session import judge_of
from conformance.engine.targets.supervise import Supervised


@pytest.fixture(scope="session")
def judge(request: pytest.FixtureRequest) -> Judge:
    """The judge of the run: pytest takes its time over whatever asks for `request`."""
    return judge_of(request.config)


@pytest.fixture(scope="session")
def driver(judge: Judge) -> CsiTarget:
    """The driver under test outside of a case: what is made on it goes with a trial."""
    return cast("CsiTarget", judge.target("csi"))


@pytest.fixture
def csi(driver: CsiTarget, judge: Judge) -> CsiTarget:
    """The driver under test. What a case makes on it is undone when the case ends."""
    driver.begin(judge.scope)
    return driver


@pytest.fixture
def process(csi: CsiTarget) -> Iterator[Supervised]:
    """A driver process of the case's own, started and answering; it ends with the case."""
    started = csi.new_process()
    try:
        yield started.start().ready()
    finally:
        started.close()
