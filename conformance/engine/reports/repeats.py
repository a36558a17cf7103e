"""The lines under a finding that show it again."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from conformance.engine.events import CaseDone, Run
from conformance.engine.interfaces import interface_of

__all__ = ["CALLS_SHOWN", "replay_line"]

CALLS_SHOWN = 12
"""A finding shows the calls that led to it; what came long before helps nobody who reads."""


def replay_line(run: Run, done: CaseDone) -> str:
    """What shows a finding again: by the stream of its run, or where none was kept by its case."""
    folder = str(run.config.get("report_dir", ""))
    if folder:
        return shlex.join(["refimpl", "replay", f"{folder.rstrip('/')}/events.jsonl", done.id])
    return shlex.join(_judging(run, done))


def _judging(run: Run, done: CaseDone) -> Iterator[str]:
    """The command that judges the case alone, by the seed of the run."""
    chosen = run.config
    side, command = chosen.get("side"), chosen.get("command", ())
    yield from ("refimpl", "test", *([side] if side else []), interface_of(done.id))
    if not command:
        yield str(chosen.get("target", "fake"))
    yield from ("--only", done.id, "--seed", str(run.seed))
    if chosen.get("revision"):
        yield from ("--revision", str(chosen["revision"]))
    for flag, value in chosen.get("settings", {}).items():
        for each in value if isinstance(value, list | tuple) else [value]:
            yield from [f"--{flag}"] if each is True else [f"--{flag}", str(each)]
    if command:
        yield from ("--", *command)
