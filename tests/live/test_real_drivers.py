"""The suite judges real drivers: what it finds is known, and goes beyond what csi-sanity finds.

The program of csi-driver-host-path is in no registry. Its test is there where REFIMPL_HOSTPATH is
the path of one, and needs root, as the driver mounts.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest

from conformance.engine import events
from conformance.engine.events import CaseDone
from conformance.engine.targets.supervise import Supervised

HOSTPATH = os.environ.get("REFIMPL_HOSTPATH", "")

# What csi-sanity fails the mock driver for, and the cases of ours that find the same.
_MODIFY, _HEALTH = (
    "ModifyVolume [Controller Server]",
    "ControllerGetVolumeHealth [Controller Server]",
)
FOUND_BY_BOTH = {
    "Controller Service [Controller Server] / CreateVolume / should not create volume with an"
    " invalid volume attribute class": {"CSI-CTRL-063"},
    f"{_MODIFY} / should fail if no volume id is given": {"CSI-MOD-001"},
    f"{_MODIFY} / should fail if volume does not exist": {"CSI-MOD-002"},
    f"{_MODIFY} / should fail if specified mutable parameters are not supported by the volume": {
        "CSI-MOD-003"
    },
    f"{_MODIFY} / should fail to modify a volume created with a volume attribute class if new"
    " mutable parameters are not supported by volume": {"CSI-MOD-003"},
    f"{_HEALTH} / should fail when no volume id is provided": {"CSI-PROTO-004"},
    f"{_HEALTH} / should return health for a valid volume": {"CSI-PROTO-004"},
}


@attrs.frozen
class Judged:
    """A run of the suite on a real driver: its exit code, what it printed, each case's outcome."""

    exit_code: int
    said: str
    outcomes: dict[str, str]


def judge(name: str, program: Path, folder: Path) -> Judged:
    """`refimpl test csi NAME --expect NAME`, with the program on the PATH."""
    out, path = folder / "out", f"{program.parent}:{os.environ['PATH']}"
    done = subprocess.run(
        [
            *(sys.executable, "-m", "refimpl", "test", "csi", name, "--expect", name),
            *("-q", "--report-dir", str(out)),
        ],
        env={**os.environ, "PATH": path, "XDG_STATE_HOME": str(folder)},
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    cases = [event for event in events.read(out / "events.jsonl") if isinstance(event, CaseDone)]
    return Judged(
        done.returncode, done.stdout + done.stderr, {case.id: case.outcome for case in cases}
    )


@pytest.fixture(scope="module")
def mock(mock_driver: Path, tmp_path_factory: pytest.TempPathFactory) -> Judged:
    """The suite's verdict on the mock driver of Kubernetes."""
    return judge("kubernetes-mock-driver", mock_driver, tmp_path_factory.mktemp("mock"))


def test_all_that_is_wrong_with_the_mock_driver_is_known(mock: Judged) -> None:
    """Each entry of its expectations was checked by hand; a case more or less is news."""
    assert mock.exit_code == 0, mock.said
    unexpected = {id for id, end in mock.outcomes.items() if end not in ("pass", "skip", "xfail")}
    assert not unexpected


def test_what_csi_sanity_fails_the_mock_driver_for_is_found_here_too(
    mock: Judged,
    mock_driver: Path,
    started: Callable[..., Supervised],
    run_csi_sanity: Callable[..., Any],
) -> None:
    """Whoever changes over from csi-sanity loses nothing."""
    endpoint = started(str(mock_driver), "-endpoint", "{endpoint}").endpoint
    failed = set(run_csi_sanity(str(endpoint)).messages)
    assert failed == set(FOUND_BY_BOTH)
    for title, ids in FOUND_BY_BOTH.items():
        assert {mock.outcomes[id] for id in ids} == {"xfail"}, title


if HOSTPATH:

    def test_all_that_is_wrong_with_the_host_path_driver_is_known(tmp_path: Path) -> None:
        """csi-sanity finds nothing in it. Run as root."""
        program = tmp_path / "bin" / "hostpathplugin"
        program.parent.mkdir()
        program.symlink_to(Path(HOSTPATH).resolve())
        found = judge("csi-driver-host-path", program, tmp_path)
        assert found.exit_code == 0, found.said
        assert "xfail" in found.outcomes.values()
