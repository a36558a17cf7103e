"""The file of a ledger: its life and its lock."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from conformance.engine.ledger.file import LedgerFile, UnreadableLedger, held, in_use, records
from tests.conftest import SmallDisk


def test_the_file_is_there_from_the_first_line_until_nothing_is_left(tmp_path: Path) -> None:
    """Runs that make nothing leave no trace."""
    path = tmp_path / "a.jsonl"
    file = LedgerFile(path)
    assert not path.exists()
    file.write({"n": 1})
    assert list(records(path)) == [{"n": 1}]
    file.close(empty=False)
    assert path.exists()
    again = LedgerFile(path)
    again.write({"n": 2})
    again.close(empty=True)
    assert not path.exists()


def test_a_torn_line_is_the_end(tmp_path: Path) -> None:
    """It was being written when its process was killed, before the thing was made."""
    path = tmp_path / "a.jsonl"
    path.write_text('{"n": 1}\n{"n": 2, "ki')
    assert list(records(path)) == [{"n": 1}]


def test_a_whole_line_that_is_no_record_is_named(tmp_path: Path) -> None:
    """What comes after it was made, too."""
    path = tmp_path / "a.jsonl"
    path.write_text('{"n": 1}\n{"n": 2, "ki\n{"n": 3}\n')
    with pytest.raises(UnreadableLedger, match=r"line 2 of .*a\.jsonl"):
        list(records(path))


def test_a_full_disk_leaves_whole_lines(small_disk: SmallDisk) -> None:
    """What is not on record is not made, and what comes later can be read."""
    path = small_disk.folder / "a.jsonl"
    file = LedgerFile(path)
    file.write({"n": 0})
    small_disk.fill()
    with pytest.raises(OSError, match="No space left"):
        file.write({"n": 1, "name": "x" * 5000})
    small_disk.free()
    file.write({"n": 2})
    assert list(records(path)) == [{"n": 0}, {"n": 2}]
    file.close(empty=True)


def test_one_sweep_at_a_time_holds_the_ledger_of_a_run_that_ended(tmp_path: Path) -> None:
    """And none that of a run that is still going."""
    path = tmp_path / "a.jsonl"
    file = LedgerFile(path)
    file.write({"n": 1})
    with held(path) as ended:
        assert not ended
    file.close(empty=False)
    with held(path) as ended:
        assert ended
        assert in_use(path)
    assert not in_use(path)


def test_a_run_whose_new_file_a_sweep_takes_away_makes_another(tmp_path: Path) -> None:
    """Between its making and its lock the file is that of nobody, and empty."""
    path = tmp_path / "a.jsonl"
    path.touch()
    file = LedgerFile(path)
    writer = threading.Thread(target=lambda: file.write({"n": 1}))
    with held(path):
        writer.start()
        writer.join(0.05)  # it waits for the lock by now, or comes later: both have to do
        path.unlink()
    writer.join()
    assert list(records(path)) == [{"n": 1}]
    assert in_use(path)
    file.close(empty=True)
