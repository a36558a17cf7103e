"""Things that a run has made: on record before they are there, and removed from it."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.engine.ledger.entries import FILE, FOLDER, Ledger, LedgerEntry, discard, left
from conformance.engine.ledger.leftovers import Leftovers, NotRemoved


def test_what_is_not_gone_is_left_newest_first(tmp_path: Path) -> None:
    """In the order in which it can be removed."""
    record = Ledger(tmp_path / "record", "unix:///x")
    for name in ("a", "b", "a", "c"):
        record.making(FILE, name)
    record.gone(FILE, "b")
    record.gone(FILE, "never made")
    assert [str(thing) for thing in left(tmp_path / "record")] == ["file c", "file a"]
    assert '{"target":"unix:///x"}' in (tmp_path / "record").read_text()
    record.gone(FILE, "a")
    record.gone(FILE, "c")
    record.close()
    assert not (tmp_path / "record").exists()


def test_a_folder_is_on_record_before_it_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run killed in between leaves a line too much, not a folder."""
    record = Ledger(tmp_path / "record")
    seen: list[str] = []
    real = Path.mkdir

    def mkdir(path: Path, mode: int = 0o777) -> None:
        seen.extend(thing.name for thing in left(tmp_path / "record"))
        real(path, mode)

    monkeypatch.setattr(Path, "mkdir", mkdir)
    folder = record.folder("refimpl-x-")
    assert seen == [str(folder)]
    assert folder.is_dir()
    record.discard(folder, FOLDER)
    record.close()
    assert not folder.exists()
    assert not (tmp_path / "record").exists()


def test_files_folders_and_links_go_with_what_was_being_written(tmp_path: Path) -> None:
    """And nothing beside them."""
    (tmp_path / "kept").touch()
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "file").touch()
    (tmp_path / "link").symlink_to("kept")
    (tmp_path / "a[1]").touch()
    (tmp_path / ".a[1].new").touch()
    (tmp_path / ".a1.new").touch()
    for name in ("folder", "link", "a[1]"):
        assert discard(str(tmp_path / name))
    assert not discard(str(tmp_path / "a[1]"))
    assert sorted(path.name for path in tmp_path.iterdir()) == [".a1.new", "kept"]


def test_what_cannot_be_removed_stays_on_record(tmp_path: Path) -> None:
    """A file below a file is none that can be removed."""
    (tmp_path / "file").touch()
    record = Ledger(tmp_path / "record")
    record.making(FILE, tmp_path / "file" / "inner")
    record.discard(tmp_path / "file" / "inner")
    record.close()
    (thing,) = left(tmp_path / "record")
    line, done = Leftovers().undo(thing)
    assert "could not be removed" in line
    assert not done


def test_every_removal_is_told(tmp_path: Path) -> None:
    """With its reason where there was none."""
    (tmp_path / "a").touch()

    def refuse(entry: LedgerEntry) -> bool:
        raise NotRemoved(f"{entry.name} is in use")

    sweeper = Leftovers({"pod": refuse})
    path = tmp_path / "record"
    record = Ledger(path)
    for kind, name in (("ship", "x"), ("pod", "p"), (FILE, "/none"), (FILE, str(tmp_path / "a"))):
        record.making(kind, name)
    record.close()
    assert [sweeper.undo(thing) for thing in sweeper.left_by(path)] == [
        (f"file {tmp_path}/a removed", True),
        ("file /none was gone already", True),
        ("pod p could not be removed: p is in use", False),
        ("ship x could not be removed: only a newer refimpl knows how", False),
    ]
