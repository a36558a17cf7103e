"""Blobs in memory and in a folder."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from refimpl.images.blobs import digest_of
from refimpl.images.store import Blobs, FolderBlobs, MemoryBlobs, WrongContent
from refimpl.wire.status import Code, Refused
from tests.conftest import SmallDisk

CONTENT = b"some content"
DIGEST = digest_of(CONTENT)


@pytest.fixture(params=["memory", "folder"])
def blobs(request: pytest.FixtureRequest, tmp_path: Path) -> Blobs:
    return MemoryBlobs() if request.param == "memory" else FolderBlobs(tmp_path)


def test_what_is_written_is_there_until_it_is_removed(blobs: Blobs) -> None:
    assert blobs.write(DIGEST, [CONTENT[:3], CONTENT[3:]]) == len(CONTENT)
    assert blobs.has(DIGEST)
    assert blobs.digests() == {DIGEST}
    assert b"".join(blobs.pieces(DIGEST)) == CONTENT
    assert blobs.size(DIGEST) == len(CONTENT)
    for _ in range(2):
        blobs.remove(DIGEST)
        assert not blobs.has(DIGEST)
    with pytest.raises(KeyError):
        blobs.size(DIGEST)
    with pytest.raises(KeyError):
        next(blobs.pieces(DIGEST))


def test_wrong_content_is_not_kept(blobs: Blobs) -> None:
    with pytest.raises(WrongContent, match=DIGEST):
        blobs.write(DIGEST, [b"other content"])
    assert blobs.digests() == set()


def test_nothing_is_left_of_a_write_that_breaks_off(blobs: Blobs, tmp_path: Path) -> None:
    def broken() -> Iterator[bytes]:
        yield CONTENT
        raise ConnectionResetError

    with pytest.raises(ConnectionResetError):
        blobs.write(DIGEST, broken())
    assert blobs.digests() == set()
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_nothing_is_kept_where_the_disk_is_full(small_disk: SmallDisk) -> None:
    blobs = FolderBlobs(small_disk.folder / "blobs")
    large = bytes(1 << 20)
    with pytest.raises(Refused) as caught:
        blobs.write(digest_of(large), [large[:4096]] * 256)
    assert caught.value.code == Code.RESOURCE_EXHAUSTED
    assert "No space left" in caught.value.message
    assert [path for path in small_disk.folder.rglob("*") if path.is_file()] == []
    assert blobs.write(DIGEST, [CONTENT]) == len(CONTENT)


def test_a_folder_keeps_them_for_the_next_process(tmp_path: Path) -> None:
    FolderBlobs(tmp_path).write(DIGEST, [CONTENT])
    assert FolderBlobs(tmp_path).digests() == {DIGEST}


def test_what_a_killed_process_was_writing_is_gone(tmp_path: Path) -> None:
    writing, end = os.pipe()
    child = os.fork()
    if child == 0:

        def pieces() -> Iterator[bytes]:
            yield CONTENT
            os.write(end, b"x")
            signal.pause()

        try:
            FolderBlobs(tmp_path).write(DIGEST, pieces())
        finally:
            os._exit(1)
    os.close(end)
    assert os.read(writing, 1) == b"x"
    os.close(writing)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    (half,) = (path for path in tmp_path.rglob("*") if path.is_file())
    assert half.read_bytes() == CONTENT
    assert FolderBlobs(tmp_path).digests() == set()
    assert not half.exists()


@pytest.mark.parametrize("name", ["", "sha256:..", "../../etc/passwd", "sha512:" + "0" * 64])
def test_what_is_no_digest_is_no_path(tmp_path: Path, name: str) -> None:
    blobs = FolderBlobs(tmp_path)
    assert not blobs.has(name)
    with pytest.raises(KeyError):
        blobs.path(name)
