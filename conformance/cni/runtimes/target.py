"""A runtime as a target: `cnitool:PATH`, or the socket of one that answers CRI."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from conformance.cni.divergences import warned
from conformance.cni.runtimes.bench import Bench
from conformance.cni.target import existing
from conformance.engine.ledger import sweep
from conformance.engine.ledger.entries import Ledger
from conformance.engine.resolve import ResolvedTarget
from conformance.engine.target import Loss
from refimpl.cni.execute import Exec, Log

if TYPE_CHECKING:
    from conformance.cni.runtimes.subject import RuntimeUnderTest


class RuntimeTarget:
    """A runtime that is not ours; see engine.target.Target."""

    interface = "cni"
    secrets: Collection[str] = ()

    def __init__(self, subject: RuntimeUnderTest, resolved: ResolvedTarget, ledger: Ledger) -> None:
        self._log = Log()
        self.bench = Bench(subject, self._log, resolved.run_id, resolved.settings, ledger)
        self.name, self.version = subject.name, subject.version
        self.revision = resolved.judged_by("1.1.0")
        self.only_warns = warned(resolved)

    def mark(self) -> int:
        """See Target."""
        return self.bench.logged()

    def calls(self, mark: int) -> list[Exec]:
        """See Target: execs of recorders, and what was asked of the runtime between them."""
        self.bench.logged()
        return [*self.bench.shown, *self._log.since(mark)]

    def reproduce(self, call: Exec) -> str:
        """See Target."""
        return call.shell() if call.request.env else call.request.stdin.decode()

    def lost(self) -> Loss | None:
        """See Target."""
        return self.bench.lost()

    def close(self) -> None:
        """See Target."""
        self.bench.close()


def open_runtime(resolved: ResolvedTarget) -> RuntimeTarget:
    """Opens `cnitool:PATH` or a socket; raises BadOption or Unreachable."""
    subject: RuntimeUnderTest
    ledger = Ledger(sweep.ledger_path("cni", resolved.text, resolved.run_id), resolved.text)
    if resolved.scheme == "cnitool":
        from conformance.cni.runtimes.cnitool import Cnitool

        subject = Cnitool(existing(Path(resolved.address)), ledger)
    else:
        from conformance.cni.runtimes.cri import CriRuntime
        from conformance.cni.runtimes.killed import say_what_is_left

        subject = CriRuntime(resolved.endpoint, resolved.settings, resolved.run_id, ledger)
        subject.check_folders()
        say_what_is_left(subject.conf_dir)
    return RuntimeTarget(subject, resolved, ledger)
