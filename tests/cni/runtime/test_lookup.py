"""A plugin is the first regular file of its name (row CNI-RT-001)."""

from pathlib import Path

import pytest

from refimpl.cni.runtime import PluginMissing
from refimpl.cni.runtime.lookup import find, joined, split


@pytest.fixture
def folders(tmp_path: Path) -> list[Path]:
    """Two directories."""
    places = [tmp_path / "first", tmp_path / "second"]
    for folder in places:
        folder.mkdir()
    return places


def test_a_directory_of_that_name_is_passed_over(folders: list[Path]) -> None:
    """Regular files only."""
    (folders[0] / "bridge").mkdir()
    (folders[1] / "bridge").touch()
    assert find("bridge", folders) == folders[1] / "bridge"


def test_the_first_directory_wins_whether_or_not_it_can_be_executed(folders: list[Path]) -> None:
    """That shows when it is started; going on would hide a broken installation."""
    for folder in folders:
        (folder / "bridge").touch(0o600)
    assert find("bridge", folders) == folders[0] / "bridge"


def test_symlinks_are_followed(folders: list[Path]) -> None:
    """One that leads nowhere is no file."""
    (folders[0] / "bridge").symlink_to(folders[0] / "none")
    (folders[1] / "bridge").symlink_to(folders[1] / "real")
    (folders[1] / "real").touch()
    assert find("bridge", folders) == folders[1] / "bridge"


@pytest.mark.parametrize("name", ["", ".", "..", "../bridge", "a/b", "missing"])
def test_anything_else_is_missing(folders: list[Path], name: str) -> None:
    """A type is a file name and no path."""
    with pytest.raises(PluginMissing, match="file"):
        find(name, folders, "ADD")


def test_a_path_is_split_and_joined() -> None:
    """Empty parts name no directory."""
    assert split("/a::/b:") == ("/a", "/b")
    assert joined(split("/a:/b")) == "/a:/b"
