"""refimpl.csi.storage.mounts: option words, the mount table, and mounts themselves."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from refimpl.csi.storage import mounts
from refimpl.csi.storage.privileged import can_bind, is_root
from refimpl.wire.status import Code, Refused


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[tuple[Path, Path]]:
    """A directory with a file and an empty one; what is mounted on that is taken off at the end."""
    if not can_bind(str(tmp_path)):
        pytest.skip("this process may not mount")
    source, target = tmp_path / "source", tmp_path / "a target"
    source.mkdir()
    target.mkdir()
    (source / "file").write_text("x")
    yield source, target
    while mounts.unmount(str(target), lazy=True):
        continue


@pytest.mark.parametrize(
    ("flags", "bits", "clear", "words"),
    [
        (["ro", "nodev"], mounts.MS_RDONLY | mounts.MS_NODEV, 0, ()),
        (["ro,nosuid", "noexec"], mounts.MS_RDONLY | mounts.MS_NOSUID | mounts.MS_NOEXEC, 0, ()),
        (["ro", "rw"], 0, mounts.MS_RDONLY, ()),
        (["rw", "ro"], mounts.MS_RDONLY, 0, ()),
        (["relatime", "noatime"], mounts.MS_NOATIME, mounts.MS_STRICTATIME, ()),
        (["discard", "data=ordered"], 0, 0, ("discard", "data=ordered")),
        (['context="a:b:c:s0,s1"', "ro"], mounts.MS_RDONLY, 0, ('context="a:b:c:s0,s1"',)),
        (["", "defaults"], 0, 0, ()),
    ],
)
def test_options_are_sorted_out(
    flags: list[str], bits: int, clear: int, words: tuple[str, ...]
) -> None:
    """The last word on a matter wins; what is no flag of a mount goes to the file system."""
    options = mounts.options(flags)
    assert (options.set, options.words) == (bits, words)
    assert options.clear & clear == clear
    assert options.applied(mounts.MS_RELATIME) & bits == bits


def test_an_operation_is_no_option() -> None:
    """A flag must not turn a mount into something else."""
    with pytest.raises(Refused) as caught:
        mounts.options(["nodev,rbind"])
    assert caught.value.code == Code.INVALID_ARGUMENT


def test_a_bind_shows_the_source_and_differs_in_flags(pair: tuple[Path, Path]) -> None:
    """One target read-only, the source as writable as before."""
    source, target = pair
    mounts.bind(str(source), str(target), mounts.options(["ro", "noatime"]))
    assert (target / "file").read_text() == "x"
    with pytest.raises(OSError, match="Read-only"):
        (target / "new").write_text("x")
    (source / "new").write_text("x")
    line = next(mount for mount in mounts.table() if mount.point == str(target))
    assert "ro" in line.flags.split(",")
    assert ("noatime" in line.flags) == bool(mounts.options_at(str(target)).set & mounts.MS_NOATIME)
    assert "noatime" in line.flags or not is_root()


def test_the_table_tells_paths_as_they_are(pair: tuple[Path, Path]) -> None:
    """The kernel escapes the space in the name."""
    source, target = pair
    mounts.bind(str(source), str(target))
    line = next(mount for mount in mounts.table() if mount.point == str(target))
    assert (line.root, line.device) == mounts.inside(mounts.table(), str(source))


def test_unmounting_tells_whether_there_was_a_mount(pair: tuple[Path, Path]) -> None:
    """Layers come off one by one, and no link is followed."""
    source, target = pair
    link = target.parent / "link"
    link.symlink_to(target)
    for _ in range(2):
        mounts.bind(str(source), str(target))
    assert not mounts.unmount(str(link))
    assert [mounts.unmount(str(target)) for _ in range(3)] == [True, True, False]
    assert not mounts.unmount(str(target / "missing"))


def test_a_busy_mount_stays_unless_it_may_go_lazily(pair: tuple[Path, Path]) -> None:
    """An open file keeps a mount; lazily it goes from sight at once."""
    source, target = pair
    mounts.bind(str(source), str(target))
    with (target / "file").open() as file:
        with pytest.raises(OSError, match="busy") as caught:
            mounts.unmount(str(target))
        assert caught.value.errno == errno.EBUSY
        assert mounts.unmount(str(target), lazy=True)
        assert file.read() == "x"
    assert os.listdir(target) == []


def test_a_bind_that_fails_leaves_nothing(pair: tuple[Path, Path]) -> None:
    """The source is missing."""
    source, target = pair
    with pytest.raises(OSError, match="No such file"):
        mounts.bind(str(source / "missing"), str(target))
    assert not mounts.unmount(str(target))


def test_labels_are_dropped_where_selinux_is_off() -> None:
    """The kernel refuses what it does not know."""
    words = mounts.file_system_words(['context="a:b:c"', "discard"])
    off = not Path("/sys/fs/selinux/enforce").exists()
    assert words == ("discard" if off else 'context="a:b:c",discard')


def test_inside_works_without_a_table() -> None:
    """Other systems have no mountinfo; then the path itself has to do."""
    assert mounts.inside([], "/a/b") == ("/a/b", "")
