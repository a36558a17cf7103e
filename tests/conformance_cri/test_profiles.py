"""Profiles of the fake against what is known of the runtimes that they are named after."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from conformance.engine import fixtures
from conformance.engine.judging import expectations

CONTAINERD = "containerd-2.4-cri"


def judged(profile: str, tmp_path: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """A run of the suite on a profile."""
    command = [sys.executable, "-m", "refimpl", "test", "cri", f"fake:{profile}", *words]
    return subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, timeout=100, check=False
    )


def test_the_profile_of_containerd_fails_where_containerd_does(tmp_path: Path) -> None:
    """And nowhere else: so the table of divergences and the expectation file are held together."""
    done = judged("containerd", tmp_path, "--strict", "--expect", CONTAINERD)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("profile", ["crio", "legacy-1.7"])
def test_a_profile_is_told_apart_from_the_text(profile: str, tmp_path: Path) -> None:
    """The suite finds in it what it was made of, and no case breaks."""
    done = judged(profile, tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "Not conformant" in done.stdout


def test_real_processes_do_what_the_text_says(tmp_path: Path) -> None:
    """The model is named as a profile is. What needs files of an image is not for it."""
    done = judged("subprocess", tmp_path, "--only", "CRI-CT-*")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("address", "message"),
    [("strict,crio", "one profile and one process model"), ("vm", "there is no profile 'vm'")],
)
def test_a_runtime_that_is_none_is_a_usage_error(
    address: str, message: str, tmp_path: Path
) -> None:
    """Before anything is judged."""
    done = judged(address, tmp_path)
    assert done.returncode == 4, done.stdout + done.stderr
    assert message in done.stderr


def test_each_topic_has_a_file_of_known_failures() -> None:
    """And each entry is about a case of its topic."""
    paths = sorted((fixtures.folder() / "expectations").glob(f"{CONTAINERD}-*.toml"))
    prefixes = {path: {id[:6] for id in expectations.load([path])} for path in paths}
    assert all(len(found) <= 2 for found in prefixes.values()), prefixes
    whole = expectations.load([fixtures.folder() / "expectations" / f"{CONTAINERD}.toml"])
    assert sum(len(expectations.load([path])) for path in paths) == len(whole)
