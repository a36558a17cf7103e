"""Gathers the verdicts in the process that controls the run and writes the event stream."""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import pytest

from conformance.engine import events
from conformance.engine.events import Breach, CaseDone, End, EventStream, Outcome, Run
from conformance.engine.interfaces import interface_of
from conformance.engine.options import (
    CONFORMANT,
    INTERNAL,
    INTERRUPTED,
    NOT_CONFORMANT,
    UNREACHABLE,
    Options,
)
from refimpl import __version__

# Of the phases of one case (setup, call, teardown) the weightiest outcome is the case's.
_WEIGHT: tuple[Outcome, ...] = ("pass", "xfail", "skip", "warn", "xpass", "fail", "error")


class Recorder:
    """Merges the phases of each case, tells the stream, and decides how the run ended."""

    def __init__(self, options: Options, stream: EventStream, config: dict[str, Any]) -> None:
        self.options = options
        self.stream = stream
        self.exit_code = INTERNAL
        self.done: list[CaseDone] = []
        self._config = config
        self._phases: dict[str, list[pytest.TestReport]] = {}
        self._begun = time.time()
        self._open = False
        self._causes: dict[str, str] = {}
        self._lost = ""
        self._failing = False  # for another reason than that the target was lost
        self._unused: set[str] = set()
        self._internal = ""
        self._stopped = ""
        self._halted = False

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Collects a phase; the teardown completes a case."""
        if not hasattr(report, "refimpl"):
            if str(report.when) == "???":  # xdist, of a worker that died in the middle of a case
                self._internal = f"{report.nodeid}: {report.longrepr}"
            return
        vars(report)["refimpl"] = json.loads(report.refimpl)
        self._tell_once(report)
        phases = self._phases.setdefault(report.nodeid, [])
        phases.append(report)
        if report.when == "teardown":
            del self._phases[report.nodeid]
            self._complete(phases)

    def _tell_once(self, report: pytest.TestReport) -> None:
        """A death of the target that another case has died already is no further finding."""
        verdict: dict[str, Any] = report.refimpl
        cause, id = verdict.get("cause", ""), verdict["case"]["id"]
        first = self._causes.setdefault(cause, id)
        if cause and first != id and verdict["outcome"] == "fail":
            reason = f"because {first} failed: the target was lost in the same way again"
            verdict |= {"outcome": "skip", "message": reason}
            report.outcome, report.longrepr = "skipped", ("", 0, f"Skipped: {reason}")

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A suite that cannot even be imported is a fault of ours, never silence."""
        if report.failed:
            self._internal = f"{report.nodeid} cannot be collected: {report.longrepr}"

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, error: object) -> None:
        """xdist: a worker ended, with an error where it died."""
        if error and error != "keyboard-interrupt":
            self._internal = f"a worker died: {error}"

    def pytest_internalerror(self, excrepr: object) -> None:
        """A fault in pytest or in us."""
        self._internal = str(excrepr)

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Ctrl-C, or the judge that could not open its target."""
        self._stopped = str(excinfo.value) or "interrupted"
        # pytest and xdist end a run of themselves by a kind of KeyboardInterrupt, as for -x with
        # workers: that is a verdict and no interruption.
        halted = isinstance(excinfo.value, KeyboardInterrupt)
        halted = halted and type(excinfo.value) is not KeyboardInterrupt
        self._halted = halted and "keyboard-interrupt" not in self._stopped

    def _complete(self, phases: list[pytest.TestReport]) -> None:
        facts = [phase.refimpl for phase in phases]
        self._announce(facts[0]["target"], interface_of(facts[0]["case"]["id"]))
        if any(verdict["outcome"] == "xfail" for verdict in facts):
            # What is known to fail in one phase passes in the others.
            facts = [verdict for verdict in facts if verdict["outcome"] != "xpass"]
        worst = max(facts, key=lambda verdict: _WEIGHT.index(verdict["outcome"]))
        self._lost = self._lost or worst.get("lost", "")
        self._failing = self._failing or (worst["outcome"] == "fail" and "lost" not in worst)
        calls: list[dict[str, Any]] = next(
            (verdict["calls"] for verdict in facts if "calls" in verdict), []
        )
        told = ("message", "wanted", "got", "reproduce")
        about_failure = {key: worst[key] for key in told if key in worst}
        path, line, _ = phases[0].location
        done = CaseDone(
            **worst["case"],
            outcome=worst["outcome"],
            duration_s=round(sum(phase.duration for phase in phases), 6),
            also=[Breach(**each) for each in worst.get("also", ())],
            calls=worst.get("calls", calls),
            location=f"{path}:{(line or 0) + 1}",
            **about_failure,
        )
        if worst["known"] and done.outcome == "skip":
            self._unused.add(done.id)
        self.done.append(done)
        self.stream.emit(done)

    def _announce(self, target: dict[str, str], interface: str = "") -> None:
        if self._open:
            return
        self._open = True
        words = (target["name"], target["version"], "at", self.options.shown_target)
        self.stream.emit(
            Run(
                interface=self.options.interface or interface,
                target=" ".join(filter(None, words)).removeprefix("at "),
                revision=target["revision"],
                suite=__version__,
                seed=self.options.seed,
                started=self._begun,
                config=self._config,
            )
        )

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Writes the end record and sets pytest's exit status to ours."""
        if session.config.option.collectonly:
            return
        self.end(self._exit_code(int(exitstatus)), self._message(session))
        session.exitstatus = self.exit_code

    def end(self, exit_code: int, message: str) -> None:
        """Writes the end record."""
        if not self._open:
            self._announce({"name": "", "version": "", "revision": self.options.revision})
        self.exit_code = exit_code
        self.stream.emit(
            End(
                counts=events.counts(self.done),
                exit_code=exit_code,
                duration_s=round(time.time() - self._begun, 3),
                message=message,
            )
        )
        self.stream.close()
        if self.stream.lost:
            print(f"refimpl: {self.stream.lost}", file=sys.stderr)
            self.exit_code = exit_code or INTERNAL

    def _message(self, session: pytest.Session) -> str:
        if self._internal:
            return f"internal error: {self._internal}"
        if self._lost or self._stopped:
            return f"the run ended early: {self._lost or self._stopped}"
        if self._unused:
            listed = ", ".join(sorted(self._unused))
            return f"expected failures that matched nothing (the case was skipped): {listed}"
        return str(session.shouldstop or session.shouldfail or "")

    def _exit_code(self, status: int) -> int:
        counts = events.counts(self.done)
        if self._internal:
            return INTERNAL
        if self._lost:
            return NOT_CONFORMANT if self._failing else UNREACHABLE
        if status >= INTERRUPTED and not (status == INTERRUPTED and self._halted):
            return status
        if counts["error"]:
            return INTERNAL
        bad = counts["fail"] or counts["xpass"] or self._unused
        return NOT_CONFORMANT if bad or status == 1 else CONFORMANT
