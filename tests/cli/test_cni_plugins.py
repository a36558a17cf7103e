"""Fake plugins from the shell."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from refimpl.cli.cni import command


def run(*words: str | Path) -> Result:
    """`refimpl cni ...`."""
    return CliRunner().invoke(command, [str(word) for word in words])


def test_installed_plugins_answer_and_their_calls_are_on_record(tmp_path: Path) -> None:
    """What a runtime did is read back without a line of Python."""
    calls = tmp_path / "calls.jsonl"
    installed = run("install", tmp_path / "bin", "--plugin", "bridge=interface", "--journal", calls)
    (plugin,) = installed.output.split()
    env = {"CNI_COMMAND": "VERSION", "OTHER": "1"}
    request = b'{"cniVersion":"1.0.0"}'
    process = subprocess.run([plugin], env=env, input=request, capture_output=True, check=True)
    assert json.loads(process.stdout)["cniVersion"] == "1.0.0"
    printed = run("journal", calls, "-v").output
    assert "bridge" in printed
    assert "VERSION" in printed
    assert "and 1 variables of the runtime's own" in printed
    (record,) = map(json.loads, run("journal", calls, "--json").output.splitlines())
    assert record["stdin"] == {"cniVersion": "1.0.0"}
    assert record["status"] == 0


def test_faults_are_read_from_a_file(tmp_path: Path) -> None:
    """A runtime's author wants a plugin that fails on the second ADD, not a framework."""
    faults = tmp_path / "faults.yaml"
    faults.write_text("- {verb: VERSION, do: error, code: 11, msg: later}\n")
    installed = run("install", tmp_path, "--plugin", "x=recorder", "--faults", faults)
    (plugin,) = installed.output.split()
    env = {"CNI_COMMAND": "VERSION"}
    process = subprocess.run([plugin], env=env, input=b"{}", capture_output=True, check=False)
    assert json.loads(process.stdout)["code"] == 11


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["install", "DIR", "--plugin", "bridge"], "write NAME=KIND"),
        (["install", "DIR", "--plugin", "a=b"], "there is no kind 'b'"),
        (["install", "DIR", "--plugin", "../a=recorder"], "no name for a plugin"),
        (["install", "DIR", "--version", "9.9.9"], "take some of"),
        (["install", "DIR", "--faults", "/nowhere"], "No such file"),
        (["install", "/proc/none"], "/proc/none"),
        (["journal", "/nowhere"], "no such file"),
    ],
)
def test_what_cannot_be_is_said(tmp_path: Path, words: list[str], message: str) -> None:
    """Usage errors, never a traceback."""
    result = run(*[str(tmp_path) if word == "DIR" else word for word in words])
    assert result.exit_code == 4
    assert message in " ".join(result.output.split())


@pytest.mark.parametrize("text", ["{verb: ADD}", "- ADD", "- {do: flyy}", ": :", "- {"])
def test_faults_that_are_none_are_refused(tmp_path: Path, text: str) -> None:
    """Before a plugin is made that does nothing of it."""
    faults = tmp_path / "faults.yaml"
    faults.write_text(text)
    result = run("install", tmp_path / "bin", "--faults", faults)
    assert result.exit_code == 4


def test_a_file_that_is_no_journal_is_refused(tmp_path: Path) -> None:
    """With its name, and no traceback."""
    path = tmp_path / "calls"
    path.write_text("hello\n")
    assert run("journal", path).exit_code == 4


def test_every_knob_is_listed() -> None:
    """With a line each, at 80 columns."""
    printed = run("knobs").output
    assert "hold-stdout" in printed
    assert all(len(line) <= 80 for line in printed.splitlines())
