"""refimpl.csi.storage.loop: real sizes and real file systems."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from refimpl.csi.state.models import Access, VolumeCapability
from refimpl.csi.state.ports import VolumePath
from refimpl.csi.storage import Mode, OpenStorage, filesystems, loops, mounts
from refimpl.wire.status import Code, Refused

Open = Callable[[Mode], OpenStorage]
Mounted = Callable[..., VolumeCapability]
Plain = Callable[[Access], VolumeCapability]

SIZE = 16 << 20


def total(path: Path) -> int:
    """Bytes a workload sees."""
    status = os.statvfs(path)
    return status.f_blocks * status.f_frsize


def shown(opened: Open, target: Path, capability: VolumeCapability) -> OpenStorage:
    """Storage with volume "v" published."""
    storage = opened("loop")
    storage.provision("v", "mount", SIZE, None)
    storage.publish("v", str(target), capability, False, "")
    return storage


@pytest.mark.parametrize("size", [4 << 20, 16 << 20, 256 << 20])
def test_statfs_tells_the_capacity_within_a_tenth(
    size: int, opened: Open, tmp_path: Path, mounted: Mounted
) -> None:
    """File system metadata is all that is missing."""
    storage = opened("loop")
    storage.provision("v", "mount", size, None)
    storage.publish("v", str(tmp_path / "t"), mounted(), False, "")
    assert 0.9 * size <= total(tmp_path / "t") <= size


def test_a_full_volume_is_full(opened: Open, tmp_path: Path, mounted: Mounted) -> None:
    """And its neighbours are not."""
    shown(opened, tmp_path / "t", mounted())
    with pytest.raises(OSError, match="No space left") as caught:
        (tmp_path / "t" / "file").write_bytes(bytes(2 * SIZE))
    assert caught.value.errno == errno.ENOSPC


@pytest.mark.parametrize("fs_type", ["ext2", "ext3", "ext4", "xfs"])
def test_the_file_system_is_the_one_asked_for(
    fs_type: str, opened: Open, tmp_path: Path, mounted: Mounted
) -> None:
    """With the options given; a copy can be used beside its original."""
    if fs_type not in filesystems.available():
        pytest.skip(f"mkfs.{fs_type} is not installed")
    storage, capability = opened("loop"), mounted("noatime", fs_type=fs_type)
    storage.provision("v", "mount", filesystems.least(fs_type), None)
    storage.publish("v", str(tmp_path / "t"), capability, False, "")
    line = next(mount for mount in mounts.table() if mount.point == str(tmp_path / "t"))
    assert line.fs_type == fs_type
    assert "noatime" in line.flags
    storage.snapshot("s", "v")
    storage.provision("copy", "mount", filesystems.least(fs_type), "s")
    storage.publish("copy", str(tmp_path / "copy"), capability, False, "")
    (tmp_path / "copy" / "file").write_text("x")
    assert not (tmp_path / "t" / "file").exists()


@pytest.mark.parametrize(
    "capability", [{"fs_type": "btrfs"}, {"fs_type": "nonsense"}, {"flags": ("no-such-option=1",)}]
)
def test_what_cannot_be_mounted_is_an_invalid_argument(
    capability: dict[str, object], opened: Open, tmp_path: Path, mounted: Mounted
) -> None:
    """Nothing stays behind, and what was sent as a flag is not repeated."""
    flags = capability.get("flags", ())
    with pytest.raises(Refused) as caught:
        shown(opened, tmp_path / "t", mounted(*flags, fs_type=capability.get("fs_type", "")))  # type: ignore[misc]
    assert caught.value.code == Code.INVALID_ARGUMENT
    assert "no-such-option" not in caught.value.message
    assert not os.path.lexists(tmp_path / "t")


def test_a_volume_with_data_is_never_formatted_again(
    opened: Open, tmp_path: Path, mounted: Mounted
) -> None:
    """Neither by a repetition nor for another type of file system."""
    storage = shown(opened, tmp_path / "t", mounted(fs_type="ext4"))
    (tmp_path / "t" / "file").write_text("kept")
    storage.unpublish("v", str(tmp_path / "t"))
    storage.publish("v", str(tmp_path / "t"), mounted(fs_type="ext4"), False, "")
    assert (tmp_path / "t" / "file").read_text() == "kept"
    storage.unpublish("v", str(tmp_path / "t"))
    with pytest.raises(Refused):
        storage.publish("v", str(tmp_path / "t"), mounted(fs_type="xfs"), False, "")
    storage.publish("v", str(tmp_path / "t"), mounted(), False, "")
    assert (tmp_path / "t" / "file").read_text() == "kept"


def test_an_expansion_is_seen_when_the_node_does_its_half(
    opened: Open, tmp_path: Path, mounted: Mounted
) -> None:
    """Data, flags and every place stay."""
    staging, target, reader = tmp_path / "staging", tmp_path / "t", tmp_path / "r"
    staging.mkdir()
    storage = shown(opened, target, mounted("noexec"))
    storage.stage("v", str(staging), mounted("noexec"))
    storage.publish("v", str(reader), mounted("noexec"), True, "")
    (target / "file").write_text("kept")
    before = total(target)
    storage.resize("v", 4 * SIZE)
    assert total(target) == before
    for _ in range(2):
        storage.fill("v")
    for path in (staging, target, reader):
        assert total(path) > 0.9 * 4 * SIZE
        assert (path / "file").read_text() == "kept"
    assert os.statvfs(target).f_flag & os.ST_NOEXEC
    assert os.statvfs(reader).f_flag & os.ST_RDONLY


def test_an_expansion_with_files_open_works_or_is_told(
    opened: Open, tmp_path: Path, mounted: Mounted
) -> None:
    """It takes a right that a process able to mount may lack; then nothing is harmed."""
    storage = shown(opened, tmp_path / "t", mounted())
    storage.resize("v", 4 * SIZE)
    with (tmp_path / "t" / "file").open("w") as file:
        if "growth" in storage.capabilities:
            storage.fill("v")
        else:
            with pytest.raises(Refused) as caught:
                storage.fill("v")
            assert caught.value.code == Code.FAILED_PRECONDITION
        file.write("goes on")
    assert (tmp_path / "t" / "file").read_text() == "goes on"
    storage.fill("v")
    assert total(tmp_path / "t") > 0.9 * 4 * SIZE


def test_a_larger_copy_has_the_larger_file_system(
    opened: Open, tmp_path: Path, mounted: Mounted
) -> None:
    """Restored into a volume of four times the size, with its data."""
    storage = shown(opened, tmp_path / "t", mounted())
    (tmp_path / "t" / "file").write_text("early")
    storage.snapshot("s", "v")
    storage.provision("copy", "mount", 4 * SIZE, "s")
    storage.publish("copy", str(tmp_path / "copy"), mounted(), False, "")
    assert total(tmp_path / "copy") > 0.9 * 4 * SIZE
    assert (tmp_path / "copy" / "file").read_text() == "early"


def test_a_snapshot_of_a_volume_in_use_is_whole(
    opened: Open, tmp_path: Path, mounted: Mounted
) -> None:
    """Nothing was flushed by the workload, and its file is still open."""
    storage = shown(opened, tmp_path / "t", mounted())
    with (tmp_path / "t" / "file").open("w") as file:
        file.write("unflushed")
        file.flush()
        storage.snapshot("s", "v")
        file.write(" and on")
    storage.provision("copy", "mount", SIZE, "s")
    storage.publish("copy", str(tmp_path / "copy"), mounted(), False, "")
    assert (tmp_path / "copy" / "file").read_text() == "unflushed"


def test_the_image_is_let_go_with_the_last_place(
    opened: Open, tmp_path: Path, mounted: Mounted
) -> None:
    """Staging path and targets count; in between one mount serves all."""
    (tmp_path / "staging").mkdir()
    storage = shown(opened, tmp_path / "t", mounted())
    storage.stage("v", str(tmp_path / "staging"), mounted())
    storage.unpublish("v", str(tmp_path / "t"))
    images = [file for file in loops.attached().values() if file.startswith(str(tmp_path))]
    assert len(images) == 1
    storage.unstage("v", str(tmp_path / "staging"))
    assert not [file for file in loops.attached().values() if file.startswith(str(tmp_path))]


def test_a_block_volume_has_exactly_its_size(
    opened: Open, tmp_path: Path, capability: Plain
) -> None:
    """A multiple of 512 bytes, as devices go."""
    storage = opened("loop")
    storage.provision("b", "block", 4096 + 512, None)
    storage.publish("b", str(tmp_path / "b"), capability("block"), False, "")
    with (tmp_path / "b").open("rb") as device:
        assert device.seek(0, os.SEEK_END) == 4096 + 512


def test_a_volume_of_unknown_size_is_made_all_the_same(
    opened: Open, tmp_path: Path, mounted: Mounted
) -> None:
    """capacity 0: 1 GiB."""
    storage = opened("loop")
    storage.provision("v", "mount", 0, None)
    storage.publish("v", str(tmp_path / "t"), mounted(), False, "")
    assert total(tmp_path / "t") > 0.9 * (1 << 30)


def test_a_later_driver_thaws_what_a_dead_one_froze(
    opened: Open, tmp_path: Path, mounted: Mounted
) -> None:
    """Killed while it held back writes for a snapshot."""
    first, target = shown(opened, tmp_path / "t", mounted()), tmp_path / "t"
    with filesystems.frozen(str(target)):
        first.close(keep=True)
        opened("loop").adopt([VolumePath("v", str(target), mounted())], {"v"})
        (target / "file").write_text("goes on")
    assert (target / "file").read_text() == "goes on"


def test_a_driver_with_a_record_but_no_mount_mounts_again(
    opened: Open, tmp_path: Path, mounted: Mounted
) -> None:
    """After a reboot the caller stages and publishes once more."""
    storage, target = shown(opened, tmp_path / "t", mounted()), tmp_path / "t"
    (target / "file").write_text("kept")
    mounts.unmount(str(target))
    mounts.unmount(str(tmp_path / "root" / "homes" / "v" / "fs"))
    storage.publish("v", str(target), mounted(), False, "")
    assert (target / "file").read_text() == "kept"
