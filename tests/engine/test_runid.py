"""What objects of a run carry in their names."""

from __future__ import annotations

import re

import pytest

from conformance.engine import runid


def test_run_ids_are_short_distinct_and_fit_into_names() -> None:
    """Ten characters that every driver takes in a name."""
    ids = {runid.new_run_id() for _ in range(50)}
    assert len(ids) == 50
    assert all(re.fullmatch(r"[0-9a-f]{10}", each) for each in ids)


def test_run_ids_sort_by_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ledgers are swept oldest first."""
    seconds = iter([1_760_000_000, 1_760_000_001, 1_760_000_300])
    monkeypatch.setattr(runid.time, "time", lambda: next(seconds))
    ids = [runid.new_run_id() for _ in range(3)]
    assert ids == sorted(ids)


def test_a_worker_is_named_as_xdist_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two workers of one run must not use one name."""
    monkeypatch.setenv("PYTEST_XDIST_WORKER", "gw3")
    assert runid.worker() == "gw3"
    monkeypatch.delenv("PYTEST_XDIST_WORKER")
    assert runid.worker() == "main"
