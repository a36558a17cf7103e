"""Who may change what runs as root."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from pyfakefs.fake_filesystem import FakeFilesystem, set_uid

from refimpl.cni.lint import lint

LIST = {"cniVersion": "1.1.0", "name": "net", "plugins": [{"type": "bridge"}]}


@pytest.fixture
def net_d(tmp_path: Path) -> Path:
    """A folder with one network and its sub-directory, writable by their owner only."""
    (tmp_path / "net").mkdir(mode=0o755)
    (tmp_path / "n.conflist").write_text(json.dumps(LIST))
    (tmp_path / "net" / "a.conf").write_text('{"type": "x"}')
    for path in (tmp_path, tmp_path / "net"):
        path.chmod(0o755)
    for path in (tmp_path / "n.conflist", tmp_path / "net" / "a.conf"):
        path.chmod(0o644)
    return tmp_path


def warned(*paths: Path, **more: Any) -> list[str]:
    """The files warned of."""
    return [one.file for one in lint(paths, **more).findings if one.id == "CNI-CFG-038"]


def test_usual_modes_are_fine(net_d: Path) -> None:
    """Whoever checks owns the files, or root does."""
    assert warned(net_d) == []


@pytest.mark.parametrize("name", ["", "n.conflist", "net", "net/a.conf"])
def test_what_anybody_may_write_is_a_warning(net_d: Path, name: str) -> None:
    """Files, the folder, the network's own folder and what lies in it."""
    path = net_d / name
    path.chmod(path.stat().st_mode | 0o002)
    assert warned(net_d) == [str(path)]


def test_a_plugin_folder_that_anybody_may_write_is_a_warning(net_d: Path) -> None:
    """Whoever puts a file there has it run as root."""
    plugins = net_d / "net"
    plugins.chmod(0o777)
    assert str(plugins) in warned(net_d / "n.conflist", cni_path=[plugins])


def test_the_folder_of_a_single_file_is_not_judged(net_d: Path) -> None:
    """Somebody checks a draft, perhaps in a folder that is open to all."""
    net_d.chmod(0o777)
    assert warned(net_d / "n.conflist") == []


def test_a_file_of_another_user_is_a_warning(fs: FakeFilesystem) -> None:
    """Neither root's nor that of whoever asks."""
    fs.create_file("/net.d/n.conflist", contents=json.dumps(LIST), st_mode=0o100644)
    set_uid(0)
    os.chown("/net.d/n.conflist", 1234, 0)
    set_uid(1000)
    (finding,) = [one for one in lint(["/net.d/n.conflist"]).findings if one.id == "CNI-CFG-038"]
    assert "1234" in finding.message
