"""A run on a runtime is killed by SIGKILL: its files and its pod are swept."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.engine.ledger import sweep
from conformance.engine.options import Options
from tests.engine.scripted_cri import ScriptedCri, killed, running

SCRIPT = """
import sys
from conformance.cdi.host import CdiHost
from conformance.cdi.target import open_target
from conformance.engine.options import Options
from conformance.engine.targets.resolve import resolve
from conformance.engine.scope import CaseScope

chosen = {"cdi-dir": [sys.argv[3]]}
options = Options(interface="cdi", target=sys.argv[1], run_id=sys.argv[2], settings=chosen)
target = open_target(resolve(options, "cdi"))
host = CdiHost(target, CaseScope())
host.define("a")
host.put(host.folder / "b.json", "{}")
"""


def test_a_sweep_removes_what_killed_runs_left_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that is still going keeps its own."""
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    folder = tmp_path / "cdi"
    folder.mkdir()
    (folder / "theirs.json").touch()
    chosen = {"cdi-dir": [str(folder)]}
    with ScriptedCri(tmp_path) as cri:
        options = Options(interface="cdi", target=cri.target, run_id="sweep", settings=chosen)
        killed(SCRIPT, cri.target, "one", str(folder))
        with running(SCRIPT, cri.target, "two", str(folder)):
            assert len(cri.pods) == 2
            lines, failed = sweep.sweep(options)
            assert not failed, lines
            assert [line for line in lines if line.endswith("left alone, its run is still going")]
            names = sorted(path.name for path in folder.iterdir())
            assert names == ["case1.two.example-a.json", "theirs.json"]
            assert len(cri.pods) == 1
        assert sweep.sweep(options)[1] is False
        assert cri.pods == {}
    assert [path.name for path in folder.iterdir()] == ["theirs.json"]
    assert list((tmp_path / "tmp").iterdir()) == []
