"""What all our tests share."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# How fast examples are made and tested says how busy the machine is, and nothing of the code.
settings.register_profile("ours", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("ours")

STRANGER = 65534
"""The user id of nobody, who is no user of these tests."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """How long clients keep a fake busy (tests/live/test_many_clients.py)."""
    parser.addoption("--load-seconds", type=float, default=10.0)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """REFIMPL_NO_SKIP: where root, Go and the peers are to be had, a skip hides a failure."""
    report = yield
    hidden = report.skipped and not hasattr(report, "wasxfail")
    if hidden and os.environ.get("REFIMPL_NO_SKIP"):
        report.outcome = "failed"
        report.longrepr = f"skipped where nothing may skip: {report.longrepr}"
    return report


@pytest.fixture(autouse=True)
def _own_state_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test writes to the ledgers of the user who runs it."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state-home"))
    monkeypatch.delenv("ARTIFACTS", raising=False)


@pytest.fixture
def public() -> Iterator[Path]:
    """A folder that everybody may write to, as the one for temporary files, with what another user
    has in it (`os.chown(path, STRANGER, STRANGER)`); root alone can play that user."""
    if os.geteuid():
        pytest.skip("only root can make files of another user")
    with tempfile.TemporaryDirectory(prefix="refimpl-public-") as folder:
        os.chmod(folder, 0o1777)
        yield Path(folder)


class SmallDisk:
    """A file system of 256 KiB."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._filler = folder / "filler"

    def fill(self) -> None:
        """Takes every byte that is left."""
        with contextlib.suppress(OSError), self._filler.open("ab", buffering=0) as file:
            while file.write(bytes(4096)):
                pass

    def free(self) -> None:
        """Gives them back."""
        self._filler.unlink()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[SmallDisk]:
    """A disk that is soon full."""
    if os.geteuid() or not shutil.which("mount"):
        pytest.skip("a small disk takes root and the mount program")
    folder = tmp_path / "small-disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k,mode=0700", "refimpl-test", str(folder)]
    tried = subprocess.run(mount, capture_output=True, text=True)
    if tried.returncode:
        pytest.skip(f"no file system can be mounted here: {tried.stderr.strip()}")
    try:
        yield SmallDisk(folder)
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)
