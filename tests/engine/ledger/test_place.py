"""What a run has on this machine: it goes with the run, or is swept after it was killed."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import msgspec
import pytest

from conformance.engine.ledger import processes, sweep
from conformance.engine.ledger.entries import CALL, FOLDER, Ledger
from conformance.engine.ledger.leftovers import MOUNT
from conformance.engine.ledger.place import run_place
from conformance.engine.options import BadOption, Options
from refimpl.cni.host import syscalls
from tests.engine.scripted_cri import killed

KILLED = """
import subprocess, sys, tempfile
from conformance.engine.ledger.place import run_place
from conformance.engine.options import Options

place = run_place(Options(interface="csi", command=("./driver", "{endpoint}"), run_id=sys.argv[1]))
folder = place.__enter__()
tempfile.mkdtemp()
subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])
"""


@pytest.fixture(autouse=True)
def tmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for temporary ones."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return folder


def options(run_id: str = "1") -> Options:
    """Of a run."""
    return Options(interface="csi", command=("./driver", "{endpoint}"), run_id=run_id)


def test_everything_temporary_goes_with_the_run(tmp: Path) -> None:
    """What was made by us or a child of ours, and children that are left."""
    with run_place(options()) as folder:
        assert folder.parent == tmp
        made = tempfile.mkdtemp()
        assert Path(made).parent == folder
        child = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])
        script = "import tempfile; print(tempfile.gettempdir())"
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
        assert done.stdout.decode().strip() == str(folder)
    assert child.wait() < 0
    assert list(tmp.iterdir()) == []
    assert sweep.ledgers() == []
    assert (tempfile.gettempdir(), os.environ["TMPDIR"]) == (str(tmp), str(tmp))
    assert processes.MARK not in os.environ


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
def test_what_a_driver_left_mounted_is_told_and_kept_for_a_sweep(
    tmp: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is unmounted before anything below it is deleted."""
    theirs = tmp / "theirs"
    theirs.mkdir()
    (theirs / "data").touch()
    with run_place(options()) as folder:
        target = folder / "target"
        target.mkdir()
        syscalls.mount(str(theirs), str(target), flags=0x1000)  # MS_BIND
    told = capsys.readouterr().err
    assert told.startswith(f"refimpl: folder {folder}: could not be undone; refimpl sweep csi --")
    assert (target / "data").exists()
    lines, failed = sweep.sweep(Options(target=""))
    assert not failed, lines
    assert os.listdir(tmp) == ["theirs"]
    assert (theirs / "data").exists()
    assert sweep.ledgers() == []


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
def test_what_a_case_mounted_goes_before_what_it_lies_on(tmp: Path) -> None:
    """A driver would refuse to let go of a target with a stranger's mount on it."""
    target = tmp / "target"
    target.mkdir()
    chosen = options()
    ledger = Ledger(sweep.ledger_path("csi", chosen.named_target, "1"), chosen.named_target)
    ledger.making(FOLDER, target)
    for _ in range(2):
        ledger.add(MOUNT, str(target))
        syscalls.mount(str(target), str(target), flags=0x1000)  # MS_BIND
    ledger.close()
    lines, failed = sweep.sweep(Options(target=""))
    assert not failed
    assert [line.partition(": ")[2] for line in lines] == [
        f"mount {target} removed",
        f"mount {target} was gone already",
        f"folder {target} removed",
    ]
    assert not target.exists()


def test_what_is_left_on_the_target_is_told_at_the_end(capsys: pytest.CaptureFixture[str]) -> None:
    """With the command that tries again; a run that leaves nothing says nothing."""
    with run_place(options()):
        pass
    assert capsys.readouterr().err == ""
    with run_place(options("2")):
        ledger = Ledger(sweep.ledger_path("csi", "/run/x.sock", "2"), "/run/x.sock")
        ledger.add(CALL, "/csi.v1.Controller/CreateVolume")
        ledger.close()
    told = capsys.readouterr().err
    assert told == (
        "refimpl: CreateVolume: could not be undone; refimpl sweep csi /run/x.sock tries again\n"
    )


def test_what_a_killed_run_had_is_swept_without_its_target(tmp: Path) -> None:
    """Its target may be a program that nobody wants to start again for that."""
    killed(KILLED, "one")
    assert len(processes.marked("one")) == 1
    (folder,) = tmp.iterdir()
    lines, failed = sweep.sweep(Options(target=""), dry_run=True)
    assert any(line.endswith(f"would undo folder {folder}") for line in lines)
    assert processes.marked("one")
    lines, failed = sweep.sweep(Options(target=""))
    assert not failed
    assert [line.partition(": ")[2] for line in lines] == [
        "processes of run one removed",
        f"folder {folder} removed",
    ]
    assert processes.marked("one") == []
    assert list(tmp.iterdir()) == []
    assert sweep.ledgers() == []


def test_calls_need_their_target() -> None:
    """By the command that does it; a target that has to be started is named by that."""
    chosen = options()
    ledger = Ledger(sweep.ledger_path("csi", chosen.named_target, "1"), chosen.named_target)
    ledger.add(CALL, "/csi.v1.Controller/CreateVolume", {"request": ""})
    ledger.close()
    lines, failed = sweep.sweep(Options(target=""))
    assert failed
    assert lines[0].endswith("refimpl sweep csi -- ./driver '{endpoint}'")
    with pytest.raises(BadOption, match=r"\./driver: No such file"):
        sweep.sweep(msgspec.structs.replace(chosen, target=""))


def test_a_run_that_is_going_on_keeps_what_it_has() -> None:
    """Its lock tells."""
    with run_place(options()) as folder:
        lines, failed = sweep.sweep(Options(target=""))
        assert not failed
        assert "left alone, its run is still going" in lines[0]
        assert folder.exists()


def test_no_room_for_a_folder_is_told(tmp: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one sentence, before anything was opened; nothing is on record then."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp / "none"))
    with (
        pytest.raises(BadOption, match="No such file or directory; set TMPDIR"),
        run_place(options()),
    ):
        raise AssertionError("a place without a folder")
    assert sweep.ledgers() == []
