"""`refimpl matrix` judges targets one after another and shows them side by side."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from conformance.engine import events, fixtures
from conformance.engine.verdict import eventually
from refimpl.cli.matrix import PAGE
from tests.cli.conftest import Command

FEW = ("--only", "CRI-RT-00*", "--only", "CRI-SB-07[23]")


def test_profiles_of_a_fake_side_by_side(refimpl: Command, tmp_path: Path) -> None:
    """What differs comes first; who is out of reach has a column that says so."""
    words = ("cri", "fake:strict", "fake:containerd", str(tmp_path / "none.sock"))
    result = refimpl("matrix", *words, *FEW, "--report-dir", str(tmp_path))
    assert result.returncode == 1
    lines = result.stdout.splitlines()
    where = lines.index("Different (3)")
    assert [line.split()[:4] for line in lines[where + 2 : where + 5]] == [
        ["CRI-RT-009", "pass", "warn", "-"],
        ["CRI-SB-072", "pass", "fail", "-"],
        ["CRI-SB-073", "pass", "warn", "-"],
    ]
    assert "No verdict: the target is out of reach" in " ".join(result.stdout.split())
    page = (tmp_path / PAGE).read_text()
    assert 'href="fake-containerd/report.html#CRI-SB-072"' in page
    assert 'id="CRI-SB-072"' in (tmp_path / "fake-containerd" / "report.html").read_text()
    assert "No verdict: the target is out of reach" in page
    assert (tmp_path / "none" / "report.html").exists()


def test_targets_out_of_reach_alone_are_exit_code_6(refimpl: Command, tmp_path: Path) -> None:
    """A job can tell a machine that is down from a driver that is wrong."""
    words = ("cri", "fake", str(tmp_path / "none.sock"), "--only", "CRI-RT-001")
    assert refimpl("matrix", *words, "--report-dir", str(tmp_path)).returncode == 6


def test_target_files_say_their_interface(refimpl: Command, tmp_path: Path) -> None:
    """By their table or a key; options hold for all, what a file says for its target."""
    (tmp_path / "old.toml").write_text('endpoint = "fake"\nrevision = "csi-1.12"\n[csi]\n')
    (tmp_path / "new.toml").write_text('endpoint = "fake"\ninterface = "csi"\n')
    words = (str(tmp_path / "old.toml"), str(tmp_path / "new.toml"), "--only", "CSI-ID-001")
    result = refimpl("matrix", *words, "--level", "must", "--report-dir", str(tmp_path))
    assert result.returncode == 0
    runs = [events.read(tmp_path / name / "events.jsonl")[0] for name in ("old", "new")]
    assert all(isinstance(run, events.Run) for run in runs)
    assert [run.revision for run in runs if isinstance(run, events.Run)] == ["csi-1.12", "csi-1.13"]
    assert [run.config["level"] for run in runs if isinstance(run, events.Run)] == ["must", "must"]


def test_releases_of_a_client(refimpl: Command, tmp_path: Path) -> None:
    """Who calls an interface is judged as well; targets of one name have a folder each."""
    words = ("client", "deviceplugin", "fake:1.34", "fake:1.37", "fake:1.37", "--only", "REG-001")
    result = refimpl("matrix", *words, "--report-dir", str(tmp_path))
    assert result.returncode == 0
    assert "0 of 1 cases that ran more than once differ" in result.stdout
    folders = {path.parent.name for path in tmp_path.glob("*/report.html")}
    assert folders == {"fake-1.34", "fake-1.37", "fake-1.37-2"}


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("cri", "fake"), "1 target given; name two to 26"),
        (("fake:strict", "fake:crio"), "name the one interface of all targets"),
        (("kubelet", "csi-driver-host-path"), "kubelet is of ?, csi-driver-host-path is of csi"),
        (("cri", "fake", "nothing.toml"), "nothing.toml: No such file or directory"),
        (("cri", "fake", "fake", "--only", "CRI-RT-001", "--", "x"), "name a target file for each"),
        (("cri", "fake", "csi-driver-host-path"), "csi-driver-host-path.toml"),
    ],
)
def test_what_cannot_be_used_is_refused_before_a_target_is_judged(
    refimpl: Command, tmp_path: Path, words: tuple[str, ...], complaint: str
) -> None:
    """A typing error in the last target shows at once, not after an hour."""
    where = words.index("--") if "--" in words else len(words)
    words = (*words[:where], "--report-dir", str(tmp_path), *words[where:])
    result = refimpl("matrix", *words)
    assert result.returncode == 4
    assert complaint in result.message
    assert not list(tmp_path.glob("*/events.jsonl"))


def test_the_usage_line_promises_no_command(refimpl: Command) -> None:
    """It would be refused: one command is one target."""
    usage = refimpl("matrix", "--help").stdout.splitlines()[0]
    assert usage == "Usage: refimpl matrix [OPTIONS] [IFACE] TARGET TARGET..."


def test_a_folder_is_needed(refimpl: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is no page without one."""
    monkeypatch.delenv("ARTIFACTS", raising=False)
    result = refimpl("matrix", "cri", "fake", "fake:crio")
    assert result.returncode == 4
    assert "--report-dir is missing" in result.message


def test_a_file_of_another_interface_is_refused(refimpl: Command, tmp_path: Path) -> None:
    """Its settings would be nobody's."""
    (tmp_path / "a.toml").write_text('endpoint = "fake"\ninterface = "csi"\n')
    result = refimpl("test", "cri", str(tmp_path / "a.toml"))
    assert result.returncode == 4
    assert "a target of csi, not of cri" in result.message


def test_a_matrix_that_is_told_to_end_has_its_page(tmp_path: Path) -> None:
    """The run at hand cleans up as it would alone; the others have not begun."""
    words = ["matrix", "cri", "fake", "fake:crio", "--report-dir", str(tmp_path)]
    with subprocess.Popen(
        [sys.executable, "-m", "refimpl", *words],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(fixtures.folder().parent)},
    ) as process:
        stream = tmp_path / "fake" / "events.jsonl"
        eventually(
            lambda: stream.exists() and b'"case"' in stream.read_bytes(), 30.0, "a case is done"
        )
        process.send_signal(signal.SIGTERM)
        output = process.communicate(timeout=60)[0]
    assert process.returncode == 2
    assert "Interrupted after" in (tmp_path / PAGE).read_text()
    assert not (tmp_path / "fake-crio").exists()
    assert "B  fake-crio\n   Interrupted after 0 cases" in output
