"""refimpl.csi.storage.bind: what only mounts do."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from refimpl.csi.state.models import Access, VolumeCapability
from refimpl.csi.state.ports import VolumePath
from refimpl.csi.storage import Mode, OpenStorage, loops, mounts
from refimpl.csi.storage.bind import BindStorage
from refimpl.csi.storage.privileged import can_bind
from refimpl.wire.status import Code, Refused

Open = Callable[[Mode], OpenStorage]
Mounted = Callable[..., VolumeCapability]
Plain = Callable[[Access], VolumeCapability]

SIZE = 1 << 20


def layers(point: Path) -> int:
    """How many mounts lie on one another."""
    return [mount.point for mount in mounts.table()].count(str(point))


def flags(point: Path) -> set[str]:
    """Flags of the mount at a point."""
    return {f for m in mounts.table() if m.point == str(point) for f in m.flags.split(",")}


def test_flags_hold_for_one_target(opened: Open, tmp_path: Path, mounted: Mounted) -> None:
    """Also at the staging path; siblings have their own."""
    storage = opened("bind")
    (tmp_path / "staging").mkdir()
    storage.provision("v", "mount", SIZE, None)
    storage.stage("v", str(tmp_path / "staging"), mounted("nodev"))
    storage.publish("v", str(tmp_path / "a"), mounted("noatime", "noexec"), False, "")
    storage.publish("v", str(tmp_path / "b"), mounted(), True, "")
    assert "nodev" in flags(tmp_path / "staging")
    assert {"noexec", "rw"} <= flags(tmp_path / "a")
    assert "noatime" in flags(tmp_path / "a") or "mount_flags" not in storage.capabilities
    assert "ro" in flags(tmp_path / "b")
    assert not {"noexec", "noatime"} & flags(tmp_path / "b")


def test_ro_among_the_flags_is_read_only(opened: Open, tmp_path: Path, mounted: Mounted) -> None:
    """mount_flags may say it, too."""
    storage = opened("bind")
    storage.provision("v", "mount", SIZE, None)
    storage.publish("v", str(tmp_path / "t"), mounted("ro"), False, "")
    with pytest.raises(OSError, match="Read-only"):
        (tmp_path / "t" / "file").write_text("x")


def test_a_target_mounted_twice_is_unmounted_fully(
    opened: Open, tmp_path: Path, mounted: Mounted
) -> None:
    """Somebody, perhaps an earlier version, mounted it once more."""
    storage, target = opened("bind"), tmp_path / "t"
    storage.provision("v", "mount", SIZE, None)
    storage.publish("v", str(target), mounted(), False, "")
    mounts.bind(str(target), str(target))
    assert layers(target) == 2
    storage.unpublish("v", str(target))
    assert (layers(target), os.path.lexists(target)) == (0, False)


def test_a_target_unmounted_by_somebody_else_is_removed(
    opened: Open, tmp_path: Path, mounted: Mounted
) -> None:
    """And shown again when the caller repeats the publish instead (a reboot)."""
    storage, target = opened("bind"), tmp_path / "t"
    storage.provision("v", "mount", SIZE, None)
    storage.publish("v", str(target), mounted(), False, "")
    mounts.unmount(str(target))
    storage.publish("v", str(target), mounted(), False, "")
    assert layers(target) == 1
    mounts.unmount(str(target))
    storage.unpublish("v", str(target))
    assert not os.path.lexists(target)


def test_data_under_an_unmounted_target_survives(
    opened: Open, tmp_path: Path, mounted: Mounted
) -> None:
    """The mount is gone, and files lie where it was: never a recursive delete."""
    storage, target = opened("bind"), tmp_path / "t"
    storage.provision("v", "mount", SIZE, None)
    storage.publish("v", str(target), mounted(), False, "")
    (target / "inside").write_text("x")
    mounts.unmount(str(target))
    (target / "precious").write_text("x")
    with pytest.raises(Refused) as caught:
        storage.unpublish("v", str(target))
    assert caught.value.code == Code.FAILED_PRECONDITION
    assert os.listdir(target) == ["precious"]
    (target / "precious").unlink()
    storage.unpublish("v", str(target))
    storage.publish("v", str(target), mounted(), False, "")
    assert os.listdir(target) == ["inside"]


def test_a_mount_of_somebody_else_on_the_target_stays(
    opened: Open, tmp_path: Path, mounted: Mounted
) -> None:
    """What was put there afterwards has an owner of its own."""
    storage, target = opened("bind"), tmp_path / "t"
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "file").write_text("x")
    storage.provision("v", "mount", SIZE, None)
    storage.publish("v", str(target), mounted(), False, "")
    mounts.bind(str(tmp_path / "foreign"), str(target))
    with pytest.raises(Refused) as caught:
        storage.unpublish("v", str(target))
    assert caught.value.code == Code.FAILED_PRECONDITION
    assert (target / "file").exists()
    mounts.unmount(str(target))
    storage.unpublish("v", str(target))


def test_a_busy_target_is_told_and_goes_later(
    opened: Open, tmp_path: Path, mounted: Mounted
) -> None:
    """The caller may repeat once the file is closed."""
    storage, target = opened("bind"), tmp_path / "t"
    storage.provision("v", "mount", SIZE, None)
    storage.publish("v", str(target), mounted(), False, "")
    with (target / "file").open("w"), pytest.raises(Refused) as caught:
        storage.unpublish("v", str(target))
    assert caught.value.code == Code.ABORTED
    assert layers(target) == 1
    storage.unpublish("v", str(target))
    assert not os.path.lexists(target)


def test_a_flipped_readonly_after_a_lost_record_is_put_right(
    opened: Open, tmp_path: Path, mounted: Mounted
) -> None:
    """A crash left a writable mount; the call after it asks for a read-only one."""
    storage, target = opened("bind"), tmp_path / "t"
    storage.provision("v", "mount", SIZE, None)
    storage.publish("v", str(target), mounted(), False, "")
    storage.publish("v", str(target), mounted(), True, "")
    assert layers(target) == 1
    assert "ro" in flags(target)


def test_one_device_for_writers_and_one_for_readers(
    opened: Open, tmp_path: Path, capability: Plain
) -> None:
    """Shared by their targets, and gone with the last of them."""
    storage = opened("bind")
    if "devices" not in storage.capabilities:
        pytest.skip("this machine lends no loop devices")
    storage.provision("v", "block", SIZE, None)
    for name, readonly in (("a", False), ("b", False), ("c", True)):
        storage.publish("v", str(tmp_path / name), capability("block"), readonly, "")
    numbers = [(tmp_path / name).stat().st_rdev for name in ("a", "b", "c")]
    assert numbers[0] == numbers[1] != numbers[2]
    for name in ("a", "b", "c"):
        storage.unpublish("v", str(tmp_path / name))
    assert not [file for file in loops.attached().values() if file.startswith(str(tmp_path))]


def test_a_snapshot_has_what_a_device_held_back(
    opened: Open, tmp_path: Path, capability: Plain
) -> None:
    """Written, not yet flushed, and the device still open."""
    storage = opened("bind")
    storage.provision("v", "block", SIZE, None)
    storage.publish("v", str(tmp_path / "t"), capability("block"), False, "")
    with (tmp_path / "t").open("r+b", buffering=0) as device:
        device.write(b"x" * 4096)
        storage.snapshot("s", "v")
    assert list(storage.allocated("s")) == [(0, 4096)]


def test_without_loop_devices_a_block_volume_is_a_file(tmp_path: Path, capability: Plain) -> None:
    """Bound like a directory, read-only like one."""
    if not can_bind(str(tmp_path)):
        pytest.skip("this process may not mount")
    storage = BindStorage(str(tmp_path / "root"), devices=False)
    assert "devices" not in storage.capabilities
    storage.provision("v", "block", SIZE, None)
    storage.publish("v", str(tmp_path / "w"), capability("block"), False, "")
    storage.publish("v", str(tmp_path / "r"), capability("block"), True, "")
    (tmp_path / "w").open("r+b").close()
    with pytest.raises(OSError, match="Read-only"):
        (tmp_path / "r").open("r+b").close()
    storage.unpublish("v", str(tmp_path / "w"))
    storage.close()
    assert sorted(os.listdir(tmp_path)) == ["root"]


def test_a_later_driver_finds_devices_again(
    opened: Open, tmp_path: Path, capability: Plain
) -> None:
    """So that unpublishing detaches them and a second target shares them."""
    first = opened("bind")
    if "devices" not in first.capabilities:
        pytest.skip("this machine lends no loop devices")
    first.provision("v", "block", SIZE, None)
    first.publish("v", str(tmp_path / "a"), capability("block"), False, "")
    first.close(keep=True)
    second = opened("bind")
    second.adopt([VolumePath("v", str(tmp_path / "a"), capability("block"))], {"v"})
    second.publish("v", str(tmp_path / "b"), capability("block"), False, "")
    assert (tmp_path / "a").stat().st_rdev == (tmp_path / "b").stat().st_rdev


def test_deleting_spares_a_mount_inside_a_volume(opened: Open, tmp_path: Path) -> None:
    """A workload mounted something below its volume, seen through the driver's own directory."""
    storage = opened("bind")
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "precious").write_text("x")
    storage.provision("v", "mount", SIZE, None)
    inside = tmp_path / "root" / "homes" / "v" / "data" / "there"
    inside.mkdir()
    mounts.bind(str(tmp_path / "foreign"), str(inside))
    with pytest.raises(Refused) as caught:
        storage.destroy("v")
    assert caught.value.code == Code.FAILED_PRECONDITION
    assert (tmp_path / "foreign" / "precious").exists()
    mounts.unmount(str(inside))
    storage.destroy("v")


def test_a_namespace_of_ones_own_is_enough(tmp_path: Path) -> None:
    """Without root: a user and mount namespace, in which binds work and loop devices do not."""
    script = (
        "import sys; from refimpl.csi.storage import open_storage, mounts;"
        "from refimpl.csi.state.models import *;"
        "s = open_storage('bind', sys.argv[1] + '/root');"
        "c = VolumeCapability('mount', AccessMode.MULTI_NODE_MULTI_WRITER);"
        "s.provision('v', 'mount', 4096, None);"
        "s.publish('v', sys.argv[1] + '/t', c, True, '');"
        "print([m.flags.split(',')[0] for m in mounts.table() if m.point.endswith('/t')]);"
        "s.close()"
    )
    command = ["unshare", "--user", "--map-root-user", "--mount"]
    try:
        subprocess.run([*command, "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this machine gives no user namespaces")
    import sys

    process = subprocess.run(
        [*command, sys.executable, "-c", script, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert (process.stdout, process.returncode) == ("['ro']\n", 0), process.stderr
