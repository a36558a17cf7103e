"""refimpl.csi.storage.directory: what only links do; mostly without a real file (pyfakefs)."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from pyfakefs.fake_filesystem import FakeFilesystem

from refimpl.csi.state.models import Access, AccessMode, VolumeCapability
from refimpl.csi.storage.directory import DirectoryStorage
from refimpl.wire.status import Code, Refused


def capability(access: Access, **more: object) -> VolumeCapability:
    """The plainest one."""
    return VolumeCapability(access, AccessMode.MULTI_NODE_MULTI_WRITER, **more)  # type: ignore[arg-type]


@pytest.fixture
def storage(fs: FakeFilesystem) -> DirectoryStorage:
    """A storage with an empty mount volume "m" and a block volume "b"."""
    fs.create_dir("/pods")
    storage = DirectoryStorage("/state/storage")
    storage.provision("m", "mount", 1 << 20, None)
    storage.provision("b", "block", 1 << 20, None)
    return storage


def test_a_target_is_a_link_to_the_content(storage: DirectoryStorage) -> None:
    """A directory for a mount volume, a file of the size for a block volume."""
    storage.publish("m", "/pods/m", capability("mount"), False, "")
    storage.publish("b", "/pods/b", capability("block"), False, "")
    assert os.path.islink("/pods/m")
    assert os.path.isdir("/pods/m")
    assert os.stat("/pods/b").st_size == 1 << 20


def test_the_mode_says_what_it_cannot_do(storage: DirectoryStorage) -> None:
    """A suite skips what only mounts can show."""
    assert storage.capabilities == {"data"}


def test_a_volume_is_known_by_its_link(storage: DirectoryStorage) -> None:
    """Also after the record of it was lost; the link of another volume is another's."""
    storage.publish("m", "/pods/m", capability("mount"), False, "")
    assert storage.holds("m", "/pods/m")
    assert not storage.holds("b", "/pods/m")
    assert not storage.holds("m", "/pods")
    assert not storage.holds("m", "/a\0b")


def test_the_link_of_another_volume_is_not_removed(storage: DirectoryStorage) -> None:
    """Unpublishing one volume at the target of another."""
    storage.publish("m", "/pods/m", capability("mount"), False, "")
    with pytest.raises(Refused) as caught:
        storage.unpublish("b", "/pods/m")
    assert caught.value.code == Code.FAILED_PRECONDITION
    assert storage.holds("m", "/pods/m")


def test_data_under_the_target_survives_an_unpublish(storage: DirectoryStorage) -> None:
    """The link is gone and a directory with files lies there: never a recursive delete."""
    storage.publish("m", "/pods/m", capability("mount"), False, "")
    os.unlink("/pods/m")
    os.mkdir("/pods/m")
    with open("/pods/m/precious", "w") as file:
        file.write("x")
    with pytest.raises(Refused, match="not make"):
        storage.unpublish("m", "/pods/m")
    assert os.path.exists("/pods/m/precious")


@pytest.mark.parametrize("path", ["/pods", "/missing", "/state/storage/homes/b/block", "/a\0b"])
def test_only_directories_are_directories(path: str, storage: DirectoryStorage) -> None:
    """NodeStageVolume asks."""
    assert storage.is_directory(path) == (path == "/pods")


def test_a_full_disk_leaves_no_half_made_volume(
    storage: DirectoryStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """RESOURCE_EXHAUSTED, and a repetition starts anew."""

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "full")

    with monkeypatch.context() as patched:
        patched.setattr(os, "truncate", full)
        with pytest.raises(Refused) as caught:
            storage.provision("new", "block", 1 << 20, None)
    assert caught.value.code == Code.RESOURCE_EXHAUSTED
    assert storage.layout.found("new") is None
    storage.provision("new", "block", 1 << 20, None)
    assert storage.layout.found("new") == "block"


def test_a_volume_is_provisioned_once(storage: DirectoryStorage) -> None:
    """A repeated call must not empty it."""
    content = storage.layout.content("m", "mount")
    with open(f"{content}/file", "w") as file:
        file.write("kept")
    storage.provision("m", "mount", 1 << 20, None)
    assert os.listdir(content) == ["file"]


def test_a_copy_has_the_access_type_of_its_source(storage: DirectoryStorage) -> None:
    """Content of another kind is none."""
    storage.provision("copy", "block", 1 << 20, "m")
    assert storage.layout.found("copy") is None


def test_a_directory_may_hold_more_than_it_was_promised(tmp_path: Path) -> None:
    """Nobody stops the workload, so the statistics follow: used plus available is the total."""
    storage = DirectoryStorage(str(tmp_path / "root"))
    storage.provision("m", "mount", 4096, None)
    content = Path(storage.layout.content("m", "mount"))
    (content / "file").write_bytes(os.urandom(1 << 20))
    total, used, available = storage.usage("m", str(content)).bytes
    assert total == used + available
    assert used >= 1 << 20


def test_a_group_that_does_not_exist_is_an_invalid_argument(tmp_path: Path) -> None:
    """volume_mount_group is a number, or a name this machine knows."""
    storage = DirectoryStorage(str(tmp_path / "root"))
    storage.provision("m", "mount", 4096, None)
    for group in ("no such group", str(2**32), "-1", "\u0664"):
        with pytest.raises(Refused) as caught:
            storage.publish(
                "m", str(tmp_path / "t"), capability("mount", mount_group=group), False, ""
            )
        assert caught.value.code == Code.INVALID_ARGUMENT
    storage.publish("m", str(tmp_path / "t"), capability("mount", mount_group="root"), False, "")
    assert (tmp_path / "t").stat().st_mode & 0o2070 == 0o2070
