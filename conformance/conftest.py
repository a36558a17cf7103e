"""Brings the engine in as soon as a case is collected, be it by `refimpl test` or by pytest."""

from __future__ import annotations

import pytest

from conformance.engine.judging import session


def pytest_configure(config: pytest.Config) -> None:
    """Registers the judge, and the recorder where this process controls the run."""
    session.attach(config)
