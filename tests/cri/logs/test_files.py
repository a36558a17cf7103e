"""Log files on disk."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from refimpl.cri.api import cri_pb2 as pb
from refimpl.cri.clocks import ManualClock
from refimpl.cri.logs.files import LogFiles
from refimpl.cri.state.models import Container, ContainerKey, Image, SandboxKey
from refimpl.wire.status import Code
from tests.cri.conftest import RefusedWith

Made = Callable[..., Container]


@pytest.fixture
def logs() -> Iterator[LogFiles]:
    """Closed at the end."""
    logs = LogFiles(ManualClock(1000))
    yield logs
    logs.close_all()


@pytest.fixture
def made(tmp_path: Path) -> Made:
    """A container whose log is at a path below the folder of the test."""

    def made(within: str = "main/0.log") -> Container:
        key, image = SandboxKey("pod", "default", "uid"), Image("sha256:1", 1)
        config = pb.ContainerConfig(log_path=within)
        path = os.path.join(tmp_path, within) if within else ""
        return Container(
            *("c1", key, "s1", "", ContainerKey("main"), config, {}, image, "image", 1),
            log_path=path,
        )

    return made


def contents(path: Path) -> list[str]:
    """Of the records of a file."""
    return [line.split(" ", 3)[3] for line in path.read_text().splitlines()]


def test_a_container_that_is_restarted_goes_on_in_its_file(
    logs: LogFiles, made: Made, tmp_path: Path
) -> None:
    """And nobody but its group may read it; missing folders are made."""
    path = tmp_path / "main/0.log"
    for word in (b"one\n", b"two"):
        logs.open(made())("stdout", word)
        logs.close(made())
    assert contents(path) == ["one", "two"]
    assert path.stat().st_mode & 0o137 == 0


def test_a_rotation_loses_nothing_and_changes_nothing_old(
    logs: LogFiles, made: Made, tmp_path: Path
) -> None:
    """Also of a line that had begun."""
    path, old = tmp_path / "main/0.log", tmp_path / "main/old"
    output = logs.open(made())
    output("stdout", b"1\n2")
    path.rename(old)
    output("stdout", b"\n")
    before = old.read_bytes()
    logs.reopen(made())
    output("stdout", b"3\n")
    assert (contents(old), old.read_bytes()) == (["1", "2"], before)
    assert contents(path) == ["3"]


def test_after_a_refused_reopen_there_is_no_new_file(
    logs: LogFiles, made: Made, tmp_path: Path, refused: RefusedWith
) -> None:
    """CRI ReopenContainerLog; the container goes on where it was."""
    path = tmp_path / "main/0.log"
    with refused(Code.FAILED_PRECONDITION, "has ended"):
        logs.reopen(made())
    assert not path.exists()
    output = logs.open(made())
    path.rename(tmp_path / "main/old")
    os.mkfifo(path)
    with refused(Code.FAILED_PRECONDITION, "FIFO"):
        logs.reopen(made())
    output("stdout", b"goes on\n")
    assert contents(tmp_path / "main/old") == ["goes on"]


@pytest.mark.parametrize("lies", ["a folder", "a file above", "a link", "a link above"])
def test_what_cannot_be_a_log_is_refused(
    lies: str, logs: LogFiles, made: Made, tmp_path: Path, refused: RefusedWith
) -> None:
    """No link leads out of the log directory."""
    path, outside = tmp_path / "main/0.log", tmp_path.parent / f"{tmp_path.name}-outside"
    outside.mkdir()
    if lies == "a folder":
        path.mkdir(parents=True)
    elif lies == "a file above":
        path.parent.write_text("")
    elif lies == "a link":
        path.parent.mkdir()
        path.symlink_to(outside / "file")
    else:
        path.parent.symlink_to(outside)
    with refused(Code.FAILED_PRECONDITION, str(path), "log_directory"):
        logs.open(made())
    assert list(outside.iterdir()) == []


def test_a_full_disk_takes_whole_records_with_it(
    logs: LogFiles, made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The container does not hear of it, and no record is torn."""
    output = logs.open(made())
    output("stdout", b"one\n")
    write = os.write

    def full(descriptor: int, data: bytes) -> int:
        if len(data) > 10:
            return write(descriptor, data[:10])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    output("stdout", b"two\n")
    monkeypatch.undo()
    output("stdout", b"three\n")
    assert contents(tmp_path / "main/0.log") == ["one", "three"]


def test_no_path_is_no_log(logs: LogFiles, made: Made, tmp_path: Path) -> None:
    """The container works all the same."""
    logs.open(made(""))("stdout", b"x\n")
    logs.reopen(made(""))
    assert list(tmp_path.iterdir()) == []
