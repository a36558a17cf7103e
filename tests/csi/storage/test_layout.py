"""refimpl.csi.storage.layout: homes below one root. Mostly without a real file (pyfakefs)."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from pyfakefs.fake_filesystem import FakeFilesystem

from refimpl.csi.storage import mounts
from refimpl.csi.storage.layout import StorageLayout
from refimpl.csi.storage.roots import MARK
from refimpl.wire.status import Code, Refused

ROOT = "/state/storage"


@pytest.fixture
def layout(fs: FakeFilesystem) -> StorageLayout:
    """A fresh layout."""
    fs.create_dir("/state")
    return StorageLayout(ROOT)


def filled(layout: StorageLayout, key: str, size: int = 4096) -> str:
    """A home with a file in its content."""
    fresh = layout.fresh(key)
    os.mkdir(fresh)
    with open(f"{fresh}/file", "w") as file:
        file.write("x")
    content = layout.content(key, "mount")
    layout.settle(key, fresh, content, size)
    return content


def test_the_root_is_private_and_marked(layout: StorageLayout) -> None:
    """Others see volumes at their targets only; a sweeper sees whose directory it is."""
    assert os.path.exists(f"{layout.root}/{MARK}")
    assert os.stat(f"{ROOT}/homes").st_mode & 0o077 == 0


@pytest.mark.parametrize("key", ["..", ".", "a/b", "/etc", "-", "a\nb", "", "\u00e9", "a" * 129])
def test_no_key_leaves_the_root(key: str, layout: StorageLayout) -> None:
    """Ids are free text; what is no plain name is hashed."""
    home = layout.home(key)
    assert os.path.dirname(home) == f"{ROOT}/homes"
    assert os.path.basename(home).startswith("=")
    assert len(os.path.basename(home)) < 255


def test_keys_and_homes_go_one_to_one(layout: StorageLayout) -> None:
    """No plain key can look like the hash of another."""
    keys = ["a", "A", "a.", "a" * 128, "a/b", "a b", "=a"]
    assert len({layout.home(key) for key in keys}) == len(keys)


def test_content_is_there_at_once_or_not_at_all(layout: StorageLayout) -> None:
    """A crash while it is made leaves no half."""
    fresh = layout.fresh("k")
    os.mkdir(fresh)
    assert layout.found("k") is None
    content = layout.content("k", "mount")
    layout.settle("k", fresh, content, 4096)
    assert (layout.found("k"), layout.size("k")) == ("mount", 4096)
    assert list(layout.known()) == ["k"]


def test_what_a_crash_left_half_made_is_not_known_and_goes(layout: StorageLayout) -> None:
    """A home without its mark."""
    os.mkdir(layout.fresh("half"))
    filled(layout, "whole")
    assert list(layout.known()) == ["whole"]
    assert os.listdir(f"{ROOT}/homes") == ["whole"]


@pytest.mark.parametrize("mark", [None, "", "rubbish", "[]", '{"size": 1}'])
def test_content_without_a_mark_that_can_be_read_is_left_alone(
    mark: str | None, layout: StorageLayout
) -> None:
    """The mark was there before the content, so that its want is damage: nobody knows whose it is,
    and what is nobody's is deleted."""
    content = filled(layout, "k")
    path = f"{layout.home('k')}/{MARK}"
    os.unlink(path)
    if mark is not None:
        with open(path, "w") as file:
            file.write(mark)
    with pytest.raises(Refused, match="nothing was deleted") as caught:
        list(layout.known())
    assert caught.value.code == Code.FAILED_PRECONDITION
    assert os.path.exists(f"{content}/file")


def test_removing_opens_what_a_workload_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may leave directories that their owner, unless root, cannot list."""
    layout = StorageLayout(str(tmp_path / "root"))
    content = filled(layout, "k")
    os.makedirs(f"{content}/closed/deeper")
    os.chmod(f"{content}/closed", 0)
    remove, modes = shutil.rmtree, []

    def refusing(path: str) -> None:
        (closed,) = (entry for entry in os.scandir(f"{path}/data") if entry.is_dir())
        modes.append(closed.stat().st_mode & 0o777)
        if not modes[-1]:
            raise PermissionError
        remove(path)

    monkeypatch.setattr(shutil, "rmtree", refusing)
    layout.remove("k")
    layout.remove("k")
    assert modes == [0, 0o700]
    assert os.listdir(f"{layout.root}/homes") == os.listdir(f"{layout.root}/trash") == []


def test_opening_empties_the_trash(layout: StorageLayout) -> None:
    """A crash between removing and deleting."""
    os.makedirs(f"{layout.root}/trash/1-2/data")
    layout.close()
    StorageLayout(ROOT)
    assert os.listdir(f"{ROOT}/trash") == []


def test_a_home_with_a_mount_inside_stays(
    layout: StorageLayout, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Deleting would reach into the file system of somebody else."""
    content = filled(layout, "k")
    inside = mounts.MountEntry("/", f"{content}/there", "rw", "ext4", "/dev/sdx", "8:1")
    monkeypatch.setattr(mounts, "table", lambda: [inside])
    with pytest.raises(Refused, match="/dev/sdx") as caught:
        layout.remove("k")
    assert caught.value.code == Code.FAILED_PRECONDITION
    assert os.path.exists(f"{content}/file")


def test_a_link_in_a_volume_is_removed_and_not_followed(
    layout: StorageLayout, fs: FakeFilesystem
) -> None:
    """A workload may link to anything."""
    fs.create_file("/precious/file")
    content = filled(layout, "k")
    os.symlink("/precious", f"{content}/link")
    layout.remove("k")
    assert os.path.exists("/precious/file")


@pytest.mark.parametrize(
    ("path", "owned"),
    [(ROOT, True), (f"{ROOT}/homes/k", True), (f"{ROOT}-2", False), ("/", False)],
)
def test_the_root_owns_what_lies_below(path: str, owned: bool, layout: StorageLayout) -> None:
    """A neighbour of similar name does not."""
    assert layout.owns(path) == owned


def test_a_root_that_cannot_be_made_is_refused(fs: FakeFilesystem) -> None:
    """With the path, and a code."""
    fs.create_file("/file")
    with pytest.raises(Refused, match="/file/root"):
        StorageLayout("/file/root")


def test_the_size_of_a_directory_is_kept(layout: StorageLayout) -> None:
    """A directory cannot tell how large it was promised to be."""
    filled(layout, "k", 8192)
    layout.note_size("k", 16384)
    layout.close()
    assert StorageLayout(layout.root).size("k") == 16384
    assert layout.size("other") == 0
