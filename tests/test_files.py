"""refimpl.files: what others may have put in the way is known before it is opened."""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from refimpl import files
from tests.conftest import STRANGER, SmallDisk


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))


PLANTED: dict[str, Callable[[Path], object]] = {
    "a FIFO": os.mkfifo,
    "a socket": _socket,
    "a directory": Path.mkdir,
    "a link": lambda path: path.symlink_to(path.with_name("target")),
}


def _endlessly(descriptor: int, line: bytes) -> None:
    while True:
        files.write_whole(descriptor, line)


OPENING: dict[str, Callable[[Path], object]] = {
    "read": files.read,
    "read_own": files.read_own,
    "append": files.append,
    "create": files.create,
    "replace": lambda path: files.replace(path, b"new"),
}


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A path with nothing there, short enough for a socket, beside a file called target."""
    monkeypatch.chdir(tmp_path)
    Path("target").write_bytes(b"precious")
    return Path("place")


@pytest.mark.parametrize("kind", PLANTED)
@pytest.mark.parametrize("how", OPENING)
def test_what_is_no_file_is_refused_at_once(how: str, kind: str, place: Path) -> None:
    """Without waiting, with a sentence, and it stays; only what a user names may be a link."""
    PLANTED[kind](place)
    if (how, kind) == ("read", "a link"):
        assert files.read(place) == b"precious"
        return
    with pytest.raises(OSError, match=r"it is |Is a directory"):
        OPENING[how](place)
    assert sorted(os.listdir()) == ["place", "target"]
    assert Path("target").read_bytes() == b"precious"


def test_a_refusal_says_what_lies_there(place: Path) -> None:
    """As the message of an option it is all that a user sees."""
    os.mkfifo(place)
    with pytest.raises(OSError, match="it is a FIFO and no file") as caught:
        files.read(place)
    assert caught.value.filename == "place"


def test_a_fifo_with_a_reader_is_no_file_to_append_to(place: Path) -> None:
    """Opening one for writing succeeds then."""
    os.mkfifo(place)
    reader = os.open(place, os.O_RDONLY | os.O_NONBLOCK)
    with pytest.raises(OSError, match="it is a FIFO and no file"):
        files.append(place)
    os.close(reader)


def test_a_missing_file_is_a_missing_file(place: Path) -> None:
    """Callers tell it from all others."""
    for opening in (files.read, files.read_own, files.own_folder):
        with pytest.raises(FileNotFoundError):
            opening(place)


def test_a_file_that_is_too_large_is_refused(place: Path) -> None:
    """Of what a user names nobody knows how large it is."""
    place.write_bytes(b"12345")
    assert files.read(place, largest=5) == b"12345"
    with pytest.raises(OSError, match="larger than 4 bytes"):
        files.read(place, largest=4)


def test_devices_are_written_to_and_not_read(place: Path) -> None:
    """/dev/null takes a journal that nobody wants; /dev/zero has no end."""
    os.close(files.append("/dev/null"))
    with pytest.raises(OSError, match="it is a device and no file"):
        files.read("/dev/zero")
    assert not place.exists()


def test_appending_goes_on_where_it_ended_and_is_private(place: Path) -> None:
    """As journals do."""
    for _ in range(2):
        descriptor = files.append(place)
        os.write(descriptor, b"x")
        os.close(descriptor)
    assert place.read_bytes() == b"xx"
    assert stat.S_IMODE(place.stat().st_mode) == 0o600


def test_a_file_with_a_second_name_is_not_appended_to(place: Path) -> None:
    """That may be one of ours somewhere else."""
    os.link("target", place)
    with pytest.raises(OSError, match="hard link"):
        files.append(place)


def test_a_replaced_file_has_the_users_mode_and_all_its_content(place: Path) -> None:
    """0666 less the umask, and nothing half written beside it."""
    umask = os.umask(0o027)
    try:
        for content in (b"old", b"new"):
            files.replace(place, content)
    finally:
        os.umask(umask)
    assert place.read_bytes() == b"new"
    assert stat.S_IMODE(place.stat().st_mode) == 0o640
    assert sorted(os.listdir()) == ["place", "target"]


def test_a_file_with_a_second_name_is_replaced_under_this_name_alone(place: Path) -> None:
    """The other keeps its content."""
    os.link("target", place)
    files.replace(place, b"new")
    assert (place.read_bytes(), Path("target").read_bytes()) == (b"new", b"precious")


def test_a_full_disk_leaves_the_old_file(small_disk: SmallDisk) -> None:
    """And nothing beside it."""
    place = small_disk.folder / "place"
    files.replace(place, b"old")
    small_disk.fill()
    with pytest.raises(OSError, match="No space left"):
        files.replace(place, b"new" * 4096)
    assert place.read_bytes() == b"old"
    assert sorted(os.listdir(small_disk.folder)) == ["filler", "place"]


def test_a_line_is_whole_or_not_there(small_disk: SmallDisk) -> None:
    """A full disk takes part of a write and refuses the rest."""
    place = small_disk.folder / "place"
    descriptor = files.append(place)
    line = b"x" * 5000 + b"\n"
    with pytest.raises(OSError, match="No space left"):
        _endlessly(descriptor, line)
    assert place.stat().st_size % len(line) == 0
    files.write_whole(descriptor, b"")
    os.close(descriptor)


def test_lines_end_with_a_line_feed() -> None:
    """What was not written to its end was not acknowledged."""
    assert files.whole_lines(b"a\nb\nc") == [b"a", b"b"]
    assert files.whole_lines(b"a") == files.whole_lines(b"") == []


def test_files_of_a_stranger_are_not_ours(public: Path) -> None:
    """Whatever they hold is forged."""
    place = public / "place"
    place.touch()
    os.chown(place, STRANGER, STRANGER)
    for opening in (files.read_own, files.append):
        with pytest.raises(PermissionError, match="it belongs to user 65534"):
            opening(place)
    assert files.read(place) == b""


def test_a_file_that_others_may_write_to_is_not_ours(place: Path) -> None:
    """Nobody knows who wrote it."""
    place.touch()
    place.chmod(0o666)
    with pytest.raises(PermissionError, match=r"others may write to it \(mode 0666\)"):
        files.read_own(place)


def test_folders_of_a_stranger_are_not_ours(public: Path) -> None:
    """Neither to read what we left, nor to keep state in; and what we cannot trust is no link."""
    folder = public / "folder"
    folder.mkdir()
    os.chown(folder, STRANGER, STRANGER)
    for opening in (files.own_folder, files.folder):
        with pytest.raises(PermissionError, match="it belongs to user 65534"):
            opening(folder)
    os.close(files.folder(folder, strangers=True))


def test_a_link_of_a_stranger_leads_to_no_folder(public: Path, tmp_path: Path) -> None:
    """It leads where they want us to write; a link of our own leads where we want to."""
    link = public / "link"
    link.symlink_to(tmp_path)
    os.close(files.folder(link))
    os.chown(link, STRANGER, STRANGER, follow_symlinks=False)
    with pytest.raises(OSError, match="it is a link of user 65534"):
        files.folder(link, strangers=True)
    with pytest.raises(NotADirectoryError):
        files.own_folder(link)


def test_a_folder_that_others_may_write_to_is_not_ours_alone(place: Path) -> None:
    """They can put anything into it."""
    place.mkdir()
    place.chmod(0o770)
    with pytest.raises(PermissionError, match="mode 0770"):
        files.own_folder(place)
    place.chmod(0o750)
    os.close(files.own_folder(place))


def test_a_missing_folder_is_made(place: Path) -> None:
    """With the mode that is asked for, and those above it."""
    os.close(files.folder(place / "deep", 0o700))
    assert stat.S_IMODE((place / "deep").stat().st_mode) == 0o700
