"""Kubelet's folder."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from refimpl.deviceplugin.devicemanager.layout import Layout
from refimpl.wire.endpoint import EndpointError


def test_folders_are_made_once_and_keep_their_modes(folder: Path) -> None:
    """Contract 1.3."""
    layout = Layout(folder / "new")
    layout.make()
    assert layout.plugins.stat().st_mode & 0o777 == 0o750
    layout.plugins.chmod(0o700)
    layout.make()
    assert layout.plugins.stat().st_mode & 0o777 == 0o700


def test_sockets_go_and_everything_else_stays(folder: Path) -> None:
    """DP-KUB-052; kubelet's own on demand."""
    layout = Layout(folder)
    layout.make()
    for name in ("kubelet.sock", "p.sock"):
        with socket.socket(socket.AF_UNIX) as left:
            left.bind(str(layout.plugins / name))
    layout.announce_deprecation()
    assert layout.unlink_sockets(own=False) == ["p.sock"]
    assert layout.unlink_sockets() == ["kubelet.sock"]
    assert [each.name for each in layout.plugins.iterdir()] == ["DEPRECATION"]


def test_the_folder_of_plugins_does_not_follow_the_root_directory(folder: Path) -> None:
    """DP-KUB-075; all else does."""
    layout = Layout(folder, folder / "moved")
    layout.make(pods_api=True)
    paths = {str(path.relative_to(folder)) for path in folder.glob("**/*") if path.is_dir()}
    below = {f"moved/{name}" for name in ("plugins_registry", "pod-resources", "pods-api")}
    assert paths == {"device-plugins", "moved"} | below
    assert layout.checkpoint.parent == layout.plugins


def test_a_plugin_may_see_the_folder_elsewhere() -> None:
    """In a mount namespace it is at kubelet's own path, and other paths are the same."""
    layout = Layout(Path("/tmp/kubelet"))
    seen = "/var/lib/kubelet"
    assert layout.here(f"{seen}/plugins_registry/a.sock", seen) == (
        "/tmp/kubelet/plugins_registry/a.sock"
    )
    for path in (f"{seen}2/a.sock", "/run/a.sock"):
        assert layout.here(path, seen) == path
    assert layout.here(f"{seen}/a.sock", "") == f"{seen}/a.sock"


def test_a_folder_in_the_way_of_a_file_is_an_error(folder: Path) -> None:
    """With its name."""
    (folder / "plugins_registry").touch()
    with pytest.raises(EndpointError, match="plugins_registry cannot be used"):
        Layout(folder).make()
