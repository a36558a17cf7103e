"""refimpl.csi.storage.points: what may become a mount point, and what may be removed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from refimpl.csi.state.models import Access
from refimpl.csi.storage import mounts, points
from refimpl.csi.storage.privileged import can_bind
from refimpl.wire.status import Code, Refused


def thing(path: Path, kind: str) -> Path:
    """Something at the path."""
    if kind == "empty directory":
        path.mkdir()
    elif kind == "full directory":
        path.mkdir()
        (path / "file").touch()
    elif kind == "empty file":
        path.touch()
    elif kind == "full file":
        path.write_text("x")
    elif kind == "link":
        path.symlink_to(path.parent)
    elif kind == "pipe":
        os.mkfifo(path)
    return path


@pytest.mark.parametrize(
    ("kind", "access", "goes"),
    [
        ("nothing", None, True),
        ("empty directory", None, True),
        ("empty directory", "mount", True),
        ("empty directory", "block", False),
        ("empty file", None, True),
        ("empty file", "block", True),
        ("empty file", "mount", False),
        ("full directory", None, False),
        ("full file", None, False),
        ("link", None, False),
        ("pipe", None, False),
    ],
)
def test_only_what_holds_nothing_is_removed(
    kind: str, access: Access | None, goes: bool, tmp_path: Path
) -> None:
    """Everything else belongs to somebody, and the caller is told."""
    path = thing(tmp_path / "t", kind)
    if goes:
        points.clear(str(path), access)
    else:
        with pytest.raises(Refused) as caught:
            points.clear(str(path), access)
        assert caught.value.code == Code.FAILED_PRECONDITION
    assert os.path.lexists(path) != goes


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A directory to show; skips where nothing can be mounted."""
    if not can_bind(str(tmp_path)):
        pytest.skip("this process may not mount")
    return thing(tmp_path / "source", "full directory")


@pytest.mark.parametrize("kind", ["nothing", "empty directory"])
def test_a_directory_is_covered(kind: str, source: Path, tmp_path: Path) -> None:
    """Made if need be."""
    target = thing(tmp_path / "t", kind)
    points.cover(str(source), str(target), "mount", mounts.MountOptions())
    assert os.listdir(target) == ["file"]
    with (target / "file").open():
        points.force(str(target))
    assert os.listdir(target) == []


@pytest.mark.parametrize("kind", ["full directory", "empty file", "full file", "link"])
def test_what_is_in_the_way_stays(kind: str, source: Path, tmp_path: Path) -> None:
    """A mount would hide it."""
    target = thing(tmp_path / "t", kind)
    with pytest.raises(Refused) as caught:
        points.cover(str(source), str(target), "mount", mounts.MountOptions())
    assert caught.value.code == Code.FAILED_PRECONDITION
    assert os.path.lexists(target)
    assert not mounts.unmount(str(target))


@pytest.mark.parametrize("access", ["mount", "block"])
def test_a_mount_that_fails_takes_its_point_along(
    access: Access, source: Path, tmp_path: Path
) -> None:
    """A point of the caller stays."""
    missing = str(source / "missing")
    with pytest.raises(OSError, match="No such file"):
        points.cover(missing, str(tmp_path / "t"), access, mounts.MountOptions())
    assert not os.path.lexists(tmp_path / "t")
    target = thing(tmp_path / "there", "empty directory" if access == "mount" else "empty file")
    with pytest.raises(OSError, match="No such file"):
        points.cover(missing, str(target), access, mounts.MountOptions())
    assert target.exists()


def test_what_can_be_looked_at_or_is_not_there_is_fine(tmp_path: Path) -> None:
    """Only a dead mount stands in the way."""
    points.look(str(tmp_path))
    points.look(str(tmp_path / "nothing"))


def test_what_cannot_be_looked_at_is_told(tmp_path: Path) -> None:
    """A path through a file stands for a mount whose server is dead."""
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError):
        points.look(str(tmp_path / "file" / "below"))
