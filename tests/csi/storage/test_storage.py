"""refimpl.csi.storage: what every mode promises, and how one is chosen."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from refimpl.csi.state.models import Access, AccessMode, VolumeCapability
from refimpl.csi.state.ports import VolumePath
from refimpl.csi.storage import (
    Mode,
    OpenStorage,
    best_mode,
    mounts,
    open_storage,
    remove,
    sweep,
    temporary_root,
)
from refimpl.wire.status import Code, Refused

Open = Callable[[Mode], OpenStorage]
Plain = Callable[[Access], VolumeCapability]

WITH_DATA: list[Mode] = ["directory", "bind", "loop"]
SIZE = 8 << 20
every_mode = pytest.mark.parametrize("mode", WITH_DATA)


@pytest.fixture
def capability() -> Plain:
    return lambda access: VolumeCapability(access, AccessMode.MULTI_NODE_MULTI_WRITER)


def used(storage: OpenStorage, key: str, target: Path, access: Access, **how: bool) -> None:
    """Provision and publish in one go."""
    storage.provision(key, access, SIZE, None)
    capability = VolumeCapability(access, AccessMode.MULTI_NODE_MULTI_WRITER)
    storage.publish(key, str(target), capability, how.get("readonly", False), "")


@every_mode
def test_what_is_written_is_there_after_the_next_publish(
    mode: Mode, opened: Open, tmp_path: Path
) -> None:
    """A workload that moves to another place takes its data along."""
    storage, target = opened(mode), tmp_path / "target"
    used(storage, "v", target, "mount")
    (target / "file").write_text("kept")
    storage.unpublish("v", str(target))
    assert not os.path.lexists(target)
    used(storage, "v", target, "mount")
    assert (target / "file").read_text() == "kept"


@every_mode
def test_two_targets_show_one_volume(mode: Mode, opened: Open, tmp_path: Path) -> None:
    """Two workloads that share a volume see each other's writes; one may leave."""
    storage = opened(mode)
    used(storage, "v", tmp_path / "a", "mount")
    used(storage, "v", tmp_path / "b", "mount")
    (tmp_path / "a" / "file").write_text("seen")
    storage.unpublish("v", str(tmp_path / "a"))
    assert (tmp_path / "b" / "file").read_text() == "seen"


@every_mode
def test_a_block_volume_has_its_size_and_keeps_its_bytes(
    mode: Mode, opened: Open, tmp_path: Path
) -> None:
    """The device at the target is as large as the volume and remembers."""
    storage, target = opened(mode), tmp_path / "device"
    used(storage, "v", target, "block")
    with target.open("r+b") as device:
        assert device.seek(0, os.SEEK_END) == SIZE
        device.seek(4096)
        device.write(b"block")
    storage.unpublish("v", str(target))
    assert not os.path.lexists(target)
    used(storage, "v", target, "block")
    with target.open("rb") as device:
        device.seek(4096)
        assert device.read(5) == b"block"


@pytest.mark.parametrize("mode", ["bind", "loop"])
@pytest.mark.parametrize("access", ["mount", "block"])
def test_a_read_only_publish_refuses_writes_where_volumes_are_mounted(
    mode: Mode, access: Access, opened: Open, tmp_path: Path
) -> None:
    """readonly holds for one target; its sibling goes on writing. A link cannot be read-only."""
    storage, target = opened(mode), tmp_path / "target"
    assert "readonly" in storage.capabilities
    used(storage, "v", tmp_path / "sibling", access)
    used(storage, "v", target, access, readonly=True)

    def write(content: Path) -> None:
        path = content / "file" if access == "mount" else content
        with path.open("w" if access == "mount" else "r+") as file:
            file.write("x")

    with pytest.raises(OSError, match=r"Read-only file system|Operation not permitted"):
        write(target)
    write(tmp_path / "sibling")


@every_mode
@pytest.mark.parametrize("access", ["mount", "block"])
def test_a_snapshot_keeps_the_moment_and_a_copy_starts_from_it(
    mode: Mode, access: Access, opened: Open, tmp_path: Path
) -> None:
    """What is written later is in the volume and nowhere else."""
    storage, target, copy = opened(mode), tmp_path / "target", tmp_path / "copy"
    used(storage, "v", target, access)

    def content(at: Path, text: str | None = None) -> str:
        path = at / "file" if access == "mount" else at
        if text is not None:
            with path.open("r+" if path.exists() else "w") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
        with path.open() as file:
            return file.read(5)

    content(target, "early")
    storage.snapshot("s", "v")
    content(target, "later")
    storage.provision("c", access, 2 * SIZE, "s")
    used(storage, "c", copy, access)
    assert (content(target), content(copy)) == ("later", "early")


@every_mode
def test_a_copy_of_an_unused_source_is_made_at_first_use(
    mode: Mode, opened: Open, tmp_path: Path
) -> None:
    """Storage is thin: nothing was written, so there is nothing to copy."""
    storage = opened(mode)
    storage.snapshot("s", "never-used")
    storage.provision("c", "mount", SIZE, "s")
    used(storage, "c", tmp_path / "target", "mount")
    assert set(os.listdir(tmp_path / "target")) <= {"lost+found"}


@every_mode
def test_destroyed_content_does_not_come_back(mode: Mode, opened: Open, tmp_path: Path) -> None:
    """The next volume of the same key is a new one."""
    storage, target = opened(mode), tmp_path / "target"
    used(storage, "v", target, "mount")
    (target / "file").write_text("gone")
    storage.unpublish("v", str(target))
    storage.destroy("v")
    storage.destroy("v")
    used(storage, "v", target, "mount")
    assert not (target / "file").exists()


@every_mode
@pytest.mark.parametrize("obstacle", ["file", "full directory", "link"])
def test_a_target_that_belongs_to_somebody_else_is_left_alone(
    mode: Mode, obstacle: str, opened: Open, tmp_path: Path
) -> None:
    """Publishing never replaces, hides or follows what it finds."""
    storage, target, outside = opened(mode), tmp_path / "target", tmp_path / "outside"
    outside.mkdir()
    if obstacle == "file":
        target.write_text("precious")
    elif obstacle == "link":
        target.symlink_to(outside)
    else:
        target.mkdir()
        (target / "precious").write_text("precious")
    with pytest.raises(Refused) as caught:
        used(storage, "v", target, "mount")
    assert caught.value.code == Code.FAILED_PRECONDITION
    with pytest.raises(Refused):
        storage.unpublish("v", str(target))
    assert os.path.lexists(target)
    assert os.listdir(outside) == []


@every_mode
def test_an_empty_directory_serves_as_target_and_goes(
    mode: Mode, opened: Open, tmp_path: Path
) -> None:
    """Some callers make the target themselves; unpublishing has to remove it all the same."""
    storage, target = opened(mode), tmp_path / "target"
    target.mkdir()
    used(storage, "v", target, "mount")
    (target / "file").write_text("x")
    storage.unpublish("v", str(target))
    assert not os.path.lexists(target)


@every_mode
def test_a_missing_parent_is_not_made(mode: Mode, opened: Open, tmp_path: Path) -> None:
    """The caller makes the parent of a target, the driver only the target."""
    storage = opened(mode)
    with pytest.raises(Refused) as caught:
        used(storage, "v", tmp_path / "missing" / "target", "mount")
    assert caught.value.code == Code.FAILED_PRECONDITION
    assert "parent" in caught.value.message
    assert not (tmp_path / "missing").exists()


@every_mode
def test_the_driver_is_no_target(mode: Mode, opened: Open, tmp_path: Path) -> None:
    """A path into its directory, also through a link, would make content its own target."""
    storage = opened(mode)
    storage.provision("v", "mount", SIZE, None)
    (tmp_path / "way").symlink_to(tmp_path / "root")
    for inside in ("root/target", "way/homes/v/data", "root/homes/v/fs"):
        with pytest.raises(Refused) as caught:
            used(storage, "v", tmp_path / inside, "mount")
        assert caught.value.code == Code.INVALID_ARGUMENT
        with pytest.raises(Refused):
            storage.unpublish("v", str(tmp_path / inside))


@every_mode
def test_unpublishing_twice_or_after_the_target_vanished_is_fine(
    mode: Mode, opened: Open, tmp_path: Path
) -> None:
    """A caller that lost an answer asks again."""
    storage, target = opened(mode), tmp_path / "target"
    used(storage, "v", target, "mount")
    storage.unpublish("v", str(target))
    storage.unpublish("v", str(target))
    assert not os.path.lexists(target)


@every_mode
def test_repeated_calls_leave_one_layer(
    mode: Mode, opened: Open, tmp_path: Path, capability: Plain
) -> None:
    """Stage and publish are asked again whenever a caller is unsure."""
    storage, target, staging = opened(mode), tmp_path / "target", tmp_path / "staging"
    staging.mkdir()
    storage.provision("v", "mount", SIZE, None)
    for _ in range(3):
        storage.stage("v", str(staging), capability("mount"))
        storage.publish("v", str(target), capability("mount"), False, str(staging))
    points = [mount.point for mount in mounts.table()]
    expected = int("mounts" in storage.capabilities)
    assert points.count(str(target)) == points.count(str(staging)) == expected


@every_mode
def test_the_content_is_seen_at_the_staging_path_where_the_mode_says_so(
    mode: Mode, opened: Open, tmp_path: Path, capability: Plain
) -> None:
    """Unstaging leaves the directory, which is the caller's."""
    storage, staging = opened(mode), tmp_path / "staging"
    staging.mkdir()
    storage.provision("v", "mount", SIZE, None)
    storage.stage("v", str(staging), capability("mount"))
    used(storage, "v", tmp_path / "target", "mount")
    (tmp_path / "target" / "file").write_text("x")
    assert (staging / "file").exists() == ("staging" in storage.capabilities)
    storage.unpublish("v", str(tmp_path / "target"))
    storage.unstage("v", str(staging))
    storage.unstage("v", str(staging))
    assert os.listdir(staging) == []


@every_mode
def test_usage_adds_up_and_grows_with_what_is_written(
    mode: Mode, opened: Open, tmp_path: Path
) -> None:
    """NodeGetVolumeStats: used and available never exceed the total."""
    storage, target = opened(mode), tmp_path / "target"
    used(storage, "v", target, "mount")
    total, before, _ = storage.usage("v", str(target)).bytes
    (target / "file").write_bytes(os.urandom(1 << 20))
    os.sync()
    usage = storage.usage("v", str(target))
    assert usage.bytes[0] == total > 0.9 * SIZE
    assert usage.bytes[1] >= before + (1 << 20)
    assert usage.bytes[1] + usage.bytes[2] <= total
    assert usage.inodes is not None
    assert usage.inodes[1] + usage.inodes[2] <= usage.inodes[0]


@every_mode
def test_usage_of_a_block_volume_is_its_size(mode: Mode, opened: Open, tmp_path: Path) -> None:
    """A block volume has no files to count."""
    storage, target = opened(mode), tmp_path / "target"
    used(storage, "v", target, "block")
    usage = storage.usage("v", str(target))
    assert (usage.bytes[0], usage.inodes) == (SIZE, None)


@every_mode
def test_a_block_volume_grows_in_use(mode: Mode, opened: Open, tmp_path: Path) -> None:
    """The device has the new size at once; growing to less changes nothing."""
    storage, target = opened(mode), tmp_path / "target"
    used(storage, "v", target, "block")
    storage.resize("v", 2 * SIZE)
    storage.resize("v", SIZE)
    storage.fill("v")
    with target.open("rb") as device:
        assert device.seek(0, os.SEEK_END) == 2 * SIZE


@every_mode
def test_extents_tell_what_was_written_and_what_changed(
    mode: Mode, opened: Open, tmp_path: Path
) -> None:
    """Snapshot metadata: every written byte lies in an extent, untouched space in none."""
    storage, target = opened(mode), tmp_path / "target"
    used(storage, "v", target, "block")

    def write(offset: int) -> None:
        with target.open("r+b") as device:
            device.seek(offset)
            device.write(b"x" * 4096)

    write(1 << 20)
    storage.snapshot("one", "v")
    write(5 << 20)
    storage.snapshot("two", "v")
    assert list(storage.allocated("one")) == [(1 << 20, 4096)]
    assert [start for start, _ in storage.allocated("two")] == [1 << 20, 5 << 20]
    assert [start for start, _ in storage.changed("one", "two")] == [5 << 20]
    assert list(storage.allocated("never made")) == []


@every_mode
def test_keys_are_free_text_and_stay_inside_the_root(
    mode: Mode, opened: Open, tmp_path: Path
) -> None:
    """Ids made from names carry slashes, dots and any letter; two keys are never one."""
    storage = opened(mode)
    for number, key in enumerate(
        ("../../escape", "a/b", "a b", "\u00fc", ".", "x" * 128, "X" * 128)
    ):
        target = tmp_path / f"target-{number}"
        used(storage, key, target, "mount")
        (target / "file").write_text(key)
    for number, key in enumerate(("../../escape", "a/b", "a b")):
        assert (tmp_path / f"target-{number}" / "file").read_text() == key
    assert {entry for entry in os.listdir(tmp_path) if not entry.startswith("target")} == {"root"}


@every_mode
def test_a_group_gets_the_volume_where_the_mode_says_so(
    mode: Mode, opened: Open, tmp_path: Path
) -> None:
    """volume_mount_group: files made later belong to the group, which may read and write them."""
    storage, target = opened(mode), tmp_path / "target"
    capability = VolumeCapability("mount", AccessMode.MULTI_NODE_MULTI_WRITER, mount_group="4711")
    storage.provision("v", "mount", SIZE, None)
    storage.publish("v", str(target), capability, False, "")
    (target / "file").write_text("x")
    status = (target / "file").stat()
    if "mount_group" in storage.capabilities:
        assert (status.st_gid, status.st_mode & 0o060) == (4711, 0o060)
    else:
        assert target.is_dir()


@every_mode
@pytest.mark.parametrize("flag", ["remount", "bind", "move", "nodev,remount"])
def test_a_flag_that_is_another_operation_is_refused(
    mode: Mode, flag: str, opened: Open, tmp_path: Path
) -> None:
    """mount_flags must not turn a publish into something else."""
    storage = opened(mode)
    capability = VolumeCapability("mount", AccessMode.MULTI_NODE_MULTI_WRITER, "", (flag,))
    storage.provision("v", "mount", SIZE, None)
    with pytest.raises(Refused) as caught:
        storage.publish("v", str(tmp_path / "target"), capability, False, "")
    assert caught.value.code == Code.INVALID_ARGUMENT
    assert not os.path.lexists(tmp_path / "target")


@every_mode
def test_a_selinux_label_is_taken(mode: Mode, opened: Open, tmp_path: Path) -> None:
    """Kubelet sends one, in double quotes, to every driver that says it can (seLinuxMount)."""
    storage, target = opened(mode), tmp_path / "target"
    label = 'context="system_u:object_r:container_file_t:s0:c1,c2"'
    capability = VolumeCapability("mount", AccessMode.MULTI_NODE_MULTI_WRITER, "", (label,))
    storage.provision("v", "mount", SIZE, None)
    storage.publish("v", str(target), capability, False, "")
    assert target.is_dir()


@every_mode
@pytest.mark.parametrize("access", ["mount", "block"])
def test_a_later_driver_takes_over_what_was_kept(
    mode: Mode, access: Access, opened: Open, tmp_path: Path, capability: Plain
) -> None:
    """Workloads go on while a driver is replaced; the new one can undo the old one's work."""
    first, target = opened(mode), tmp_path / "target"
    used(first, "v", target, access)
    first.close(keep=True)
    assert os.path.exists(target)
    second = opened(mode)
    second.adopt([VolumePath("v", str(target), capability(access))], {"v"})
    assert second.holds("v", str(target))
    second.unpublish("v", str(target))
    assert not os.path.lexists(target)
    second.destroy("v")


@every_mode
def test_a_later_driver_removes_content_without_an_owner(
    mode: Mode, opened: Open, tmp_path: Path
) -> None:
    """A crash between making content and writing it down must not leak."""
    first = opened(mode)
    first.provision("kept", "mount", SIZE, None)
    first.provision("lost", "mount", SIZE, None)
    first.close(keep=True)
    opened(mode).adopt([], {"kept"})
    assert os.listdir(tmp_path / "root" / "homes") == ["kept"]


@every_mode
@pytest.mark.parametrize("access", ["mount", "block"])
def test_a_later_driver_can_undo_work_nobody_remembers(
    mode: Mode, access: Access, opened: Open, tmp_path: Path
) -> None:
    """After SIGKILL in the middle of a call there is work without a record."""
    first, target = opened(mode), tmp_path / "target"
    used(first, "v", target, access)
    first.close(keep=True)
    second = opened(mode)
    second.adopt([], {"v"})
    assert second.holds("v", str(target))
    second.unpublish("v", str(target))
    second.destroy("v")
    assert not os.path.lexists(target)


@every_mode
def test_a_later_driver_takes_away_mounts_of_volumes_that_do_not_exist(
    mode: Mode, opened: Open, tmp_path: Path, capability: Plain
) -> None:
    """Nobody can ever ask for them again."""
    first, staging = opened(mode), tmp_path / "staging"
    staging.mkdir()
    used(first, "v", tmp_path / "target", "mount")
    used(first, "b", tmp_path / "device", "block")
    first.stage("v", str(staging), capability("mount"))
    first.close(keep=True)
    opened(mode).adopt([], ())
    assert not [m for m in mounts.table() if m.point.startswith(f"{tmp_path}/")]


@every_mode
def test_closing_removes_every_target(mode: Mode, opened: Open, tmp_path: Path) -> None:
    """Also one that is busy: nothing of the driver may stay behind."""
    storage = opened(mode)
    used(storage, "v", tmp_path / "target", "mount")
    used(storage, "b", tmp_path / "device", "block")
    with (tmp_path / "target" / "open").open("w"):
        storage.close()
    assert not os.path.lexists(tmp_path / "target")
    assert not os.path.lexists(tmp_path / "device")


@every_mode
def test_sweeping_removes_a_dead_drivers_storage(mode: Mode, opened: Open, tmp_path: Path) -> None:
    """And touches no directory that is not a storage."""
    storage, root = opened(mode), str(tmp_path / "root")
    used(storage, "v", tmp_path / "target", "mount")
    (tmp_path / "other").mkdir()
    assert not sweep(str(tmp_path / "other"))
    with pytest.raises(Refused, match="in use by another driver"):
        sweep(root)
    assert (tmp_path / "target").exists()
    storage.close(keep=True)
    assert sweep(root)
    assert sorted(os.listdir(tmp_path)) in (["other"], ["other", "target"])


@pytest.mark.usefixtures("opened")
def test_a_temporary_root_comes_after_those_of_the_dead_went(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A killed driver's temporary storage goes with the next start of any driver."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    best_mode()
    first = open_storage("auto", temporary_root())
    used(first, "v", tmp_path / "target", "mount")
    second = temporary_root()
    assert (tmp_path / "target").exists()
    first.close(keep=True)
    third = temporary_root()
    roots = {str(path) for path in tmp_path.glob("refimpl-volumes-*")}
    assert roots == {second, third}
    assert remove(second)
    assert remove(third)


def test_memory_touches_nothing(opened: Open, tmp_path: Path) -> None:
    """The same calls with no file at all."""
    storage, target = opened("memory"), tmp_path / "target"
    used(storage, "v", target, "mount")
    assert storage.is_directory("/anywhere")
    assert storage.holds("v", str(target))
    assert storage.usage("v", str(target)).bytes == (SIZE, 0, SIZE)
    storage.unpublish("v", str(target))
    assert not storage.holds("v", str(target))
    assert os.listdir(tmp_path) == []


def test_an_unknown_mode_is_named() -> None:
    """A typing error on the command line."""
    with pytest.raises(ValueError, match="tape"):
        open_storage("tape", "/nowhere")  # type: ignore[arg-type]


def test_the_best_mode_can_be_opened(opened: Open) -> None:
    """auto never chooses what then fails."""
    assert best_mode() in WITH_DATA
    assert "data" in opened("auto").capabilities
