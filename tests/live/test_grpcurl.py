"""The line that a finding offers, typed into a shell: grpcurl answers what the report says."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from conformance.engine import events
from conformance.engine.events import CaseDone
from conformance.engine.targets.supervise import Supervised
from refimpl.wire.status import Code

Start = Callable[..., Supervised]

# Findings of the mock driver: a request with nothing in it, and one whose request holds messages,
# maps, numbers and names of enums.
FINDINGS = ["CSI-HLTH-002", "CSI-CTRL-063"]


def finding(id: str, endpoint: str, folder: Path) -> CaseDone:
    """The case as the suite judged it at an endpoint."""
    done = subprocess.run(
        [
            *(sys.executable, "-m", "refimpl", "test", "csi", endpoint, "--only", id),
            *("-q", "--report-dir", str(folder)),
        ],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    stream = events.read(folder / "events.jsonl")
    (case,) = (event for event in stream if isinstance(event, CaseDone))
    return case


@pytest.mark.parametrize("id", FINDINGS)
def test_the_line_of_a_finding_repeats_it(
    id: str, grpcurl: Path, mock_driver: Path, started: Start, tmp_path: Path
) -> None:
    """What a vendor pastes to see the failure without us; grpcurl exits with 64 and the code."""
    driver = started(str(mock_driver), "-endpoint", "{endpoint}")
    case = finding(id, str(driver.endpoint), tmp_path / "out")
    path = f"{grpcurl.parent}:{os.environ['PATH']}"
    done = subprocess.run(
        case.reproduce,
        shell=True,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    code = Code[str(case.calls[-1]["code"])]
    assert done.returncode == (64 + code if code else 0), done.stderr
    assert str(case.calls[-1]["message"]) in done.stderr


def test_a_call_that_names_what_is_gone_has_no_line(
    mock_driver: Path, started: Start, tmp_path: Path
) -> None:
    """The volume of the case was deleted with it, and a line would be answered otherwise."""
    driver = started(str(mock_driver), "-endpoint", "{endpoint}")
    assert finding("CSI-PUB-023", str(driver.endpoint), tmp_path / "out").reproduce == ""
