"""What a machine can test, and what its owner is told to do."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import pytest

from conformance.engine import doctor
from conformance.engine.doctor import Check


def check(name: str) -> Check:
    """The finding of that name."""
    return next(each for each in doctor.examine() if each.name == name)


def test_every_check_says_what_it_allows_and_what_to_do() -> None:
    """What is missing comes with a way out; what is needed comes first."""
    checks = list(doctor.examine())
    assert all(each.found and each.allows for each in checks)
    assert all(each.advice for each in checks if not each.good)
    assert [each.needed for each in checks] == sorted(
        (each.needed for each in checks), reverse=True
    )
    assert len({each.name for each in checks}) == len(checks)


def test_disk_space_is_that_of_the_temporary_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who follows the advice and sets TMPDIR has to see it work."""
    paths: list[str] = []

    def usage(path: str) -> SimpleNamespace:
        paths.append(path)
        return SimpleNamespace(free=1 << 20)

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(shutil, "disk_usage", usage)
    checks = check("disk")
    assert paths == [str(tmp_path)]
    assert not checks.good
    assert checks.needed
    assert str(tmp_path) in checks.found


@pytest.mark.parametrize(("uid", "good"), [(0, True), (1000, False)])
def test_root_is_asked_of_the_kernel(monkeypatch: pytest.MonkeyPatch, uid: int, good: bool) -> None:
    """Without it the cases that look at mounts are skipped; nothing else fails."""
    monkeypatch.setattr(os, "geteuid", lambda: uid)
    checks = check("root")
    assert (checks.good, checks.needed) == (good, False)


def test_programs_are_looked_for_on_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the place where one was found."""
    monkeypatch.setenv("PATH", str(tmp_path))
    assert check("grpcurl").found == "not on PATH"
    (tmp_path / "grpcurl").write_text("#!/bin/sh\n")
    (tmp_path / "grpcurl").chmod(0o755)
    assert check("grpcurl").found == str(tmp_path / "grpcurl")


def test_a_machine_without_unshare_makes_no_namespaces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A missing program and one that fails or hangs are all a plain no."""
    monkeypatch.setenv("PATH", str(tmp_path))
    assert not check("mounts").good

    hang = Mock(side_effect=subprocess.TimeoutExpired("unshare", 5))
    monkeypatch.setattr(subprocess, "run", hang)
    assert not check("mounts").good
    monkeypatch.setattr(subprocess, "run", Mock(return_value=SimpleNamespace(returncode=0)))
    assert check("mounts").good


def test_versions_are_told_for_a_bug_report() -> None:
    """Python's and those of the two libraries that matter."""
    sentence = check("python").found
    assert sentence.startswith(f"{sys.version_info.major}.{sys.version_info.minor}")
    assert "grpcio" in sentence
    assert "protobuf" in sentence
