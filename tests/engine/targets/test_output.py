"""What a target prints does not fill the disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.engine.targets import output
from conformance.engine.verdict import eventually

BLOCK = 4096
MUCH = 64 * BLOCK


def on_disk(path: Path) -> int:
    """Bytes."""
    return path.stat().st_blocks * 512


def test_of_a_long_text_the_end_is_kept(tmp_path: Path) -> None:
    """What is written on stands where it would have; a short text is left as it is."""
    log = tmp_path / "log"
    with log.open("ab", buffering=0) as file:
        file.write(b"x" * MUCH + b"end")
        output.shorten(log, MUCH + 3)
        assert output.tail(log) == "x" * MUCH + "end"
        output.shorten(log, 2 * BLOCK)
        file.write(b" of it")
    assert log.stat().st_size == MUCH + 9
    assert on_disk(log) <= 4 * BLOCK
    assert output.tail(log, MUCH) == "end of it"
    assert output.tail(log).endswith("xxxend of it")
    assert len(output.tail(log)) < MUCH


def test_only_the_end_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A message takes no more."""
    monkeypatch.setattr(output, "READ", 3)
    log = tmp_path / "log"
    log.write_text("begin end")
    assert output.tail(log) == "end"
    assert output.tail(log, 8) == "d"


def test_it_is_kept_short_while_something_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And no longer."""
    monkeypatch.setattr(output.shorten, "__defaults__", (BLOCK,))
    log = tmp_path / "log"
    log.write_bytes(b"x" * MUCH)
    runs = [True]
    output.bound(log, lambda: runs[0])
    eventually(lambda: on_disk(log) < MUCH, 5, "is short")
    runs.clear()
    runs.append(False)
