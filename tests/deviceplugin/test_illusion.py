"""A plugin with the path in its code meets the fake kubelet all the same."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from refimpl.deviceplugin import illusion
from refimpl.deviceplugin.kubelet import FakeKubelet
from tests.deviceplugin.kubelet_rig import GPU

_PLUGIN = """
import sys, threading
from refimpl.deviceplugin.fake import FakePlugin
with FakePlugin("example.com/gpu", 2, folder="/var/lib/kubelet"):
    sys.stdin.read()
"""


def test_the_command_sees_the_folder_in_kubelets_place(kubelet: FakeKubelet, folder: Path) -> None:
    """Contract 6.1, 2: sockets of both sides meet, and the node's own folder is not touched."""
    if reason := illusion.obstacle():
        pytest.skip(f"no namespaces here: {reason}")
    before = Path(illusion.REAL).exists()
    words = illusion.words(folder, [sys.executable, "-c", _PLUGIN])
    plugin = subprocess.Popen(words, stdin=subprocess.PIPE)
    try:
        assert kubelet.wait(lambda: kubelet.node().allocatable == {GPU: 2})
        assert Path(illusion.REAL).exists() is before
    finally:
        plugin.communicate(timeout=30)
    assert kubelet.wait(lambda: kubelet.node().allocatable == {GPU: 0})
    assert plugin.returncode == 0


def test_arguments_reach_the_command_as_they_are(tmp_path: Path) -> None:
    """Spaces, quotes, dollars."""
    odd = ["a b", "$HOME", "'", '"', ""]
    words = illusion.words(tmp_path, ["plugin", *odd])
    assert words[-6:] == ["plugin", *odd]
    assert words[-7] == str(tmp_path)


def test_where_there_is_no_unshare_the_reason_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Or where it may not do it."""
    monkeypatch.setenv("PATH", "")
    assert "unshare cannot be run" in illusion.obstacle()
