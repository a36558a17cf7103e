"""The one stream a run leaves behind; every report is made from it, at once or years later.

JSON lines: a `run` record, a `case` record each, an `end` record. Written by the process that
controls the run and flushed line by line, so that a killed run keeps what it had found.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, Any, Literal

import msgspec

from refimpl import files

SCHEMA = 1
Outcome = Literal["pass", "fail", "warn", "skip", "xfail", "xpass", "error"]
OUTCOMES: tuple[Outcome, ...] = ("pass", "fail", "warn", "skip", "xfail", "xpass", "error")


class UnreadableStream(ValueError):
    """The file is no event stream of ours; the text says which line is wrong."""


class Run(msgspec.Struct, tag_field="type", tag="run", kw_only=True):
    """How the run was started."""

    schema: int = SCHEMA
    interface: str
    target: str
    revision: str
    suite: str
    seed: int
    started: float
    config: dict[str, Any]


class Breach(msgspec.Struct, kw_only=True):
    """What else a case found, beside what its message, wanted and got tell. `soft`: it warns."""

    rule: str
    wanted: str = ""
    got: str = ""
    soft: bool = False


class CaseDone(msgspec.Struct, tag_field="type", tag="case", kw_only=True):
    """One case and what became of it. `calls`: the calls it made, whole ones unless it passed."""

    id: str
    level: str
    outcome: Outcome
    duration_s: float
    title: str = ""
    why: str = ""
    message: str = ""
    wanted: str = ""
    got: str = ""
    also: list[Breach] = []
    calls: list[dict[str, Any]] = []
    reproduce: str = ""
    section: str = ""
    source: str = ""
    location: str = ""


class End(msgspec.Struct, tag_field="type", tag="end", kw_only=True):
    """How the run ended; missing where it was killed."""

    counts: dict[str, int]
    exit_code: int
    duration_s: float
    message: str = ""


Event = Run | CaseDone | End
_decoder = msgspec.json.Decoder(Event)


class EventStream:
    """Hands each event to a file, to stdout when asked, and to listeners such as the terminal."""

    def __init__(
        self,
        path: Path | None = None,
        *,
        stdout: bool = False,
        listeners: Iterable[Callable[[Event], None]] = (),
    ) -> None:
        self._file = open(files.create(path), "wb") if path else None  # noqa: SIM115
        self._name = str(path or "")
        self._stdout = stdout
        self._listeners = list(listeners)
        self.lost = ""

    def emit(self, event: Event) -> None:
        """Records one event. A full disk is remembered in `lost`, the run goes on."""
        line = _encode(event) + b"\n"
        if self._file and not self.lost:
            try:
                self._file.write(line)
                self._file.flush()
            except OSError as error:
                self.lost = f"{self._name}: {error.strerror}; later events are not in the file"
        if self._stdout:
            sys.stdout.write(line.decode())
            sys.stdout.flush()
        for listener in self._listeners:
            listener(event)

    def close(self) -> None:
        """Closes the file; emitting afterwards is an error."""
        if self._file:
            try:
                self._file.close()
            except OSError as error:
                self.lost = self.lost or f"{self._name}: {error.strerror}"


def read(source: Path | IO[bytes]) -> list[Event]:
    """All events of a stream; raises UnreadableStream. A torn last line is left out."""
    data = files.read(source) if isinstance(source, Path) else source.read()
    name = str(source) if isinstance(source, Path) else "the stream"
    return list(_parse(data, name))


def _parse(data: bytes, name: str) -> Iterator[Event]:
    lines = data.split(b"\n")
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            event = _decoder.decode(line)
        except msgspec.MsgspecError as error:
            if number == len(lines):
                return
            raise UnreadableStream(f"{name}, line {number}: no event of ours: {error}") from error
        if isinstance(event, Run) and event.schema > SCHEMA:
            raise UnreadableStream(
                f"{name}: schema {event.schema}, this version reads {SCHEMA}; use a newer refimpl"
            )
        yield event


def _encode(event: Event) -> bytes:
    try:
        return msgspec.json.encode(event)
    except UnicodeEncodeError:
        # Half of a surrogate pair, from a target's output that was no UTF-8.
        return json.dumps(msgspec.to_builtins(event)).encode().replace(b"\\ud", b"\\\\ud")


def counts(cases: Iterable[CaseDone]) -> dict[str, int]:
    """How many cases ended in which way, every outcome named."""
    by_outcome: dict[str, int] = dict.fromkeys(OUTCOMES, 0)
    for done in cases:
        by_outcome[done.outcome] += 1
    return by_outcome
