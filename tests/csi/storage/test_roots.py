"""refimpl.csi.storage.roots: whose directory is whose, and what dead drivers left."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from refimpl.csi.storage import mounts, roots
from refimpl.wire.status import Code, Refused
from tests.conftest import STRANGER, SmallDisk


def test_a_root_serves_one_storage_at_a_time(tmp_path: Path) -> None:
    """Two would delete each other's content as left over."""
    lock = roots.claim(str(tmp_path / "root"))
    with pytest.raises(Refused) as caught:
        roots.claim(str(tmp_path / "root"))
    assert caught.value.code == Code.FAILED_PRECONDITION
    os.close(lock)
    os.close(roots.claim(str(tmp_path / "root")))


def test_a_root_is_private(tmp_path: Path) -> None:
    """Others see volumes at their targets only."""
    os.close(roots.claim(str(tmp_path / "root")))
    assert (tmp_path / "root").stat().st_mode & 0o077 == 0


def test_only_roots_of_the_dead_are_abandoned(tmp_path: Path) -> None:
    """Not one in use, not one of a format we do not know, not what only bears the name."""
    for name in ("dead", "alive", "strange", "empty"):
        (tmp_path / f"refimpl-volumes-{name}").mkdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "refimpl-volumes-link").symlink_to(tmp_path / "refimpl-volumes-dead")
    (tmp_path / "refimpl-volumes-file").touch()
    os.close(roots.claim(str(tmp_path / "refimpl-volumes-dead")))
    os.close(roots.claim(str(tmp_path / "other")))
    (tmp_path / "refimpl-volumes-strange" / roots.MARK).write_text('{"format": 1}')
    lock = roots.claim(str(tmp_path / "refimpl-volumes-alive"))
    assert list(roots.abandoned(str(tmp_path))) == [str(tmp_path / "refimpl-volumes-dead")]
    os.close(lock)


def test_a_temporary_root_is_new_and_found_when_abandoned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the directory for temporary files."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    root = roots.temporary()
    assert os.listdir(root) == []
    assert list(roots.abandoned()) == []
    os.close(roots.claim(root))
    assert list(roots.abandoned()) == [root]


def test_the_lock_of_a_new_root_is_left_to_its_driver(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A driver that starts at the same time would find its own root in use."""
    (tmp_path / "refimpl-volumes-new").mkdir()
    locked: list[int] = []
    monkeypatch.setattr("fcntl.flock", lambda file, _: locked.append(file))
    assert list(roots.abandoned(str(tmp_path))) == []
    assert locked == []


def test_a_root_is_removed_with_everything(tmp_path: Path) -> None:
    """A directory that is none stays, unless it is empty."""
    os.close(roots.claim(str(tmp_path / "root")))
    (tmp_path / "root" / "homes" / "v").mkdir(parents=True)
    assert roots.remove(str(tmp_path / "root"))
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "precious").touch()
    assert not roots.remove(str(tmp_path / "other"))
    (tmp_path / "empty").mkdir()
    assert roots.remove(str(tmp_path / "empty"))


def test_a_root_with_a_mount_inside_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Deleting would go on in a file system of somebody else."""
    os.close(roots.claim(str(tmp_path / "root")))
    inside = mounts.MountEntry(
        "/", str(tmp_path / "root" / "there"), "rw", "ext4", "/dev/sdx", "8:1"
    )
    monkeypatch.setattr(mounts, "table", lambda: [inside])
    assert not roots.remove(str(tmp_path / "root"))
    assert (tmp_path / "root").exists()


@pytest.mark.timeout(30)
@pytest.mark.parametrize("mark", ["fifo", "link", "file"])
def test_the_root_of_another_user_is_passed_by(mark: str, public: Path, tmp_path: Path) -> None:
    """Whatever lies in it: a pipe instead of a mark held a driver of root up for ever."""
    planted = public / "refimpl-volumes-planted"
    planted.mkdir()
    content = '{"format": 2}'
    if mark == "fifo":
        os.mkfifo(planted / roots.MARK)
    elif mark == "link":
        (tmp_path / "mark").write_text(content)
        (planted / roots.MARK).symlink_to(tmp_path / "mark")
    else:
        (planted / roots.MARK).write_text(content)
    os.chown(planted, STRANGER, STRANGER)
    assert list(roots.abandoned(str(public))) == []


@pytest.mark.timeout(30)
@pytest.mark.parametrize("mark", ["fifo", "link"])
def test_a_mark_that_is_no_file_marks_nothing(mark: str, tmp_path: Path) -> None:
    """Nor does it hold anybody up."""
    planted = tmp_path / "refimpl-volumes-planted"
    planted.mkdir(mode=0o700)
    (tmp_path / "mark").write_text('{"format": 2}')
    if mark == "fifo":
        os.mkfifo(planted / roots.MARK)
    else:
        (planted / roots.MARK).symlink_to(tmp_path / "mark")
    assert list(roots.abandoned(str(tmp_path))) == []
    with pytest.raises(OSError, match="it is a"):
        roots.claim(str(planted))


@pytest.mark.parametrize("why", ["stranger's", "open to others"])
def test_a_root_that_others_may_write_to_is_not_claimed(why: str, public: Path) -> None:
    """They could put their own content under our volumes."""
    root = public / "root"
    root.mkdir(mode=0o700)
    if why == "open to others":
        root.chmod(0o777)
    else:
        os.chown(root, STRANGER, STRANGER)
    with pytest.raises(PermissionError):
        roots.claim(str(root))


def test_a_marked_root_is_claimed_again_on_a_full_disk(small_disk: SmallDisk) -> None:
    """Nothing is written that is there."""
    root = small_disk.folder / "root"
    os.close(roots.claim(str(root)))
    before = (root / roots.MARK).read_bytes()
    small_disk.fill()
    os.close(roots.claim(str(root)))
    assert (root / roots.MARK).read_bytes() == before
