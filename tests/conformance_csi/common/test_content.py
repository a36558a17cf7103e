"""What lies on a published volume, shown on plain directories and files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from conformance.csi.common import content
from conformance.csi.steps import Mounted
from conformance.engine.verdict import Broken
from refimpl.csi.api import csi_pb2 as pb


def place(path: Path, *, block: bool = False) -> Mounted:
    """Something published at a path."""
    request = pb.NodePublishVolumeRequest(target_path=str(path))
    (request.volume_capability.block if block else request.volume_capability.mount).SetInParent()
    return Mounted(pb.Volume(), str(path), "", {}, request)


def test_fresh_content_is_nobody_elses() -> None:
    """A volume that holds it was written to by this case."""
    assert content.fresh() != content.fresh()


def test_a_mount_volume_holds_a_file(tmp_path: Path) -> None:
    """Which goes again without a trace."""
    there, written = place(tmp_path), content.fresh()
    content.write(there, written)
    assert content.read(there, len(written)) == written
    content.expect_content(there, written, "kept")
    content.erase(there)
    assert os.listdir(tmp_path) == []
    assert content.read(there, 5) == b""


def test_a_block_volume_is_written_at_its_start(tmp_path: Path) -> None:
    """It is never made by writing, and keeps its size."""
    device = tmp_path / "device"
    missing = place(device, block=True)
    assert isinstance(content.write_error(missing, b"x"), FileNotFoundError)
    device.write_bytes(bytes(4096))
    content.write(missing, b"abc")
    assert content.read(missing, 5) == b"abc\x00\x00"
    assert content.size(missing) == 4096
    content.erase(missing)
    assert device.exists()


def test_the_size_of_a_mount_volume_is_that_of_its_file_system(tmp_path: Path) -> None:
    """As statfs tells it."""
    size = os.statvfs(tmp_path)
    assert content.size(place(tmp_path)) == size.f_blocks * size.f_frsize


def test_other_content_is_told_with_both(tmp_path: Path) -> None:
    """Nothing there is said in words."""
    there = place(tmp_path)
    with pytest.raises(Broken, match="kept") as raised:
        content.expect_content(there, b"abc", "kept")
    assert raised.value.got == "no such content"
    content.write(there, b"xyz")
    with pytest.raises(Broken) as raised:
        content.expect_content(there, b"abc", "kept")
    assert "xyz" in raised.value.got


def test_what_cannot_be_written_or_opened_is_the_targets_fault(tmp_path: Path) -> None:
    """A finding with the system's own words, no traceback of ours."""
    gone = place(tmp_path / "gone")
    with pytest.raises(Broken, match="can be written to") as raised:
        content.write(gone, b"x")
    assert "No such file" in raised.value.got
    with pytest.raises(Broken, match="can be opened"):
        content.size(gone)
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(Broken, match="kept") as raised:
        content.expect_content(place(file), b"abc", "kept")
    assert "Not a directory" in raised.value.got
