"""Every way for a socket to come and go is told once, with inotify and without."""

from __future__ import annotations

import os
import shutil
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from inotify_simple import INotify

from refimpl.registration import watch as module
from refimpl.registration.watch import SocketDirectory

DEADLINE_S = 30.0


class Lingering(INotify):  # type: ignore[misc]
    """One that the kernel does not close before it is let."""

    let = threading.Event()

    def close(self) -> None:
        self.let.wait()
        super().close()


def bind(path: Path) -> None:
    """A socket file; nobody listens, which does not matter here."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))


@pytest.fixture(params=[False, True], ids=["inotify", "polling"])
def directory(request: pytest.FixtureRequest, folder: Path) -> Iterator[SocketDirectory]:
    """A watch that has told of all there is: a socket and a folder."""
    bind(folder / "old")
    (folder / "sub").mkdir()
    with SocketDirectory(folder, polling=request.param) as directory:
        assert directory.polling is request.param
        assert happened(directory, folder) == ["appeared old"]
        assert happened(directory, folder) == []
        yield directory


def happened(directory: SocketDirectory, folder: Path) -> list[str]:
    """What happened since, with paths below the folder."""
    return [f"{e.kind} {os.path.relpath(e.path, folder)}" for e in directory.events()]


def new(folder: Path) -> None:
    bind(folder / "new")


def new_below(folder: Path) -> None:
    bind(folder / "sub" / "new")


def deep(folder: Path) -> None:
    (folder / "a" / "b").mkdir(parents=True)
    bind(folder / "a" / "b" / "new")


def moved_in(folder: Path) -> None:
    (folder / ".hidden").mkdir()
    bind(folder / ".hidden" / "new")
    os.rename(folder / ".hidden", folder / "shown")


def linked(folder: Path) -> None:
    (folder / "link").symlink_to(folder / "old")


def removed(folder: Path) -> None:
    (folder / "old").unlink()


def renamed(folder: Path) -> None:
    os.rename(folder / "old", folder / "young")


def covered(folder: Path) -> None:
    """Something that is no socket takes the name of one."""
    (folder / ".file").touch()
    os.rename(folder / ".file", folder / "old")


def taken_over(folder: Path) -> None:
    """A socket takes the name of another one, which is never missing."""
    bind(folder / ".new")
    os.rename(folder / ".new", folder / "old")


def file_and_fifo(folder: Path) -> None:
    (folder / "file").touch()
    os.mkfifo(folder / "fifo")
    (folder / "dangling").symlink_to(folder / "nothing")
    (folder / "to-file").symlink_to(folder / "file")


def dotted(folder: Path) -> None:
    bind(folder / ".sock")
    (folder / ".folder").mkdir()
    bind(folder / ".folder" / "sock")


def mode(folder: Path) -> None:
    os.chmod(folder / "old", 0o666)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (new, ["appeared new"]),
        (new_below, ["appeared sub/new"]),
        (deep, ["appeared a/b/new"]),
        (moved_in, ["appeared shown/new"]),
        (linked, ["appeared link"]),
        (removed, ["gone old"]),
        (renamed, ["gone old", "appeared young"]),
        (covered, ["gone old"]),
        (taken_over, ["appeared old"]),
        (file_and_fifo, []),
        (dotted, []),
        (mode, []),
    ],
)
def test_a_change_is_told_once(
    directory: SocketDirectory, folder: Path, change: Callable[[Path], None], expected: list[str]
) -> None:
    """REG-001, REG-003, REG-004, REG-005, REG-018, REG-020 begin here."""
    change(folder)
    assert happened(directory, folder) == expected
    assert happened(directory, folder) == []


def test_a_folder_goes_with_its_sockets_and_may_come_back(
    directory: SocketDirectory, folder: Path
) -> None:
    """REG-003: also where it is moved away, to live on elsewhere."""
    bind(folder / "sub" / "new")
    assert happened(directory, folder) == ["appeared sub/new"]
    os.rename(folder / "sub", folder / ".away")
    assert happened(directory, folder) == ["gone sub/new"]
    bind(folder / ".away" / "other")
    assert happened(directory, folder) == []
    os.rename(folder / ".away", folder / "sub")
    assert sorted(happened(directory, folder)) == ["appeared sub/new", "appeared sub/other"]
    shutil.rmtree(folder / "sub")
    assert sorted(happened(directory, folder)) == ["gone sub/new", "gone sub/other"]


def test_a_socket_that_is_bound_again_goes_and_appears_even_between_two_looks(
    folder: Path,
) -> None:
    """REG-019: the file system may even give it the same inode."""
    bind(folder / "old")
    with SocketDirectory(folder) as directory:
        assert happened(directory, folder) == ["appeared old"]
        (folder / "old").unlink()
        bind(folder / "old")
        assert happened(directory, folder) == ["gone old", "appeared old"]


def test_the_folder_itself_may_go_and_come_back(directory: SocketDirectory, folder: Path) -> None:
    """DP-PLG-069: a watch that is lost is taken up again."""
    shutil.rmtree(folder)
    assert happened(directory, folder) == ["gone old"]
    folder.mkdir()
    new(folder)
    assert happened(directory, folder) == ["appeared new"]
    bind(folder / "later")
    assert happened(directory, folder) == ["appeared later"]


def test_the_folder_may_be_another_one_than_before(folder: Path) -> None:
    """A volume is remounted, a folder restored: the old one does not matter any more."""
    watched = folder / "registry"
    watched.mkdir()
    bind(watched / "old")
    with SocketDirectory(watched) as directory:
        assert happened(directory, watched) == ["appeared old"]
        os.rename(watched, folder / "moved")
        watched.mkdir()
        bind(watched / "new")
        bind(folder / "moved" / "unseen")
        assert happened(directory, watched) == ["gone old", "appeared new"]


@pytest.mark.parametrize("polling", [False, True])
def test_a_missing_folder_may_appear_while_one_waits(folder: Path, polling: bool) -> None:
    """Plugins may be started before kubelet has ever run."""
    missing = folder / "lib" / "registry"
    with SocketDirectory(missing, polling=polling) as directory:
        assert directory.events() == []

        def make() -> None:
            missing.mkdir(parents=True)
            bind(missing / "new")

        maker = threading.Thread(target=make)
        maker.start()
        events = directory.events(DEADLINE_S)
        maker.join()
        assert [event.path for event in events] == [str(missing / "new")]


@pytest.mark.parametrize("polling", [False, True])
def test_waiting_ends_with_an_event_with_a_call_or_with_its_time(
    folder: Path, polling: bool
) -> None:
    """A call before the waiting counts, too: it may have come a moment too early."""
    with SocketDirectory(folder, polling=polling) as directory:
        assert directory.events(0) == []
        directory.wake()
        assert directory.events(DEADLINE_S) == []
        binder = threading.Thread(target=new, args=[folder])
        binder.start()
        assert [event.kind for event in directory.events(DEADLINE_S)] == ["appeared"]
        binder.join()
    directory.wake()
    directory.close()


def test_two_hundred_sockets_at_once_are_all_told(folder: Path) -> None:
    """REG-024: in folders of their own, made and bound while they are being told of."""
    with SocketDirectory(folder) as directory:
        paths = [event.path for event in directory.events()]
        for number in range(200):
            (folder / f"d{number}").mkdir()
            bind(folder / f"d{number}" / "sock")
            if number % 20 == 0:
                paths += [event.path for event in directory.events()]
        paths += [event.path for event in directory.events()]
        assert sorted(paths) == sorted(str(folder / f"d{n}" / "sock") for n in range(200))


def test_a_queue_that_overflows_loses_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """REG-024: the kernel drops events, and says that it did."""
    bind(folder / "old")
    with SocketDirectory(folder) as directory:
        assert happened(directory, folder) == ["appeared old"]
        (folder / "old").unlink()
        bind(folder / "new")

        class Overflow:
            wd, mask, cookie, name = -1, module.flags.Q_OVERFLOW, 0, ""

        monkeypatch.setattr(module.INotify, "read", lambda *_, **__: [Overflow()])
        assert happened(directory, folder) == ["gone old", "appeared new"]


@pytest.mark.parametrize("what", ["instances", "watches"])
def test_it_looks_where_inotify_cannot_be_had(
    folder: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """The kernel bounds both for each user."""

    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    if what == "instances":
        monkeypatch.setattr(module, "INotify", refuse)
    else:
        monkeypatch.setattr(module.INotify, "add_watch", refuse)
    bind(folder / "old")
    with SocketDirectory(folder) as directory:
        assert happened(directory, folder) == ["appeared old"]
        assert directory.polling
        (folder / "old").unlink()
        assert happened(directory, folder) == ["gone old"]


def test_nobody_waits_for_the_kernel_to_end_a_watch(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a busy machine that takes many seconds."""
    monkeypatch.setattr(module, "INotify", Lingering)
    directory = SocketDirectory(folder)
    assert not directory.polling
    directory.close()
    assert directory.polling
    Lingering.let.set()
