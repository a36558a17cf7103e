"""Targets judged one after another, each by a `refimpl test` of its own, and their runs as one
comparison. A process of its own: what one target does to a process reaches no other.
"""

from __future__ import annotations

import contextlib
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import attrs

from conformance.engine import events
from conformance.engine.events import End, Event, Run
from conformance.engine.options import (
    CONFORMANT,
    INTERNAL,
    INTERRUPTED,
    NOT_CONFORMANT,
    NOTHING_SELECTED,
    UNREACHABLE,
    USAGE,
)
from conformance.engine.reports.digest import Digest

__all__ = ["InTurn", "Turn", "named_turns", "weightiest"]

_WEIGHT = (
    *(INTERRUPTED, INTERNAL, USAGE, NOT_CONFORMANT),
    *(UNREACHABLE, NOTHING_SELECTED, CONFORMANT),
)
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@attrs.frozen
class Turn:
    """One target of several. name: that of its column and of the folder of its reports."""

    name: str
    words: Sequence[str]
    folder: Path

    @property
    def line(self) -> str:
        """The command that judges it alone."""
        return shlex.join(["refimpl", *self.words])

    def digest(self, exit_code: int) -> Digest:
        """What the run has on record; where that is nothing, that it ended with this exit code."""
        with contextlib.suppress(OSError, events.UnreadableStream):
            stream = events.read(self.folder / "events.jsonl")
            if any(isinstance(event, Run) for event in stream):
                return Digest.of(stream)
        nothing: list[Event] = [End(counts={}, exit_code=exit_code, duration_s=0)]
        return Digest.of(nothing)


def named_turns(
    targets: Sequence[str], words: Sequence[str], options: Sequence[str], base: Path
) -> list[Turn]:
    """A turn a target: `refimpl` with these words, the target, the options, and a folder in `base`
    for its reports. Each has the target's own name, with a number where two would share it."""
    names: list[str] = []
    for target in targets:
        name = short = _short(target)
        number = 1
        while name in names:
            number += 1
            name = f"{short}-{number}"
        names.append(name)
    folders = [base / name for name in names]
    return [
        Turn(name, [*words, target, *options, "--report-dir", str(folder)], folder)
        for name, target, folder in zip(names, targets, folders, strict=True)
    ]


def weightiest(codes: Sequence[int]) -> int:
    """The exit code of all runs together: interrupted, broken and not conformant go before out of
    reach, and that before conformant."""
    return min((code if code in _WEIGHT else INTERNAL for code in codes), key=_WEIGHT.index)


class InTurn:
    """Runs turns. Told to end, it tells the one that runs, and begins no other."""

    def __init__(self) -> None:
        self.stopped = False
        self._running: subprocess.Popen[bytes] | None = None

    def run(self, turn: Turn, more: Sequence[str] = (), *, quiet: bool = False) -> int:
        """Judges a target; the exit code, INTERRUPTED without beginning where it was told to end.
        more: words for this run that do not belong to its line. quiet: it prints nothing."""
        if self.stopped:
            return INTERRUPTED
        # What an earlier run has left is not taken for what this one found.
        (turn.folder / "events.jsonl").unlink(missing_ok=True)
        out = subprocess.DEVNULL if quiet else None
        command = [sys.executable, "-m", "refimpl", *turn.words, *more]
        self._running = subprocess.Popen(command, stdout=out)
        try:
            return self._running.wait()
        finally:
            self._running = None

    @contextlib.contextmanager
    def interruptible(self) -> Iterator[None]:
        """While inside, Ctrl-C, SIGTERM and SIGHUP end the run as they would end it alone."""
        handled = [each for each in _SIGNALS if signal.getsignal(each) is not signal.SIG_IGN]
        before = {number: signal.signal(number, self._stop) for number in handled}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _stop(self, number: int, _frame: object) -> None:
        self.stopped = True
        if self._running:
            # A terminal has told it already; within half a second that counts once.
            self._running.send_signal(number)


def _short(target: str) -> str:
    """`containerd` for `/x/containerd.toml`, `fake-crio` for `fake:crio`, `csi` for a socket."""
    stem = Path(target).name.removesuffix(".toml").removesuffix(".sock")
    kept = "".join(sign if sign.isalnum() or sign in "._" else "-" for sign in stem)
    return kept.strip("-.") or "target"
