"""Plugins that are asked for their versions."""

from __future__ import annotations

from pathlib import Path

import pytest

from refimpl.cni.lint import Unanswered
from refimpl.cni.lint.ask import versions_of


def plugin(folder: Path, script: str) -> Path:
    """An executable of that shell script."""
    path = folder / "plugin"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def test_a_plugin_tells_its_versions(tmp_path: Path) -> None:
    """In the order of its answer."""
    answer = '{"cniVersion": "1.1.0", "supportedVersions": ["1.1.0", "0.4.0"]}'
    script = f"test \"$CNI_COMMAND\" = VERSION && cat >/dev/null && echo '{answer}'"
    assert versions_of(plugin(tmp_path, script)) == ["1.1.0", "0.4.0"]


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("cat >/dev/null; exit 7", "7"),
        ("cat >/dev/null; echo nonsense", "JSON"),
        ("cat >/dev/null; echo '{}'", "supportedVersions"),
    ],
)
def test_anything_else_is_no_answer(tmp_path: Path, script: str, words: str) -> None:
    """The text says what came."""
    with pytest.raises(Unanswered, match=words):
        versions_of(plugin(tmp_path, script))


def test_what_cannot_be_run_is_an_os_error(tmp_path: Path) -> None:
    """Lint tells it like a missing answer."""
    path = plugin(tmp_path, "")
    path.chmod(0o644)
    with pytest.raises(OSError, match="ermission"):
        versions_of(path)
