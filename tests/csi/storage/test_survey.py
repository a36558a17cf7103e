"""refimpl.csi.storage.survey: which mounts show our content."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from refimpl.csi.state.models import Access, VolumeCapability
from refimpl.csi.storage import Mode, OpenStorage, mounts
from refimpl.csi.storage.layout import StorageLayout
from refimpl.csi.storage.privileged import can_bind
from refimpl.csi.storage.survey import mounted_from

Open = Callable[[Mode], OpenStorage]
Plain = Callable[[Access], VolumeCapability]


@pytest.mark.parametrize(
    ("mode", "access"), [("bind", "mount"), ("bind", "block"), ("loop", "mount"), ("loop", "block")]
)
def test_every_place_is_found_with_its_home(
    mode: Mode, access: Access, opened: Open, tmp_path: Path, capability: Plain
) -> None:
    """Directories, images and device nodes."""
    storage, target = opened(mode), str(tmp_path / "t")
    layout = storage.layout
    storage.provision("a/b", access, 1 << 20, None)
    storage.publish("a/b", target, capability(access), False, "")
    home = os.path.basename(layout.home("a/b"))
    assert (target, home) in [(mount.point, name) for mount, name in mounted_from(layout)]
    storage.unpublish("a/b", target)
    assert mounted_from(layout) == []


def test_mounts_of_others_are_not_ours(tmp_path: Path) -> None:
    """A neighbour of similar name on the same file system."""
    if not can_bind(str(tmp_path)):
        pytest.skip("this process may not mount")
    layout = StorageLayout(str(tmp_path / "root"))
    (tmp_path / "root-2" / "homes" / "v").mkdir(parents=True)
    (tmp_path / "t").mkdir()
    mounts.bind(str(tmp_path / "root-2" / "homes" / "v"), str(tmp_path / "t"))
    try:
        assert mounted_from(layout) == []
    finally:
        mounts.unmount(str(tmp_path / "t"))


def test_deleted_content_has_no_home(tmp_path: Path) -> None:
    """A mount outlives the directory it shows."""
    if not can_bind(str(tmp_path)):
        pytest.skip("this process may not mount")
    layout = StorageLayout(str(tmp_path / "root"))
    data = Path(layout.home("v")) / "data"
    data.mkdir(parents=True)
    (tmp_path / "t").mkdir()
    mounts.bind(str(data), str(tmp_path / "t"))
    try:
        assert [name for _, name in mounted_from(layout)] == ["v"]
        shutil.rmtree(layout.home("v"))
        assert [name for _, name in mounted_from(layout)] == [""]
    finally:
        mounts.unmount(str(tmp_path / "t"))
