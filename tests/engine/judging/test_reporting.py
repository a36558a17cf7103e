"""The report folder, however a run ends."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from conformance.engine import events
from conformance.engine.judging.reporting import ReportFolder
from conformance.engine.options import BadOption
from tests.conftest import SmallDisk

Toy = Any  # the fixture of that name, in conftest.py
REPORTS = ["badge.json", "events.jsonl", "junit_toy.xml", "report.html", "summary.md"]


def test_a_folder_is_made_and_proven_before_the_run(tmp_path: Path) -> None:
    """With its parents; the stream of an earlier run does not get mixed into this one."""
    folder = ReportFolder.prepare(str(tmp_path / "a" / "b"))
    assert folder.events.read_bytes() == b""
    folder.events.write_text("old")
    assert ReportFolder.prepare(str(tmp_path / "a" / "b")).events.read_bytes() == b""


@pytest.mark.parametrize("name", ["file/out", "file", "/proc/out"])
def test_a_folder_that_cannot_be_written_is_a_usage_error(tmp_path: Path, name: str) -> None:
    """It names the option, what is wrong and what to do."""
    (tmp_path / "file").write_text("x")
    with pytest.raises(BadOption, match=r"--report-dir .*; name a directory you can write to"):
        ReportFolder.prepare(str(tmp_path / name))


def test_two_runs_in_one_folder_are_a_usage_error(tmp_path: Path) -> None:
    """They would write into each other's reports; one after the other is all right."""
    script = (
        "import sys; from conformance.engine.judging.reporting import ReportFolder;"
        "ReportFolder.prepare(sys.argv[1]); print(flush=True); sys.stdin.read()"
    )
    words = [sys.executable, "-c", script, str(tmp_path)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"\n"
        with pytest.raises(BadOption, match="another run writes there"):
            ReportFolder.prepare(str(tmp_path))
        other.communicate()
    ReportFolder.prepare(str(tmp_path))
    ReportFolder.prepare(str(tmp_path))


def test_every_run_fills_its_folder(toy: Toy, tmp_path: Path) -> None:
    """JUnit carries the name of the interface."""
    out = tmp_path / "out"
    assert toy.run(toy.ONE_OF_EACH, report_dir=str(out)) == 1
    assert sorted(os.listdir(out)) == REPORTS
    assert events.read(out / "events.jsonl") == toy.events
    assert all((out / name).stat().st_size for name in REPORTS)


def test_a_run_with_nothing_selected_fills_its_folder(toy: Toy, tmp_path: Path) -> None:
    """CI collects the same files whatever has happened."""
    out = tmp_path / "out"
    assert toy.run(toy.ONE_OF_EACH, only=("TOY-Z-*",), report_dir=str(out)) == 5
    assert sorted(os.listdir(out)) == REPORTS


def test_a_run_without_an_end_fills_its_folder(toy: Toy, tmp_path: Path) -> None:
    """A killed run is reported later from what it had found, with the same functions."""
    out = tmp_path / "out"
    toy.run(toy.ONE_OF_EACH, report_dir=str(out))
    stream = events.read(out / "events.jsonl")[:-1]
    (out / "summary.md").unlink()
    ReportFolder(out).write(stream)
    assert (out / "summary.md").read_text()


def test_an_empty_stream_makes_no_reports(tmp_path: Path) -> None:
    """The run was refused before it began."""
    folder = ReportFolder.prepare(str(tmp_path))
    assert folder.finish()
    assert os.listdir(tmp_path) == ["events.jsonl"]


def test_a_run_whose_folder_goes_away_is_no_success(
    toy: Toy, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One sentence, and the verdict is told all the same."""
    out = tmp_path / "out"
    cases = f"""
    import shutil

    @case("TOY-A-001", "toys")
    def test_a_toy_that_tidies_up(toy):
        shutil.rmtree({str(out)!r})
    """
    assert toy.run(cases, report_dir=str(out)) == 3
    assert toy.outcomes == {"TOY-A-001": "pass"}
    stderr = capsys.readouterr().err
    assert f"--report-dir {out}" in stderr
    assert "the reports are not complete" in stderr
    assert "Traceback" not in stderr


def test_a_report_that_cannot_be_written_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A directory is in the way of the page."""
    folder = ReportFolder.prepare(str(tmp_path / "out"))
    run = events.Run(
        interface="toy", target="t", revision="", suite="", seed=0, started=0, config={}
    )
    stream = events.EventStream(folder.events)
    stream.emit(run)
    stream.close()
    (folder.path / "report.html").mkdir()
    assert not folder.finish()
    assert "report.html: it is a directory" in capsys.readouterr().err
    shutil.rmtree(folder.path)


@pytest.mark.parametrize(("end", "code"), [("pass", 3), ("raise Broken('small', '', '')", 1)])
def test_a_full_disk_is_no_success(end: str, code: int, toy: Toy, small_disk: SmallDisk) -> None:
    """A job that collects what is not there must not be green; a failure stays one."""
    out = small_disk.folder / "out"
    fills = f"""
    @case("TOY-A-001", "toys")
    def test_a_toy_that_fills_the_disk(toy):
        with open({str(small_disk.folder / "filler")!r}, "wb", buffering=0) as file:
            try:
                while file.write(bytes(4096)):
                    pass
            except OSError:
                {end}
    """
    assert toy.run(fills, report_dir=str(out)) == code


def test_reports_go_through_no_link(toy: Toy, tmp_path: Path) -> None:
    """One that lies there is somebody's trap; the file that it leads to stays as it is."""
    out, precious = tmp_path / "out", tmp_path / "precious"
    out.mkdir()
    precious.write_text("precious")
    (out / "summary.md").symlink_to(precious)
    assert toy.run(toy.ONE_OF_EACH, report_dir=str(out)) == 1
    assert precious.read_text() == "precious"
    for name in ("events.jsonl", "summary.md"):
        (out / name).unlink()
        (out / name).symlink_to(precious)
    with pytest.raises(BadOption, match="it is a link and no file"):
        ReportFolder.prepare(str(out))
    assert precious.read_text() == "precious"
