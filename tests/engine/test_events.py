"""The stream of events."""

from __future__ import annotations

import io
import json
from pathlib import Path

import msgspec
import pytest

from conformance.engine import events
from conformance.engine.events import CaseDone, End, Event, EventStream, Run, UnreadableStream
from tests.conftest import SmallDisk

RUN = Run(interface="csi", target="t", revision="1.13", suite="1", seed=1, started=0.0, config={})
CASE = CaseDone(id="CSI-LV-001", level="MUST", outcome="pass", duration_s=0.1)
END = End(counts=events.counts([CASE]), exit_code=0, duration_s=1.0)


def test_a_stream_is_read_as_it_was_written(tmp_path: Path) -> None:
    """Reports may be made years later."""
    stream = EventStream(tmp_path / "e.jsonl")
    for event in (RUN, CASE, END):
        stream.emit(event)
    stream.close()
    assert events.read(tmp_path / "e.jsonl") == [RUN, CASE, END]


def test_each_line_is_there_at_once(tmp_path: Path) -> None:
    """A killed run keeps what it had found."""
    stream = EventStream(tmp_path / "e.jsonl")
    stream.emit(RUN)
    assert json.loads((tmp_path / "e.jsonl").read_text())["type"] == "run"
    stream.close()


def test_listeners_and_stdout_hear_every_event(capsys: pytest.CaptureFixture[str]) -> None:
    """The terminal is one of them."""
    heard: list[Event] = []
    EventStream(stdout=True, listeners=[heard.append]).emit(CASE)
    assert heard == [CASE]
    assert json.loads(capsys.readouterr().out)["id"] == "CSI-LV-001"


def test_a_torn_last_line_is_left_out() -> None:
    """It is what a killed run ends with."""
    assert events.read(io.BytesIO(_line(RUN) + _line(CASE)[:20])) == [RUN]


def test_a_line_of_something_else_is_named() -> None:
    """With its number."""
    with pytest.raises(UnreadableStream, match="line 2"):
        events.read(io.BytesIO(_line(RUN) + b'{"type":"tea"}\n' + _line(END)))


def test_a_full_disk_does_not_end_the_run(small_disk: SmallDisk) -> None:
    """The terminal still tells; what is lost is said."""
    stream = EventStream(small_disk.folder / "events.jsonl")
    small_disk.fill()
    stream.emit(RUN)
    assert "events.jsonl: No space left on device" in stream.lost
    stream.emit(CASE)
    stream.close()


def _line(event: Event) -> bytes:
    return msgspec.json.encode(event) + b"\n"
