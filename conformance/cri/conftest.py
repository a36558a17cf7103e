"""Fixtures of the CRI cases."""

from __future__ import annotations

from typing import cast

import pytest

from conformance.cri.target import CriTarget
from conformance.engine.judging.judge import Judge
from conformance.engine.judging.session import judge_of


@pytest.fixture(scope="session")
def judge(request: pytest.FixtureRequest) -> Judge:
    """The judge of the run: pytest takes its time over whatever asks for `request`."""
    return judge_of(request.config)


@pytest.fixture(scope="session")
def runtime_target(judge: Judge) -> CriTarget:
    """The runtime under test outside of a case."""
    return cast("CriTarget", judge.target("cri"))


@pytest.fixture
def cri(runtime_target: CriTarget, judge: Judge) -> CriTarget:
    """The runtime under test. What a case makes on it is gone when the case ends."""
    runtime_target.begin(judge.scope)
    return runtime_target
