"""Runs of every suite, killed at random moments, leave nothing that a sweep does not remove."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator

import pytest

from tests.live.rigs.kills import Machine, drawn_kills
from tests.live.rigs.namespaces import why_not

_KILLS = 25


@pytest.fixture
def machine() -> Iterator[Machine]:
    """With a driver that is judged and runs on."""
    if reason := why_not():
        pytest.skip(reason)
    with Machine() as machine:
        yield machine


def test_no_kill_leaves_what_a_sweep_does_not_remove(machine: Machine) -> None:
    """No process, mount, link, folder, record or volume; an interrupted run leaves none by itself.

    REFIMPL_SEED repeats the kills of a run.
    """
    seed = int(os.environ.get("REFIMPL_SEED") or random.randrange(10**6))
    wrong = {f"{kill}": machine.judge(kill) for kill in drawn_kills(seed, _KILLS)}
    assert {kill: what for kill, what in wrong.items() if what} == {}, f"seed {seed}"
