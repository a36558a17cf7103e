"""Every way for a file to come, change or go is noticed, with inotify and without."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from refimpl.cdi import watch as module
from refimpl.cdi.watch import DirectoryWatch

DEADLINE_S = 30.0


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The watched directory, with one file."""
    directory = tmp_path / "cdi"
    directory.mkdir()
    (directory / "old.json").write_text("{}")
    return directory


@pytest.fixture(params=[False, True], ids=["inotify", "polling"])
def watch(request: pytest.FixtureRequest, folder: Path) -> Iterator[DirectoryWatch]:
    """A watch that has seen all there is."""
    with DirectoryWatch([folder], polling=request.param) as opened:
        assert opened.polling is request.param
        assert opened.changed()
        assert not opened.changed()
        yield opened


def write(folder: Path) -> None:
    """A new file."""
    (folder / "new.json").write_text("{}")


def change(folder: Path) -> None:
    """Another content, of another size."""
    (folder / "old.json").write_text("{ }")


def rename(folder: Path) -> None:
    """Within the directory, as a writer does that is careful."""
    (folder / "spec.1.tmp").write_text("{}")
    os.rename(folder / "spec.1.tmp", folder / "new.json")


def move_in(folder: Path) -> None:
    """From elsewhere."""
    (folder.parent / "elsewhere").write_text("{}")
    os.rename(folder.parent / "elsewhere", folder / "new.json")


def hard_link(folder: Path) -> None:
    """A second name of a file from elsewhere."""
    (folder.parent / "elsewhere").write_text("{}")
    os.link(folder.parent / "elsewhere", folder / "new.json")


def soft_link(folder: Path) -> None:
    """To a file elsewhere."""
    (folder.parent / "elsewhere").write_text("{}")
    (folder / "new.json").symlink_to(folder.parent / "elsewhere")


def delete(folder: Path) -> None:
    """A file goes."""
    (folder / "old.json").unlink()


def move_out(folder: Path) -> None:
    """To elsewhere."""
    os.rename(folder / "old.json", folder.parent / "elsewhere")


def recreate(folder: Path) -> None:
    """The directory goes and comes back."""
    shutil.rmtree(folder)
    folder.mkdir()
    write(folder)


def exchange(folder: Path) -> None:
    """Another directory takes its name."""
    (folder.parent / "other").mkdir()
    os.rename(folder, folder.parent / "moved")
    os.rename(folder.parent / "other", folder)


@pytest.mark.parametrize(
    "act",
    [write, change, rename, move_in, hard_link, soft_link, delete, move_out, recreate, exchange],
)
def test_a_change_is_noticed_once(
    watch: DirectoryWatch, folder: Path, act: Callable[[Path], None]
) -> None:
    """CDI-036, CDI-037: those that the library misses, too."""
    act(folder)
    assert watch.changed()
    assert not watch.changed()


@pytest.mark.parametrize("act", [recreate, exchange])
def test_a_directory_that_came_back_is_watched_again(
    watch: DirectoryWatch, folder: Path, act: Callable[[Path], None]
) -> None:
    """Also if the file system gave it the number of the old one."""
    act(folder)
    assert watch.changed()
    (folder / "later.json").write_text("{}")
    assert watch.changed()


def test_what_links_lead_to_is_noticed(watch: DirectoryWatch, folder: Path) -> None:
    """The directory hears nothing of a write to the other name."""
    soft_link(folder)
    os.link(folder / "old.json", folder.parent / "other name")
    assert watch.changed()
    for path in (folder.parent / "elsewhere", folder.parent / "other name"):
        path.write_text("{  }")
        assert watch.changed()
        assert not watch.changed()


def test_files_of_other_endings_do_not_matter(watch: DirectoryWatch, folder: Path) -> None:
    """A temporary file is no reason to read all others again."""
    (folder / "spec.1.tmp").write_text("{")
    (folder / "notes.txt").touch()
    assert not watch.changed()


def test_a_missing_directory_may_appear(tmp_path: Path) -> None:
    """And its files with it; its parents were missing as well."""
    missing = tmp_path / "var" / "run" / "cdi"
    with DirectoryWatch([missing]) as watch:
        assert watch.changed()
        assert not watch.changed()
        missing.mkdir(parents=True)
        assert watch.changed()
        write(missing)
        assert watch.changed()


def test_waiting_ends_with_a_change_or_with_its_time(tmp_path: Path) -> None:
    """Also with the appearance of what was missing."""
    missing = tmp_path / "run" / "cdi"
    for polling in (False, True):
        with DirectoryWatch([missing], polling=polling) as watch:
            assert watch.wait(0)
            assert not watch.wait(0)
            maker = threading.Thread(target=missing.mkdir, kwargs={"parents": True})
            maker.start()
            assert watch.wait(DEADLINE_S)
            maker.join()
        shutil.rmtree(tmp_path / "run")


def test_without_inotify_it_looks_at_every_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel bounds instances and watches of each user."""

    def refuse(*_: object) -> None:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(module, "INotify", refuse)
    watch = DirectoryWatch([folder])
    assert watch.polling
    assert watch.changed()
    write(folder)
    assert watch.changed()
    monkeypatch.undo()
    with DirectoryWatch([folder]) as full:
        monkeypatch.setattr(module.INotify, "add_watch", refuse)
        assert full.changed()
        assert full.polling
        delete(folder)
        assert full.changed()
