"""Options that take a file take nothing else: a FIFO would have the command wait for ever."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.cli.conftest import Command

READING = {
    "serve --faults": "serve csi x.sock --faults {}",
    "serve --journal": "serve csi x.sock --journal {}",
    "proxy --faults": "proxy x.sock y.sock --faults {}",
    "proxy --journal": "proxy x.sock y.sock --journal {}",
    "test --expect": "test csi --expect {}",
    "test --csi.secrets": "test csi --csi.secrets {}",
    "test FILE.toml": "test csi {}.toml",
    "report": "report {}",
    "compare": "compare {} {}",
    "cni install --faults": "cni install bin --faults {}",
    "cni journal": "cni journal {}",
    "run cni": "run cni {} --flow pod",
    "cdi inject": "cdi inject {} a.b/c=d",
}


@pytest.mark.parametrize("option", READING)
@pytest.mark.timeout(30)
def test_a_fifo_is_refused_at_once(
    option: str, refimpl: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With exit code 4 and its name."""
    monkeypatch.chdir(tmp_path)
    for name in ("pipe", "pipe.toml"):
        os.mkfifo(name)
    result = refimpl(*READING[option].format("pipe", "pipe").split())
    assert result.returncode == 4
    assert "pipe" in result.message
    assert sorted(os.listdir()) in (["pipe", "pipe.toml"], ["pipe", "pipe.toml", "state-home"])


@pytest.mark.parametrize("option", ["--html", "--junit", "--markdown", "--badge"])
@pytest.mark.timeout(30)
def test_a_report_replaces_a_file_and_nothing_else(
    option: str, refimpl: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not what a link leads to, and no pipe; there is `-` for that."""
    monkeypatch.chdir(tmp_path)
    assert refimpl("test", "csi", "--only", "CSI-ID-001", "--report-dir", "out").returncode == 0
    Path("precious").write_text("precious")
    Path("link").symlink_to("precious")
    os.mkfifo("pipe")
    for name in ("link", "pipe"):
        result = refimpl("report", "out/events.jsonl", option, name)
        assert result.returncode == 4
        assert f"{option} {name}: it is a" in result.message
    assert refimpl("report", "out/events.jsonl", option, "new").returncode == 0
    assert Path("new").stat().st_size > 0
    assert Path("precious").read_text() == "precious"
