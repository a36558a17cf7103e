"""What the kernel tells of a process, and what it wrote last."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from conformance.engine import process


def test_a_process_is_measured() -> None:
    """One that is not there is not."""
    measures = process.measures_of(os.getpid())
    assert measures is not None
    assert measures.fds > 2
    assert measures.threads > 0
    assert process.resident(os.getpid()) == pytest.approx(measures.rss, rel=0.5)
    assert process.measures_of(2**22 + 1) is None
    assert process.resident(2**22 + 1) == 0
    assert process.visible()


def test_the_last_words_begin_at_the_panic(tmp_path: Path) -> None:
    """Not at the end of its stack, which names no reason."""
    log = tmp_path / "log"
    log.write_text("start\nI serve\npanic: nil map\n\ngoroutine 1:\nmain.go:7\nexit\n")
    assert process.last_words(log) == "\n  | panic: nil map\n  | \n  | goroutine 1:"
    log.write_text("one\ntwo\nthree\nfour\n")
    assert process.last_words(log) == "\n  | two\n  | three\n  | four"
    log.write_text("")
    assert process.last_words(log) == ""
