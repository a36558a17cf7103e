"""Fixtures of the CDI cases."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import pytest

from conformance.cdi.host import Host
from conformance.cdi.target import CdiTarget
from conformance.engine.session import judge_of


@pytest.fixture
def host(request: pytest.FixtureRequest) -> Iterator[Host]:
    """The implementation under test, with directories of the case's own."""
    target = cast("CdiTarget", judge_of(request.config).target("cdi"))
    found = target.host()
    yield found
    found.clean_up()
