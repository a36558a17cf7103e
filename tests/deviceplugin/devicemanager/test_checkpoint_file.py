"""The checkpoint file: whole or as it was, now or soon."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from refimpl.deviceplugin.devicemanager.checkpoint_file import CheckpointFile, read
from refimpl.deviceplugin.state.checkpoint import Saved, Unreadable


def saved(*ids: str) -> Saved:
    return Saved(registered={"example.com/gpu": ids})


def test_what_is_written_is_read(tmp_path: Path) -> None:
    """By ourselves, with nothing else in the folder."""
    path = tmp_path / "checkpoint"
    assert read(path) is None
    savings = CheckpointFile(path, lambda: saved("a"), print)
    savings.write()
    savings.close()
    assert read(path) == saved("a")
    assert os.listdir(tmp_path) == ["checkpoint"]
    assert path.stat().st_mode & 0o777 == 0o600


def test_what_is_due_is_written_at_the_latest_at_the_end(tmp_path: Path) -> None:
    """The newest of it, however often it was asked for."""
    path, newest = tmp_path / "checkpoint", ["a"]
    savings = CheckpointFile(path, lambda: saved(*newest), print)
    for number in range(100):
        newest.append(f"b{number}")
        savings.soon()
    savings.close()
    savings.close()
    assert read(path) == saved(*sorted(newest))


def test_a_write_that_fails_is_told_to_who_waits_and_else_noted_once(tmp_path: Path) -> None:
    """And the file is not touched by it; a failure after a success is news again."""
    notes: list[str] = []
    noted = threading.Condition()

    def note(sentence: str) -> None:
        with noted:
            notes.append(sentence)
            noted.notify_all()

    path = tmp_path / "below" / "checkpoint"
    savings = CheckpointFile(path, saved, note)
    with pytest.raises(FileNotFoundError):
        savings.write()
    assert notes == []
    savings.soon()
    with noted:
        assert noted.wait_for(lambda: bool(notes), 30)
    savings.soon()
    savings.close()
    assert len(notes) == 1
    assert "in memory only" in notes[0]


def test_a_file_that_cannot_be_read_is_unreadable(tmp_path: Path) -> None:
    """Not an OSError: kubelet starts without it."""
    with pytest.raises(Unreadable, match="cannot be read"):
        read(tmp_path)
