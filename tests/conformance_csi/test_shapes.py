"""The suite on our fake in its various shapes: what a driver does not offer is skipped, and nothing
that the specification allows is held against it.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from conformance.engine import events
from conformance.engine.events import CaseDone
from refimpl.csi.profiles import PROFILES

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
