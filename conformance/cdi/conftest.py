"""Fixtures of the CDI cases."""

from __future__ import annotations

from typing import cast

import pytest

from conformance.cdi.host import CdiHost
from conformance.cdi.target import CdiTarget
from conformance.engine.judging.session import judge_of


@pytest.fixture
def host(request: pytest.FixtureRequest) -> CdiHost:
    """The implementation under test, with directories of the case's own."""
    judge = judge_of(request.config)
    return CdiHost(cast("CdiTarget", judge.target("cdi")), judge.scope)
