"""refimpl.csi.storage.sparse: copies that keep holes, extents, sizes of trees."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from refimpl.csi.storage import sparse

BLOCK = 4096
SIZE = 64 * BLOCK


def written(path: Path, blocks: Iterable[int], fill: bytes = b"x", size: int = SIZE) -> Path:
    """A sparse file with data in the given blocks."""
    with path.open("wb") as file:
        file.truncate(size)
        for block in blocks:
            file.seek(block * BLOCK)
            file.write(fill * BLOCK)
    return path


def extents(path: Path) -> list[tuple[int, int]]:
    """Extents of a file."""
    with path.open("rb") as file:
        return list(sparse.extents(file.fileno(), path.stat().st_size))


def test_extents_are_the_parts_with_data(tmp_path: Path) -> None:
    """Rising, not overlapping, holes left out; the end of the file needs no data."""
    assert extents(written(tmp_path / "a", [])) == []
    assert extents(written(tmp_path / "b", [0])) == [(0, BLOCK)]
    expected = [(BLOCK, 2 * BLOCK), (63 * BLOCK, BLOCK)]
    assert extents(written(tmp_path / "c", [1, 2, 63])) == expected


def test_a_file_system_without_holes_gives_one_extent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Slower, never wrong."""

    def unable(*_: object) -> int:
        raise OSError(errno.EINVAL, "no holes here")

    path = written(tmp_path / "a", [3])
    monkeypatch.setattr(os, "lseek", unable)
    assert extents(path) == [(0, SIZE)]


@pytest.mark.parametrize("able", [True, False])
def test_a_copy_has_the_same_bytes_and_holes(
    able: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the kernel's copy and without."""
    if not able:

        def unable(*_: object) -> int:
            raise OSError(errno.EXDEV, "not here")

        monkeypatch.setattr(os, "copy_file_range", unable)
    source = written(tmp_path / "source", [1, 5, 6], os.urandom(1), SIZE + 17)
    sparse.copy_file(str(source), str(tmp_path / "copy"))
    assert (tmp_path / "copy").read_bytes() == source.read_bytes()
    assert extents(tmp_path / "copy") == extents(source)


def test_a_copy_replaces_nothing_and_follows_no_link(tmp_path: Path) -> None:
    """Content of others must not be overwritten or copied by a trick."""
    source = written(tmp_path / "source", [1])
    (tmp_path / "there").write_text("precious")
    (tmp_path / "link").symlink_to(source)
    with pytest.raises(FileExistsError):
        sparse.copy_file(str(source), str(tmp_path / "there"))
    with pytest.raises(OSError, match="symbolic links"):
        sparse.copy_file(str(tmp_path / "link"), str(tmp_path / "new"))


def test_a_tree_keeps_what_a_workload_made(tmp_path: Path) -> None:
    """Modes, times, links as links, two names of one file, a pipe, a sparse file."""
    source, copy = tmp_path / "source", tmp_path / "copy"
    (source / "deep" / "er").mkdir(parents=True)
    (source / "deep" / "file").write_text("x")
    (source / "deep" / "file").chmod(0o640)
    os.utime(source / "deep" / "file", (1, 2))
    os.link(source / "deep" / "file", source / "second name")
    (source / "outward").symlink_to("/etc/passwd")
    os.mkfifo(source / "pipe")
    written(source / "sparse", [9])
    (source / "deep").chmod(0o511)
    sparse.copy_tree(str(source), str(copy))
    assert (copy / "outward").is_symlink()
    assert os.readlink(copy / "outward") == "/etc/passwd"
    status = (copy / "deep" / "file").stat()
    assert (status.st_mode & 0o777, status.st_mtime) == (0o640, 2)
    assert status.st_ino == (copy / "second name").stat().st_ino
    assert (copy / "deep").stat().st_mode & 0o777 == 0o511
    assert (copy / "pipe").is_fifo()
    assert extents(copy / "sparse") == [(9 * BLOCK, BLOCK)]
    (copy / "deep").chmod(0o755)
    (source / "deep").chmod(0o755)


def test_the_size_of_a_tree_counts_a_file_once(tmp_path: Path) -> None:
    """Blocks on disk, not lengths; a link to elsewhere counts as itself."""
    tree = tmp_path / "tree"
    tree.mkdir()
    assert sparse.tree_size(str(tree)) == (0, 1)
    written(tree / "a", [1])
    os.link(tree / "a", tree / "b")
    (tree / "out").symlink_to("/")
    used, count = sparse.tree_size(str(tree))
    assert (used, count) == (BLOCK, 3)


blocks = st.dictionaries(st.integers(0, 63), st.sampled_from([b"a", b"b", b"\0"]), max_size=12)


@settings(
    max_examples=40,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(old=blocks, new=blocks, step=st.sampled_from([BLOCK, 4 * BLOCK, 3 * BLOCK]))
def test_changes_cover_every_difference_and_no_equal_step(
    old: dict[int, bytes], new: dict[int, bytes], step: int, tmp_path: Path
) -> None:
    """Rising, not overlapping, inside the file; a step that is equal is not told."""
    paths = tmp_path / "old", tmp_path / "new"
    for path, content in zip(paths, (old, new), strict=True):
        with path.open("wb") as file:
            file.truncate(SIZE)
            for block, fill in content.items():
                os.pwrite(file.fileno(), fill * BLOCK, block * BLOCK)
    before, after = (path.read_bytes() for path in paths)
    changes = list(sparse.changed(str(paths[0]), str(paths[1]), step))
    position = 0
    for offset, length in changes:
        assert before[position:offset] == after[position:offset]
        for start in range(offset, offset + length, step):
            assert before[start : start + step] != after[start : start + step]
        assert length > 0
        position = offset + length
    assert position <= SIZE
    assert before[position:] == after[position:]


def test_a_snapshot_never_made_is_all_zeros(tmp_path: Path) -> None:
    """Its volume was not used yet; growth is a change only where something was written."""
    new = written(tmp_path / "new", [2], size=2 * SIZE)
    missing = str(tmp_path / "missing")
    assert list(sparse.changed(missing, str(new), BLOCK)) == [(2 * BLOCK, BLOCK)]
    assert list(sparse.changed(str(new), missing, BLOCK)) == []


def test_an_error_while_looking_for_data_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broken disk is no hole."""

    def broken(*_: Any) -> int:
        raise OSError(errno.EIO, "broken")

    path = written(tmp_path / "a", [3])
    monkeypatch.setattr(os, "lseek", broken)
    with pytest.raises(OSError, match="broken"):
        extents(path)
