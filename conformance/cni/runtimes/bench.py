"""A runtime on the bench for one test process, with recorders in its plugin directory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs

from conformance.cni.runtimes.calls import RecorderJournal
from conformance.cni.runtimes.recorders import Recorders
from conformance.cni.runtimes.subject import RuntimeSubject
from conformance.cni.settings import CniSettings
from conformance.engine.ledger.entries import FOLDER, Ledger
from conformance.engine.targets.target import Loss
from refimpl.cni.execute import Exec, Log

__all__ = ["Bench", "Recording"]


@attrs.frozen
class Recording:
    """What was recorded once for many cases, or the error that came instead, and the calls that it
    took."""

    outcome: Any
    calls: Sequence[Exec]


class Bench:
    """The runtime with its recorders, which are there from the first use until `close`.

    recordings: by name. shown: calls that a case draws on although others made them.
    """

    def __init__(
        self,
        subject: RuntimeSubject,
        log: Log,
        run_id: str,
        settings: CniSettings,
        ledger: Ledger | None = None,
    ) -> None:
        self.subject, self.log, self.run_id, self.settings = subject, log, run_id, settings
        self.ledger = ledger or Ledger()
        self.folder = self.ledger.folder("refimpl-cni-")
        self.recorders = Recorders(subject.bin_dirs[0], run_id, self.folder, self.ledger)
        self.journal = RecorderJournal(self.recorders.journal)
        self.recordings: dict[str, Recording] = {}
        self.shown: Sequence[Exec] = ()
        self._number = 0

    def begin(self) -> str:
        """Makes all recorders healthy; the name of a new case. Raises OSError where nothing can be
        installed."""
        self.recorders.reset()
        self.shown = ()
        self._number += 1
        return f"{self.run_id}-n{self._number}x"

    def logged(self) -> int:
        """Brings the log up to date; its end."""
        self.journal.record(self.log)
        return self.log.seq

    def lost(self) -> Loss | None:
        """How the runtime ended, or was ended; it is started again. None while it answers."""
        if self.subject.alive():
            return None
        return Loss(f"{self.subject.name} does not answer any more", self.subject.revive())

    def close(self) -> None:
        """Takes everything away again that was put into the runtime's folders."""
        self.recorders.remove()
        self.subject.close()
        self.ledger.discard(self.folder, FOLDER)
        self.ledger.close()
