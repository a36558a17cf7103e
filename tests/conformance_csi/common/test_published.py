"""Publishing another way, and what lies at a target."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from conformance.csi.common import published, staged
from conformance.csi.steps import Mounted
from conformance.engine.verdict import Broken
from refimpl.csi.api import csi_pb2 as pb


def test_a_changed_request_leaves_the_first_as_it_was() -> None:
    """A field that is given is replaced, also by an empty value or another map."""
    request = pb.NodePublishVolumeRequest(
        volume_id="v", target_path="/t", readonly=True, secrets={"a": "1"}
    )
    place = Mounted(pb.Volume(), "/t", "", {}, request)
    other = published.changed(place, readonly=False, secrets={"b": "2"}, target_path="/u")
    assert (other.request.readonly, dict(other.request.secrets)) == (False, {"b": "2"})
    assert (other.target_path, other.request.volume_id) == ("/u", "v")
    assert (request.readonly, dict(request.secrets), place.target_path) == (True, {"a": "1"}, "/t")


def test_a_changed_staging_request_leaves_the_first_as_it_was() -> None:
    """The same for NodeStageVolume, and the way back names what was staged."""
    request = pb.NodeStageVolumeRequest(volume_id="v", staging_target_path="/s")
    other = staged.changed(request, volume_id="", staging_target_path="/u")
    assert (other.volume_id, other.staging_target_path) == ("", "/u")
    assert request.volume_id == "v"
    wanted = pb.NodeUnstageVolumeRequest(volume_id="v", staging_target_path="/s")
    assert staged.back(request) == wanted


def test_nothing_left_is_seen_where_files_can_be_seen(tmp_path: Path) -> None:
    """A dangling link is something, and a directory is told with what is in it."""
    csi: Any = SimpleNamespace(paths=SimpleNamespace(visible=True))
    published.expect_gone(csi, str(tmp_path / "none"), "gone")
    os.symlink("nowhere", tmp_path / "link")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "data").touch()
    for name, got in (("link", "a file"), ("full", "a directory with ['data']")):
        with pytest.raises(Broken, match="gone") as raised:
            published.expect_gone(csi, str(tmp_path / name), "gone")
        assert raised.value.got == got


def test_nothing_left_is_asked_of_the_users_command(stub: Callable[..., Any]) -> None:
    """Where the driver is on another host."""
    kinds = {"/a": "not_found", "/b": "directory"}
    csi = stub(paths=SimpleNamespace(visible=False, kind=kinds.get))
    published.expect_gone(csi, "/a", "gone")
    with pytest.raises(Broken, match="gone"):
        published.expect_gone(csi, "/b", "gone")


def test_a_volume_is_published_at_two_targets(csi: Any) -> None:
    """Both are undone when the case ends."""
    mode = csi.preconditions.sharing_mode()
    place = csi.steps.mount(capability=csi.requests.capability(mode))
    second = published.at_another_target(csi, place)
    assert os.path.lexists(place.target_path)
    assert os.path.lexists(second.target_path)
    csi.scope.close()
    for path in (place.target_path, second.target_path):
        published.expect_gone(csi, path, "gone")
