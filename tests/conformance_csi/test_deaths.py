"""A driver that dies, or answers nothing, is one finding, and the run goes on."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from conformance.engine import run
from conformance.engine.events import CaseDone
from conformance.engine.judging.session import Listener
from conformance.engine.options import Options
from conformance.engine.targets import life
from refimpl.csi.api import csi_pb2 as pb
from refimpl.wire.status import Code, Refused

DYING = (sys.executable, str(Path(__file__).with_name("dying_driver.py")), "{endpoint}")
SOME = ("CSI-CTRL-01*", "CSI-CTRL-07*", "CSI-LV-*", "CSI-NPUB-00*", "CSI-NUNP-*")


def judged(*words: str, workers: str = "0") -> list[CaseDone]:
    """The cases of a run on a driver that dies so."""
    cases: list[CaseDone] = []
    listener = Listener(lambda event: cases.append(event) if isinstance(event, CaseDone) else None)
    options = Options(interface="csi", command=(*DYING, *words), only=SOME)
    assert run.run(options, workers=workers, plugins=[listener]) == 1
    return cases


@pytest.mark.parametrize("words", [("DeleteVolume",), ("NodeUnpublishVolume", "{dir}")])
@pytest.mark.parametrize("workers", ["0", "2"])
def test_a_handler_that_kills_is_one_finding(
    words: tuple[str, ...], workers: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether the driver remembers its volumes or not; every other case passes or is skipped."""
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    cases = judged(*words, workers=workers)
    (finding,) = [each for each in cases if each.outcome not in ("pass", "skip")]
    assert finding.message.startswith("the target died and was started again")
    assert f"({words[0]})\n  | panic: runtime error" in finding.message
    skipped = [each.message for each in cases if each.outcome == "skip"]
    assert any(f"needs {words[0]}" in message or finding.id in message for message in skipped)
    assert len([each for each in cases if each.outcome == "pass"]) > 10


def test_a_handler_that_hangs_is_soon_called_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor to learn what is to be undone: that would take a whole deadline each time."""
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    monkeypatch.setenv("REFIMPL_TIMEOUT_FACTOR", "0.05")
    monkeypatch.setattr(life, "SIGN_S", 30.0)
    cases = judged("?CreateVolume")
    findings = [each for each in cases if each.outcome not in ("pass", "skip")]
    assert 1 <= len(findings) <= 2  # a case may call it twice
    assert all(each.got.startswith("DEADLINE_EXCEEDED") for each in findings)
    skipped = [each.message for each in cases if each.outcome == "skip"]
    assert any("answered none of its last 2 calls of it" in message for message in skipped)


def test_a_connection_stands_after_a_restart(opened: Any, tmp_path: Path) -> None:
    """The next case would be blamed for the first call that fails."""
    target = opened(_file(tmp_path))
    target.process.kill()
    assert target.lost().revived
    assert target.identity.GetPluginInfo(pb.GetPluginInfoRequest()).name


def test_a_driver_that_answers_nothing_is_started_again(
    opened: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After one deadline, and not one for each call that follows."""
    monkeypatch.setattr(life, "WAKE_S", 0.1)
    monkeypatch.setattr(life, "SIGN_S", 0.5)
    target = opened(_file(tmp_path))
    target.steps.volume()
    _freeze(target.process.process.pid)
    with monkeypatch.context() as patch:
        patch.setenv("REFIMPL_TIMEOUT_FACTOR", "0.02")
        with pytest.raises(Refused) as refused:
            target.identity.GetPluginInfo(pb.GetPluginInfoRequest(), timeout=10.0)
        assert refused.value.code == Code.DEADLINE_EXCEEDED
        before = target.mark()
        target.scope.close()  # nothing is undone while nobody answers
        with pytest.raises(pytest.skip.Exception):
            target.identity.GetPluginInfo(pb.GetPluginInfoRequest())
        assert not target.calls(before)
    loss = target.lost()
    assert loss.revived
    assert "its process was ended by us" in loss.reason
    assert target.identity.GetPluginInfo(pb.GetPluginInfoRequest()).name


def test_a_driver_that_wakes_up_goes_on(
    opened: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same process, with all that it had."""
    monkeypatch.setattr(life, "SIGN_S", 0.5)
    target = opened(_file(tmp_path))
    pid = target.process.process.pid
    _freeze(pid)
    with monkeypatch.context() as patch:
        patch.setenv("REFIMPL_TIMEOUT_FACTOR", "0.02")
        with pytest.raises(Refused):
            target.identity.GetPluginInfo(pb.GetPluginInfoRequest(), timeout=10.0)
    os.killpg(pid, signal.SIGCONT)
    loss = target.lost()
    assert loss.revived
    assert "it answers again" in loss.reason
    assert target.process.process.pid == pid


def _freeze(pid: int) -> None:
    """Stop a child's process group, and wait until all its threads stand still.

    A thread that already runs when the signal comes may answer one call more.
    """
    os.killpg(pid, signal.SIGSTOP)
    os.waitid(os.P_PID, pid, os.WSTOPPED)


def _file(folder: Path) -> str:
    """A target file that starts a driver which does not die by itself."""
    path = folder / "t.toml"
    path.write_text(f"command = {[*DYING, '-']!r}\n".replace("'", '"'))
    return str(path)
