"""Fixtures of the CSI cases."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import cast

import pytest

from conformance.csi.target import CsiTarget
from conformance.engine.session import judge_of
from conformance.engine.supervise import Supervised


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    """A case that fails may have spoiled what lasts: the next case gets its own."""
    try:
        yield
    except Exception:
        csi = getattr(item, "funcargs", {}).get("csi")
        if csi is not None:
            csi.forget_lasting(lent=True)
        raise


@pytest.fixture(scope="session")
def driver(request: pytest.FixtureRequest) -> CsiTarget:
    """What `csi` lends to each case: pytest takes its time over whatever asks for `request`."""
    return cast("CsiTarget", judge_of(request.config).target("csi"))


@pytest.fixture
def csi(driver: CsiTarget) -> Iterator[CsiTarget]:
    """The driver under test. What a case makes on it is undone when the case ends."""
    yield driver
    driver.clean_up()


@pytest.fixture
def process(csi: CsiTarget) -> Iterator[Supervised]:
    """A driver process of the case's own, started and answering; it ends with the case."""
    started = csi.new_process()
    try:
        yield started.start().ready()
    finally:
        started.close()
