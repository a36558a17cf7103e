"""`refimpl cdi`: judge, list, resolve and inject."""

from __future__ import annotations

import io
import json
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest

from refimpl.cdi.inject import CHOICES
from refimpl.cdi.rules import Policy
from refimpl.cli import cdi as module

Command = Callable[..., Any]  # see conftest.py

GPU = """\
cdiVersion: 0.5.0
kind: vendor.com/gpu
devices:
- {name: "0", containerEdits: {env: [GPU=0], deviceNodes: [{path: /dev/null}]}}
- {name: "1", containerEdits: {deviceNodes: [{path: /dev/no-such-node}]}}
containerEdits: {env: [DRIVER=1]}
"""
GPU0, GPU1 = "vendor.com/gpu=0", "vendor.com/gpu=1"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A directory with two devices."""
    directory = tmp_path / "cdi"
    directory.mkdir()
    (directory / "gpu.yaml").write_text(GPU)
    return directory


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """An OCI config."""
    path = tmp_path / "config.json"
    path.write_text('{"ociVersion": "1.2.0", "process": {"env": ["A=b"]}}')
    path.chmod(0o640)
    return path


def test_help_fits_a_terminal_and_has_examples(refimpl: Command) -> None:
    """Of the group and of each command."""
    for words in ((), ("validate",), ("list",), ("resolve",), ("inject",)):
        result = refimpl("cdi", *words, "--help")
        assert result.returncode == 0
        assert "Examples:" in result.stdout
        assert all(len(line) <= 80 for line in result.stdout.splitlines())


def test_the_choices_are_those_of_the_library() -> None:
    """They are repeated so that --help does not import it."""
    assert set(module.POLICIES) == set(get_args(Policy))
    assert set(module.PROFILES) == set(CHOICES)


def test_sound_files_are_fine(refimpl: Command, folder: Path) -> None:
    """A directory stands for its files."""
    result = refimpl("cdi", "validate", str(folder))
    assert (result.returncode, result.stdout) == (0, "")
    assert result.message == "1 file, 0 errors, 0 warnings"


def test_findings_have_their_place_and_make_it_fail(refimpl: Command, folder: Path) -> None:
    """Errors do; a warning alone does not."""
    broken, odd = folder / "broken.yaml", folder / "odd.yaml"
    broken.write_text(GPU.replace("GPU=0", "GPU"))
    odd.write_text(GPU.replace('"0"', "0"))
    result = refimpl("cdi", "validate", str(broken), str(odd))
    assert result.returncode == 1
    assert f"{broken}:4:38: error: 'GPU' is no environment variable; write" in result.stdout
    assert f"{odd}:4:10: warning: name is 0" in result.stdout
    assert result.message == "2 files, 1 error, 1 warning"
    assert refimpl("cdi", "validate", str(odd)).returncode == 0
    assert refimpl("cdi", "validate", str(odd), "--policy", "strict").returncode == 1


def test_findings_are_data_for_programs(refimpl: Command, folder: Path) -> None:
    """One object a file."""
    (folder / "broken.yaml").write_text("kind: a/b\n")
    result = refimpl("cdi", "validate", str(folder), "--json")
    broken, sound = map(json.loads, result.stdout.splitlines())
    assert (sound["ok"], sound["findings"]) == (True, [])
    assert broken["ok"] is False
    assert {finding["rule"] for finding in broken["findings"]} == {"required", "no-devices"}
    assert {"level", "pointer", "file", "line", "column", "text", "hint", "source"} < set(
        broken["findings"][0]
    )


def test_devices_are_listed_with_their_files(refimpl: Command, folder: Path) -> None:
    """Sorted by name."""
    result = refimpl("cdi", "list", "--dir", str(folder))
    assert (result.returncode, result.stderr) == (0, "")
    assert [line.split() for line in result.stdout.splitlines()] == [
        [GPU0, str(folder / "gpu.yaml")],
        [GPU1, str(folder / "gpu.yaml")],
    ]
    records = refimpl("cdi", "list", "--dir", str(folder), "--json").stdout.splitlines()
    assert json.loads(records[0]) == {
        "name": GPU0,
        "path": str(folder / "gpu.yaml"),
        "priority": 0,
    }


def test_a_problem_of_one_file_is_told_beside_the_devices_of_others(
    refimpl: Command, folder: Path
) -> None:
    """On stderr, so that the list stays a list."""
    (folder / "broken.yaml").write_text("{")
    result = refimpl("cdi", "list", "--dir", str(folder))
    assert result.returncode == 1
    assert len(result.stdout.splitlines()) == 2
    assert f"{folder / 'broken.yaml'}:" in result.stderr


def test_a_name_is_resolved_to_its_edits(refimpl: Command, folder: Path) -> None:
    """For people as YAML, for programs as JSON."""
    result = refimpl("cdi", "resolve", GPU0, "--dir", str(folder))
    assert result.returncode == 0
    assert result.stdout.startswith(f"{GPU0}  {folder / 'gpu.yaml'}\n  containerEdits:\n")
    assert "- DRIVER=1\n" in result.stdout
    record = json.loads(refimpl("cdi", "resolve", GPU0, "--dir", str(folder), "--json").stdout)
    assert record["containerEdits"]["env"] == ["GPU=0"]
    assert record["spec"] == {"containerEdits": {"env": ["DRIVER=1"]}}


def test_what_cannot_be_resolved_is_told_with_its_reason(refimpl: Command, folder: Path) -> None:
    """The others are shown all the same."""
    result = refimpl("cdi", "resolve", "gpu", GPU0, "a/b=c", "--dir", str(folder))
    assert result.returncode == 1
    assert result.stdout.startswith(GPU0)
    assert "'gpu' is no qualified device name" in result.stderr
    assert "a/b=c: no file defines the kind a/b (known: vendor.com/gpu)" in result.stderr


def test_the_later_directory_wins(refimpl: Command, folder: Path, tmp_path: Path) -> None:
    """As /var/run/cdi does over /etc/cdi."""
    later = tmp_path / "later"
    later.mkdir()
    (later / "x.yaml").write_text(GPU)
    for order in ((folder, later), (later, folder)):
        words = [word for directory in order for word in ("--dir", str(directory))]
        assert f"{order[1]}/" in refimpl("cdi", "resolve", GPU0, *words).stdout


def test_a_config_is_printed_with_the_device(refimpl: Command, folder: Path, config: Path) -> None:
    """The file stays as it was; null's numbers are the same on every Linux."""
    original = config.read_bytes()
    result = refimpl("cdi", "inject", str(config), GPU0, "--dir", str(folder))
    assert (result.returncode, result.stderr) == (0, "")
    record = json.loads(result.stdout)
    assert record["process"]["env"] == ["A=b", "DRIVER=1", "GPU=0"]
    assert [finding["major"] for finding in record["linux"]["devices"]] == [1]
    assert config.read_bytes() == original


def test_a_config_is_changed_in_place(refimpl: Command, folder: Path, config: Path) -> None:
    """With the mode it had, and nothing left beside it."""
    result = refimpl("cdi", "inject", str(config), GPU0, "--dir", str(folder), "--in-place")
    assert (result.returncode, result.stdout) == (0, "")
    assert json.loads(config.read_text())["process"]["env"] == ["A=b", "DRIVER=1", "GPU=0"]
    assert stat.S_IMODE(config.stat().st_mode) == 0o640
    assert {path.name for path in config.parent.iterdir()} == {"cdi", "config.json"}


def test_a_config_may_come_from_stdin(
    refimpl: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a filter."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"{}")))
    result = refimpl("cdi", "inject", "-", GPU0, "--dir", str(folder), "--profile", "practice")
    assert json.loads(result.stdout)["process"] == {"env": ["DRIVER=1", "GPU=0"]}


@pytest.mark.parametrize(
    ("name", "message"),
    [("a/b=c", "no file defines the kind"), (GPU1, "/dev/no-such-node of the host")],
)
def test_a_failed_injection_changes_nothing(
    refimpl: Command, folder: Path, config: Path, name: str, message: str
) -> None:
    """All or none."""
    original = config.read_bytes()
    result = refimpl("cdi", "inject", str(config), GPU0, name, "--dir", str(folder), "--in-place")
    assert (result.returncode, result.stdout) == (1, "")
    assert message in result.message
    assert config.read_bytes() == original


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("validate",), "Missing argument"),
        (("validate", "/no/such/file"), "/no/such/file: there is no such file"),
        (("validate", "x", "--policy", "lax"), "--policy"),
        (("list", "--dir", "/no/such/dir"), "--dir /no/such/dir: there is no such directory"),
        (("resolve",), "Missing argument"),
        (("inject", "/no/such/file", GPU0), "/no/such/file: No such file"),
        (("inject", "-", GPU0, "--in-place"), "--in-place changes a file"),
        (("nothing",), "No such command"),
    ],
)
def test_a_wrong_call_ends_with_4(refimpl: Command, words: tuple[str, ...], message: str) -> None:
    """On stderr."""
    result = refimpl("cdi", *words)
    assert (result.returncode, result.stdout) == (4, "")
    assert message in result.message


def test_a_config_that_is_no_json_is_a_wrong_call(refimpl: Command, config: Path) -> None:
    """With its line and column."""
    config.write_text("{,")
    result = refimpl("cdi", "inject", str(config), GPU0)
    assert result.returncode == 4
    assert f"{config}:1:2:" in result.message
