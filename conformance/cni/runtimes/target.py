"""A runtime as a target: `cnitool:PATH`, or the socket of one that answers CRI."""

from __future__ import annotations

from pathlib import Path

from conformance.cni.runtimes.bench import Bench
from conformance.cni.runtimes.subject import RuntimeSubject
from conformance.cni.target import CniTarget
from conformance.engine.ledger import sweep
from conformance.engine.ledger.entries import Ledger
from conformance.engine.targets.resolve import ResolvedTarget
from refimpl.cni.execute import Log

__all__ = ["open_cnitool", "open_runtime"]


def open_cnitool(resolved: ResolvedTarget, path: Path) -> CniTarget:
    """The program at the path; raises Unreachable."""
    from conformance.cni.runtimes.cnitool import Cnitool

    ledger = _ledger(resolved)
    return _opened(Cnitool(path, ledger), resolved, ledger)


def open_runtime(resolved: ResolvedTarget) -> CniTarget:
    """What answers on the socket; raises BadOption or Unreachable."""
    from conformance.cni.runtimes.cri import CriRuntime
    from conformance.cni.runtimes.killed import say_what_is_left

    ledger = _ledger(resolved)
    subject = CriRuntime(resolved.endpoint, resolved.settings, resolved.run_id, ledger)
    subject.check_folders()
    say_what_is_left(subject.conf_dir)
    return _opened(subject, resolved, ledger)


def _ledger(resolved: ResolvedTarget) -> Ledger:
    return Ledger(sweep.ledger_path("cni", resolved.text, resolved.run_id), resolved.text)


def _opened(subject: RuntimeSubject, resolved: ResolvedTarget, ledger: Ledger) -> CniTarget:
    log = Log()
    bench = Bench(subject, log, resolved.run_id, resolved.settings, ledger)
    return CniTarget(resolved, subject.name, version=subject.version, log=log, bench=bench)
