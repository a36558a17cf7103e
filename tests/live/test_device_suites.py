"""The device suites judge what they are for: a real kubelet, a real plugin. What they find is
known."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import attrs
import pytest

from conformance.engine import events
from conformance.engine.events import CaseDone
from tests.live.rigs.namespaces import why_not

pytestmark = pytest.mark.timeout(1200)

# Both wait more than they work.
_WORKERS = "3"


@attrs.frozen
class Judged:
    """A run of a suite: its exit code, what it printed, its cases by id."""

    exit_code: int
    said: str
    cases: dict[str, CaseDone]

    @property
    def news(self) -> dict[str, str]:
        """What failed and was not known to."""
        return {
            id: case.message
            for id, case in self.cases.items()
            if case.outcome in ("fail", "error", "xpass")
        }


def judge(program: Path, folder: Path, *words: str) -> Judged:
    """`refimpl test …` with the programs of a folder on the PATH."""
    if reason := why_not():
        pytest.skip(reason)
    out = folder / "out"
    command = [sys.executable, "-m", "refimpl", "test", *words, "-q", "--report-dir", str(out)]
    done = subprocess.run(
        [*command, "-n", _WORKERS],
        env={**os.environ, "PATH": f"{program}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=1100,
        check=False,
    )
    found = [each for each in events.read(out / "events.jsonl") if isinstance(each, CaseDone)]
    return Judged(done.returncode, done.stdout + done.stderr, {case.id: case for case in found})


def test_all_that_is_wrong_with_kubelet_is_known(kubernetes: Path, tmp_path: Path) -> None:
    """Registration, lists, allocation, restarts, pod resources and placement of a real kubelet; its
    death over a vanished device is told as what it is, and the run goes on."""
    words = ("client", "deviceplugin", "kubelet", "--expect", "kubelet-1.37")
    found = judge(kubernetes, tmp_path, *words)
    assert found.exit_code == 0, found.said
    assert found.news == {}
    skipped = {case.message for case in found.cases.values() if case.outcome == "skip"}
    assert not any("pods" in reason or "restart" in reason for reason in skipped), skipped
    death = found.cases["DP-KUB-068"]
    assert death.outcome == "xfail"
    assert "died and was started again" in death.message
    assert "allocateContainerResources" in death.message


def test_all_that_is_wrong_with_the_sample_plugin_is_known(
    kubernetes: Path, tmp_path: Path
) -> None:
    """Unchanged, it takes our kubelet for a real one."""
    target = ("deviceplugin", "sample-device-plugin")
    found = judge(kubernetes, tmp_path, *target, "--expect", "sample-device-plugin-1.37")
    assert found.exit_code == 0, found.said
    assert found.news == {}
    assert sum(case.outcome == "pass" for case in found.cases.values()) > 40
