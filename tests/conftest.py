"""What all our tests share."""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path

import pytest


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """REFIMPL_NO_SKIP: where root, Go and the peers are to be had, a skip hides a failure."""
    report = yield
    hidden = report.skipped and not hasattr(report, "wasxfail")
    if hidden and os.environ.get("REFIMPL_NO_SKIP"):
        report.outcome = "failed"
        report.longrepr = f"skipped where nothing may skip: {report.longrepr}"
    return report


@pytest.fixture(autouse=True)
def _own_state_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test writes to the ledgers of the user who runs it."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state-home"))
    monkeypatch.delenv("ARTIFACTS", raising=False)
