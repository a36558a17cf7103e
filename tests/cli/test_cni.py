"""`refimpl cni`."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Command = Callable[..., Any]  # see conftest.py
LIST = {"cniVersion": "1.0.0", "name": "n", "plugins": [{"type": "acme"}]}


@pytest.fixture
def conf(tmp_path: Path) -> Path:
    """A sound configuration in a folder of its own."""
    path = tmp_path / "net.d" / "10-n.conflist"
    path.parent.mkdir()
    path.write_text(json.dumps(LIST))
    return path


def plugin(folder: Path, reply: str) -> Path:
    """A plugin that answers everything with that line."""
    folder.mkdir(exist_ok=True)
    path = folder / "acme"
    path.write_text(f"#!/bin/sh\necho '{reply}'\n")
    path.chmod(0o755)
    return path


def test_a_clean_file_ends_with_0(refimpl: Command, conf: Path) -> None:
    """One line says that it was looked at."""
    result = refimpl("cni", "lint", str(conf))
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout == "0 errors, 0 warnings, 0 info\n"


def test_a_folder_is_summed_up(refimpl: Command, conf: Path) -> None:
    """What each runtime does with it."""
    result = refimpl("cni", "lint", str(conf.parent))
    assert result.returncode == 0
    assert "uses 10-n.conflist (sorts first)" in result.stdout


def test_an_error_ends_with_1(refimpl: Command, conf: Path) -> None:
    """So that a pipeline stops."""
    conf.write_text("{}")
    result = refimpl("cni", "lint", str(conf))
    assert result.returncode == 1
    assert f"{conf}\n  1:1 error CNI-CFG-002\n" in result.stdout


def test_a_warning_alone_ends_with_0(refimpl: Command, conf: Path) -> None:
    """It works, though not as meant."""
    conf.write_text(json.dumps({**LIST, "disableCheck": "true"}))
    result = refimpl("cni", "lint", str(conf))
    assert result.returncode == 0
    assert "warning CNI-CFG-009" in result.stdout


def test_several_paths_are_one_report(refimpl: Command, conf: Path) -> None:
    """Files and folders together."""
    broken = conf.parent.parent / "other.conf"
    broken.write_text("[")
    result = refimpl("cni", "lint", str(conf), str(broken), "--json")
    report = json.loads(result.stdout)
    assert result.returncode == 1
    assert [checked["path"] for checked in report["checked"]] == [
        str(conf.parent),
        str(broken.parent),
    ]
    assert [finding["file"] for finding in report["findings"]] == [str(broken)]


def test_json_has_the_keys_that_scripts_read(refimpl: Command, conf: Path) -> None:
    """Findings, what was checked, counts."""
    report = json.loads(refimpl("cni", "lint", str(conf.parent), "--json").stdout)
    assert set(report) == {"findings", "checked", "counts"}
    (checked,) = report["checked"]
    assert checked["networks"][0]["plugins"] == ["acme"]
    assert [choice["runtime"] for choice in checked["runtimes"]] == [
        "containerd",
        "CRI-O",
        "libcni, cnitool",
        "nerdctl",
    ]


def test_there_are_no_colours_in_a_file(refimpl: Command, conf: Path) -> None:
    """Escape sequences belong on a terminal."""
    conf.write_text("{}")
    assert "\x1b" not in refimpl("cni", "lint", str(conf)).stdout


def test_the_plugin_is_asked_for_its_versions(refimpl: Command, conf: Path, tmp_path: Path) -> None:
    """With VERSION, as a runtime would."""
    reply = {"cniVersion": "1.0.0", "supportedVersions": ["0.4.0", "1.0.0"]}
    folder = plugin(tmp_path / "bin", json.dumps(reply)).parent
    assert refimpl("cni", "lint", str(conf), "--cni-path", str(folder)).returncode == 0
    plugin(folder, json.dumps({**reply, "supportedVersions": ["0.4.0"]}))
    result = refimpl("cni", "lint", str(conf), "--cni-path", f"{tmp_path}:{folder}")
    assert result.returncode == 1
    assert "error CNI-CFG-017" in result.stdout


@pytest.mark.parametrize("reply", ["no document", "{}"])
def test_a_plugin_that_tells_no_versions_is_a_warning(
    refimpl: Command, conf: Path, tmp_path: Path, reply: str
) -> None:
    """It may be something else altogether."""
    folder = plugin(tmp_path / "bin", reply).parent
    result = refimpl("cni", "lint", str(conf), "--cni-path", str(folder))
    assert result.returncode == 0
    assert "warning CNI-CFG-017" in result.stdout


def test_a_plugin_that_fails_is_a_warning(refimpl: Command, conf: Path, tmp_path: Path) -> None:
    """How it ended is told."""
    path = plugin(tmp_path / "bin", "")
    path.write_text("#!/bin/sh\nexit 3\n")
    result = refimpl("cni", "lint", str(conf), "--cni-path", str(path.parent))
    assert result.returncode == 0
    assert "exit 3" in result.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("cni", "lint"), "FILE|DIR"),
        (("cni", "lint", "/nonexistent/x.conf"), "no such file"),
        (("cni", "lint", "/", "--cni-path", "/nonexistent"), "no directory"),
        (("cni", "lint", "/", "--nope"), "--nope"),
        (("cni", "nope"), "nope"),
    ],
)
def test_what_cannot_begin_ends_with_4(
    refimpl: Command, words: tuple[str, ...], message: str
) -> None:
    """One sentence on stderr."""
    result = refimpl(*words)
    assert result.returncode == 4
    assert message in result.message


@pytest.mark.parametrize("words", [("cni", "--help"), ("cni", "lint", "--help")])
def test_help_has_examples(refimpl: Command, words: tuple[str, ...]) -> None:
    """The quickest way to a first run."""
    result = refimpl(*words)
    assert result.returncode == 0
    assert "refimpl cni lint /etc/cni/net.d" in result.stdout


def test_help_imports_no_lint() -> None:
    """It must answer at once."""
    code = (
        "import sys, refimpl.cli.cni; "
        "print([name for name in sys.modules if name.startswith('refimpl.cni')])"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout == "[]\n"
