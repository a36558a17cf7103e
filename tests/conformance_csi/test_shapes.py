"""The suite on our fake in its various shapes: what a driver does not offer is skipped, and nothing
that the specification allows is held against it.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import attrs
import pytest

from conformance.engine import events
from conformance.engine.events import CaseDone
from refimpl.csi.fake import FakeDriver
from refimpl.csi.profiles import PROFILES, settings_of

# `default` in 1.13 is what the kill matrix and every user begin with.
SHAPES = [*((profile, "csi-1.13") for profile in sorted(PROFILES)), ("default", "csi-1.12")]


@pytest.mark.parametrize(("profile", "revision"), SHAPES)
def test_no_shape_of_the_fake_fails_a_case(profile: str, revision: str, tmp_path: Path) -> None:
    """A driver that makes no volumes, or stages none, is a driver. No case wants more of it than
    a run may hold on somebody's storage."""
    words = ["test", "csi", f"fake:{profile}", "--revision", revision, "-q"]
    words += ["--report-dir", str(tmp_path)]
    done = subprocess.run(
        [sys.executable, "-m", "refimpl", *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    told = events.read(tmp_path / "events.jsonl")
    greedy = [case.id for case in told if isinstance(case, CaseDone) and "most_" in case.message]
    assert greedy == []


def test_a_pool_that_is_soon_full_fails_no_case(tmp_path: Path) -> None:
    """Who tries the suite on a small machine is told that there is no room, and nothing else."""
    small = attrs.evolve(settings_of("default"), pools={"default": 200 << 20})
    with FakeDriver(profile=small, nodes=2) as fake:
        words = ["test", "csi", str(fake.endpoint), "-q", "--report-dir", str(tmp_path)]
        command = [sys.executable, "-m", "refimpl", *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    told = [case for case in events.read(tmp_path / "events.jsonl") if isinstance(case, CaseDone)]
    wrong = {case.id: case.message for case in told if case.outcome not in ("pass", "skip")}
    assert wrong == {}
    assert done.returncode == 0, done.stdout + done.stderr
    reasons = {case.message for case in told if case.outcome == "skip"}
    assert "no room on the target: CreateVolume answers RESOURCE_EXHAUSTED" in reasons
