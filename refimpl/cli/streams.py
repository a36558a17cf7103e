"""Event streams as arguments of a command."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from refimpl.cli.errors import Usage

if TYPE_CHECKING:
    from conformance.engine.events import Event


def load(name: str) -> list[Event]:
    """The events of a file, of stdin for `-`; raises Usage where there is nothing to report on."""
    from conformance.engine import events

    try:
        if name == "-":
            stream = events.read(io.BytesIO(sys.stdin.buffer.read()))
        else:
            stream = events.read(Path(name))
    except OSError as error:
        raise Usage(f"{name}: {error.strerror}; name the events.jsonl of a run") from error
    except events.UnreadableStream as error:
        raise Usage(f"{error}; name the events.jsonl of a run") from error
    run = next((event for event in stream if isinstance(event, events.Run)), None)
    if run is None:
        raise Usage(f"{name}: holds no run record; name the events.jsonl of a run")
    if run.schema > events.SCHEMA:
        raise Usage(
            f"{name}: written in schema {run.schema} by version {run.suite}; "
            f"this version reads schema {events.SCHEMA}: upgrade it"
        )
    return stream
