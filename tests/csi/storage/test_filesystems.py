"""refimpl.csi.storage.filesystems: file systems in images, without mounting them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from refimpl.csi.storage import filesystems
from refimpl.wire.status import Code, Refused

needs_ext4 = pytest.mark.skipif(
    "ext4" not in filesystems.available(), reason="mkfs.ext4 is not installed"
)


def image(path: Path, size: int) -> str:
    """A sparse file."""
    with path.open("wb") as file:
        file.truncate(size)
    return str(path)


def test_an_empty_image_has_no_file_system(tmp_path: Path) -> None:
    """Neither has one that is too short to hold any."""
    assert filesystems.type_of(image(tmp_path / "a", 1 << 20)) == ""
    assert filesystems.type_of(image(tmp_path / "b", 10)) == ""


@pytest.mark.parametrize("fs_type", ["ext2", "ext3", "ext4", "xfs"])
def test_the_smallest_image_can_be_formatted(fs_type: str, tmp_path: Path) -> None:
    """And stays sparse."""
    if fs_type not in filesystems.available():
        pytest.skip(f"mkfs.{fs_type} is not installed")
    path = image(tmp_path / "a", filesystems.least(fs_type))
    filesystems.format_image(path, fs_type)
    assert filesystems.type_of(path) == ("xfs" if fs_type == "xfs" else "ext4")
    assert os.stat(path).st_blocks * 512 < filesystems.least(fs_type) / 2


@needs_ext4
def test_a_large_image_takes_next_to_no_room(tmp_path: Path) -> None:
    """100 GiB are formatted with less than 16 MiB of writing."""
    path = image(tmp_path / "a", 100 << 30)
    filesystems.format_image(path, "ext4")
    assert os.stat(path).st_blocks * 512 < 16 << 20


@needs_ext4
@pytest.mark.parametrize("size", [32 << 20, 2 << 30])
def test_an_unmounted_file_system_follows_its_image(size: int, tmp_path: Path) -> None:
    """And is whole afterwards; fitting again does nothing."""
    path = image(tmp_path / "a", 16 << 20)
    filesystems.format_image(path, "ext4")
    os.truncate(path, size)
    filesystems.fit(path)
    changed = os.stat(path).st_mtime_ns
    filesystems.fit(path)
    assert os.stat(path).st_mtime_ns == changed
    check = ["e2fsck", "-fn", path]
    process = subprocess.run(
        check, capture_output=True, text=True, check=False, env={"PATH": "/usr/sbin:/sbin"}
    )
    assert process.returncode == 0, process.stdout
    assert f"/{size // 4096} blocks" in process.stdout


@pytest.mark.parametrize("fs_type", ["nonsense", "btrfs", "../sh", ""])
def test_what_cannot_be_made_is_an_invalid_argument(fs_type: str, tmp_path: Path) -> None:
    """Only programs of our own table are ever started."""
    with pytest.raises(Refused) as caught:
        filesystems.format_image(image(tmp_path / "a", 1 << 20), fs_type)
    assert caught.value.code == Code.INVALID_ARGUMENT


@needs_ext4
def test_a_program_that_fails_is_told_with_its_words(tmp_path: Path) -> None:
    """Never as success, never as UNKNOWN."""
    with pytest.raises(Refused, match=r"mkfs\.ext4 ended with") as caught:
        filesystems.format_image(image(tmp_path / "a", 4096), "ext4")
    assert caught.value.code == Code.INTERNAL
