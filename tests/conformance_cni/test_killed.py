"""A run on a runtime is killed by SIGKILL: what it leaves is told, and swept."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.cni.runtimes.killed import ASIDE, put_back, say_what_is_left
from conformance.engine.ledger import sweep
from conformance.engine.ledger.entries import Ledger
from conformance.engine.ledger.leftovers import NotRemoved
from conformance.engine.options import Options
from refimpl.cni.plugins import main, settings_of
from tests.engine.scripted_cri import ScriptedCri, killed, running

SCRIPT = """
import sys
from conformance.cni.opening import open_target
from conformance.cni.runtimes.runtime import RuntimeUnderTest
from conformance.engine.options import Options
from conformance.engine.targets.resolve import resolve
from conformance.engine.scope import CaseScope

options = Options(interface="cni", target=sys.argv[1], run_id=sys.argv[2])
target = open_target(resolve(options, "cni"))
scope = CaseScope()
runtime = RuntimeUnderTest(target.bench, scope)
runtime.recorders.note(runtime.recorders.path("d")).mkdir()
runtime.recorders.note(runtime.recorders.path("x"))
runtime.recorders.install("x")
runtime.tell("a", {"verb": "DEL", "do": "error"}, DEL={"error": {"code": 100, "msg": "no"}})
runtime.files.write(b"{}")
assert runtime.attempt() == ""
"""


@pytest.fixture
def cri(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedCri]:
    """A runtime with a network and a plugin of somebody else."""
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)  # a run has workers of its own
    with ScriptedCri(tmp_path) as runtime:
        (runtime.conf_dir / "10-theirs.conflist").touch()
        (runtime.bin_dir / "bridge").touch()
        yield runtime


def options(cri: ScriptedCri) -> Options:
    """Of a sweep."""
    return Options(interface="cni", target=cri.target, run_id="sweep")


def files(cri: ScriptedCri) -> list[str]:
    """In the folders of the runtime."""
    return sorted([*os.listdir(cri.conf_dir), *os.listdir(cri.bin_dir)])


def delete(cri: ScriptedCri, plugin: str) -> None:
    """DEL, as a runtime asks for it when a pod ends. Raises OSError where that fails."""
    path = cri.bin_dir / plugin
    env = {"CNI_COMMAND": "DEL", "CNI_CONTAINERID": "1", "CNI_IFNAME": "eth0"}
    document = f'{{"cniVersion": "1.0.0", "name": "n", "type": "{plugin}"}}'.encode()
    env |= {"CNI_PATH": str(cri.bin_dir), "CNI_NETNS": ""}
    if main("recorder", env, document, settings_of(path))[0] or not os.access(path, os.X_OK):
        raise OSError(f"{plugin} failed")


def test_a_sweep_removes_what_a_killed_run_left_and_nothing_else(
    cri: ScriptedCri, tmp_path: Path
) -> None:
    """The pod first: its plugins have to answer, whatever they were told before."""
    killed(SCRIPT, cri.target, "one")
    cri.ending = lambda: delete(cri, "refimpl-one-a")
    with pytest.raises(OSError, match="failed"):
        cri.ending()
    assert "00-refimpl-one-1.conflist" in files(cri)
    assert "refimpl-one-d" in files(cri)
    text, failed = sweep.sweep(options(cri), dry_run=True)
    assert "would undo pod " in text[0]
    assert cri.pods
    text, failed = sweep.sweep(options(cri))
    assert not failed, text
    assert any(line.endswith("00-refimpl-one-1.conflist removed") for line in text)
    assert files(cri) == ["10-theirs.conflist", "bridge"]
    assert cri.pods == {}
    assert list((tmp_path / "tmp").iterdir()) == []
    assert "nothing to do" in sweep.sweep(options(cri))[0][0]


def test_a_run_that_is_still_going_is_left_alone(
    cri: ScriptedCri, capsys: pytest.CaptureFixture[str]
) -> None:
    """While one that was killed goes. Who starts a run now hears of it."""
    killed(SCRIPT, cri.target, "one")
    with running(SCRIPT, cri.target, "two"):
        before = files(cri)
        say_what_is_left(cri.conf_dir)
        first, second = capsys.readouterr().err.splitlines()
        assert "00-refimpl-two-1.conflist: another run is using this runtime" in first
        assert "00-refimpl-one-1.conflist: a killed run left it" in second
        text, failed = sweep.sweep(options(cri))
        assert not failed
        assert [line for line in text if line.endswith("left alone, its run is still going")]
        assert files(cri) == [name for name in before if "-one-" not in name]
        assert len(cri.pods) == 1
    assert sweep.sweep(options(cri))[1] is False
    assert files(cri) == ["10-theirs.conflist", "bridge"]


def test_a_pod_that_stays_keeps_its_plugins_for_the_next_sweep(cri: ScriptedCri) -> None:
    """Its network cannot be taken back without them; the configuration is in everybody's way."""
    killed(SCRIPT, cri.target, "one")

    def refuse() -> None:
        raise OSError("busy")

    cri.ending = refuse
    text, failed = sweep.sweep(options(cri))
    assert failed
    assert any("could not be removed: UNKNOWN: its network stays: busy" in line for line in text)
    assert any("sweep again" in line for line in text)
    assert "00-refimpl-one-1.conflist" not in files(cri)
    cri.ending = lambda: delete(cri, "refimpl-one-a")
    assert sweep.sweep(options(cri))[1] is False
    assert files(cri) == ["10-theirs.conflist", "bridge"]


def test_a_run_that_ends_well_leaves_no_record(cri: ScriptedCri) -> None:
    """Nor anything else."""
    script = f"{SCRIPT}\nscope.close()\ntarget.close()"
    killed(script, cri.target, "one")
    assert files(cri) == ["10-theirs.conflist", "bridge"]
    assert sweep.ledgers("cni", cri.target) == []


def test_the_next_run_names_the_command_that_sweeps(
    cri: ScriptedCri, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where there is no record it can be removed by hand alone."""
    killed(SCRIPT, cri.target, "one")
    place = cri.conf_dir / "00-refimpl-one-1.conflist"
    killed(SCRIPT, cri.target, "two")
    say_what_is_left(cri.conf_dir)
    text = capsys.readouterr().err
    assert f"{place}: a killed run left it" in text
    assert f"by refimpl sweep cni {cri.target}" in text
    for ledger in sweep.ledgers("cni", cri.target):
        ledger.unlink()
    say_what_is_left(cri.conf_dir)
    assert f"{place}: a run that is not on record here left it" in capsys.readouterr().err


def test_every_run_comes_before_what_killed_ones_left(cri: ScriptedCri) -> None:
    """Or a second one would get the networks of the first."""
    for run_id in ("1", "2", "3"):
        killed(SCRIPT, cri.target, run_id)
    assert [name.partition("-")[0] for name in files(cri) if "conflist" in name][:3] == [
        "!!00",
        "!00",
        "00",
    ]
    assert sweep.sweep(options(cri))[1] is False
    assert files(cri) == ["10-theirs.conflist", "bridge"]


def test_a_folder_that_was_moved_aside_comes_back(tmp_path: Path) -> None:
    """The copy goes; but not with what was put into it since."""
    folder, aside = tmp_path / "net.d", tmp_path / f"net.d{ASIDE}"
    aside.mkdir()
    (aside / "10-net.conflist").write_text("theirs")
    inode = aside.stat().st_ino
    assert put_back(str(folder))
    assert folder.stat().st_ino == inode
    assert not put_back(str(folder))
    folder.rename(aside)
    folder.mkdir()
    (folder / "00-refimpl-one-1.conflist").touch()
    (folder / "10-net.conflist").write_text("changed")
    with pytest.raises(NotRemoved, match=r"10-net\.conflist changed since"):
        put_back(str(folder))
    (folder / "10-net.conflist").write_text("theirs")
    assert put_back(str(folder))
    assert [path.name for path in folder.iterdir()] == ["10-net.conflist"]


def test_what_cnitool_leaves_needs_no_runtime() -> None:
    """Folders of ours, below the temporary one."""
    chosen = Options(interface="cni", target="cnitool:/none", run_id="sweep")
    record = Ledger(sweep.ledger_path("cni", chosen.target, "1"), chosen.target)
    folder = record.folder("refimpl-cni-")
    record.close()
    assert sweep.sweep(chosen)[1] is False
    assert not folder.exists()
