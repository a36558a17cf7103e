"""The suite on our fake in its various shapes: what a driver does not offer is skipped, and nothing
that the specification allows is held against it.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

from refimpl.csi.profiles import PROFILES

# `default` in 1.13 is what the kill matrix and every user begin with.
SHAPES = [*((profile, "csi-1.13") for profile in sorted(PROFILES)), ("default", "csi-1.12")]


@pytest.mark.parametrize(("profile", "revision"), SHAPES)
def test_no_shape_of_the_fake_fails_a_case(profile: str, revision: str) -> None:
    """A driver that makes no volumes, or stages none, is a driver."""
    words = ["test", "csi", f"fake:{profile}", "--revision", revision, "-q"]
    done = subprocess.run(
        [sys.executable, "-m", "refimpl", *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
