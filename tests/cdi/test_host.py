"""Device nodes of this machine."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from refimpl.cdi.host import HostNode, host_node


def test_a_character_device_has_its_numbers_and_mode() -> None:
    """Those of /dev/null are the same on every Linux."""
    mode = os.stat("/dev/null").st_mode & 0o7777
    assert host_node("/dev/null") == HostNode("c", 1, 3, mode)


def test_links_are_not_followed_and_files_are_no_nodes(tmp_path: Path) -> None:
    """A link to a device is not the device."""
    os.mkfifo(tmp_path / "fifo", 0o600)
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("/dev/null")
    kinds = [host_node(str(tmp_path / name)).type for name in ("fifo", "file", "link")]
    assert kinds == ["p", "", ""]
    with pytest.raises(FileNotFoundError):
        host_node(str(tmp_path / "missing"))
