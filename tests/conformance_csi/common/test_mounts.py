"""The mount table, on tables made up and on the one of this process."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from conformance.csi.common import mounts

TABLE = r"""22 1 0:20 / / rw,relatime - ext4 /dev/a rw
30 22 0:30 / /mnt/a rw,nosuid - tmpfs none rw,size=4k
31 30 0:31 / /mnt/a ro,relatime shared:5 - xfs /dev/b rw,attr2
32 22 0:32 / /mnt/two\040words rw - tmpfs none rw
33 22 0:33 / /mnt/größe\134体 rw - tmpfs none rw
34 22 0:34 / /mnt/page{}break rw - tmpfs none rw
""".format("\x0c")


@pytest.fixture
def _table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The table above, with one path that is no UTF-8."""
    path = tmp_path / "mountinfo"
    path.write_bytes(TABLE.encode() + b"35 22 0:35 / /mnt/\xff rw - tmpfs none rw\n")
    monkeypatch.setattr("conformance.engine.ledger.mounts.MOUNTINFO", path)


@pytest.mark.usefixtures("_table")
def test_every_path_is_read_as_it_is() -> None:
    """Escapes, other scripts, what only looks like the end of a line, and bytes that are no text:
    one odd mount of somebody else must not hide ours."""
    points = mounts.mount_points()
    assert points[3:6] == ["/mnt/two words", "/mnt/größe\\体", "/mnt/page\x0cbreak"]
    assert os.fsencode(points[6]) == b"/mnt/\xff"
    assert len(points) == 7


@pytest.mark.usefixtures("_table")
def test_the_topmost_mount_counts() -> None:
    """Its options and those of its file system."""
    assert mounts.layers("/mnt/a") == 2
    assert mounts.options("/mnt/a") == {"ro", "relatime", "rw", "attr2"}
    assert mounts.fs_type("/mnt/a") == "xfs"
    assert mounts.fs_type("/mnt/two words") == "tmpfs"


@pytest.mark.usefixtures("_table")
def test_where_nothing_is_mounted_there_is_nothing() -> None:
    """A path below a mount is no mount."""
    assert mounts.layers("/mnt/a/b") == 0
    assert mounts.options("/mnt/a/b") == frozenset()
    assert mounts.fs_type("/mnt/a/b") == ""


def test_links_above_a_path_are_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel lists where they lead to; a link at the path itself is no mount."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    table = tmp_path / "mountinfo"
    table.write_text(f"1 0 0:1 / {os.path.realpath(tmp_path)}/real/x rw - tmpfs none rw\n")
    monkeypatch.setattr("conformance.engine.ledger.mounts.MOUNTINFO", table)
    assert mounts.layers(str(tmp_path / "link" / "x")) == 1
    assert mounts.layers(str(tmp_path / "link")) == 0


def test_only_what_is_published_is_taken_away(tmp_path: Path) -> None:
    """A link, a file or an empty directory; never what a volume holds."""
    held = tmp_path / "held"
    held.mkdir()
    (held / "data").touch()
    link, file, empty = (tmp_path / name for name in ("link", "file", "empty"))
    link.symlink_to(held)
    file.touch()
    empty.mkdir()
    for path in (link, file, empty, tmp_path / "gone"):
        mounts.take_away(str(path))
    assert [path.name for path in tmp_path.iterdir()] == ["held"]
    with pytest.raises(OSError, match="not empty"):
        mounts.take_away(str(held))
    assert (held / "data").exists()


def test_a_command_that_fails_says_what_it_said(tmp_path: Path) -> None:
    """It is the suite's own trouble, so no finding."""
    with pytest.raises(OSError, match="mount --bind"):
        mounts.bind(str(tmp_path / "none"), str(tmp_path / "nowhere"))
