"""`refimpl report` makes reports of any stream, and says what is wrong with a file that is none."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner, Result

from conformance.engine.events import CaseDone, End, Run
from refimpl.cli.report import command

RUN = Run(
    interface="csi",
    target="hostpath 1.17.0 at fake",
    revision="csi-1.13",
    suite="0.1.0",
    seed=1,
    started=1_760_000_000.0,
    config={},
)
CASE = CaseDone(id="CSI-LV-001", level="MUST", outcome="pass", duration_s=0.1, title="it lists")
END = End(counts={"pass": 1}, exit_code=0, duration_s=0.2)


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """What rich reads of it; who runs the tests may have set any."""
    for name in ("COLUMNS", "FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")


@pytest.fixture
def stream(tmp_path: Path) -> Path:
    """The events of a run of one case."""
    path = tmp_path / "events.jsonl"
    path.write_bytes(b"".join(msgspec.json.encode(event) + b"\n" for event in (RUN, CASE, END)))
    return path


def report(*words: object, stdin: Any = None) -> Result:
    return CliRunner().invoke(command, [str(word) for word in words], input=stdin)


def test_every_report_asked_for_is_written(stream: Path, tmp_path: Path) -> None:
    """Each of the four, from one reading of the stream."""
    names = {kind: tmp_path / f"made.{kind}" for kind in ("html", "junit", "markdown", "badge")}
    words = [word for kind, path in names.items() for word in (f"--{kind}", path)]
    result = report(stream, *words)
    assert (result.exit_code, result.output) == (0, "")
    assert names["html"].read_text().startswith("<!DOCTYPE html>")
    assert names["junit"].read_text().startswith("<?xml")
    assert names["markdown"].read_text().startswith("## CSI conformance")
    assert json.loads(names["badge"].read_text())["message"] == "1/1 MUST"


def test_a_dash_is_stdin_and_stdout(stream: Path) -> None:
    """So that it can stand in a pipe."""
    result = report("-", "--badge", "-", stdin=stream.read_bytes())
    assert result.exit_code == 0
    assert json.loads(result.stdout)["color"] == "brightgreen"


def test_without_a_report_asked_for_the_summary_is_printed(stream: Path) -> None:
    """Somebody who has the stream only wants to know how it went."""
    result = report(stream)
    assert result.exit_code == 0
    assert result.output.splitlines() == [
        "1 case in 200 ms: 1 passed",
        "Conformant: the one MUST requirement is met.",
    ]


def test_a_killed_run_has_a_summary_too(stream: Path) -> None:
    """The end record and half a line are missing."""
    lines = stream.read_bytes().splitlines(keepends=True)
    stream.write_bytes(b"".join(lines[:2]) + lines[1][:20])
    assert "Unfinished: the run was cut short after 1 case" in report(stream).output


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "holds no run record"),
        (b"hello\nworld\n", "line 1: no event of ours"),
        (b'{"type": "run"}\n\n', "line 1: no event of ours"),
        (msgspec.json.encode(CASE) + b"\n", "holds no run record"),
        (msgspec.json.encode(RUN).replace(b'"schema":1', b'"schema":9'), "schema 9"),
    ],
)
def test_a_file_that_is_no_stream_is_a_usage_error(
    tmp_path: Path, content: bytes, message: str
) -> None:
    """Exit code 4 and a sentence that names the file and what to give instead."""
    path = tmp_path / "other.jsonl"
    path.write_bytes(content)
    result = report(path, "--badge", "-")
    assert result.exit_code == 4
    assert message in result.output
    assert str(path) in result.output


def test_a_file_that_is_not_there_is_a_usage_error(tmp_path: Path) -> None:
    """The same for a directory, which opens and cannot be read."""
    for path in (tmp_path / "none.jsonl", tmp_path):
        result = report(path)
        assert result.exit_code == 4
        assert "name the events.jsonl of a run" in result.output


def test_a_report_that_cannot_be_written_is_a_usage_error(stream: Path, tmp_path: Path) -> None:
    """It names the option, since there may be four."""
    result = report(stream, "--junit", tmp_path / "no" / "junit.xml")
    assert result.exit_code == 4
    assert "--junit" in result.output
    assert "No such file or directory" in result.output
