"""Turns what pytest saw into the verdict on a case; runs where the case runs."""

from __future__ import annotations

import contextlib
import gc
import json
from collections.abc import Generator, Iterator
from typing import Any

import pytest

from conformance.engine.case import Case, case_of
from conformance.engine.interfaces import interface_of
from conformance.engine.judging import expectations, narrate
from conformance.engine.judging.expectations import Known
from conformance.engine.level import Level
from conformance.engine.options import UNREACHABLE, USAGE, BadOption, Options
from conformance.engine.scope import CaseScope
from conformance.engine.targets.resolve import ResolvedTarget, resolve
from conformance.engine.targets.target import Target
from conformance.engine.verdict import AT_FAULT, Unjudged, is_soft
from refimpl.wire.client import Unreachable
from refimpl.wire.hiding import hidden


class Judge:
    """Selects the cases, skips those whose needs are unmet, and judges the others."""

    def __init__(self, options: Options, opened: dict[str, Target]) -> None:
        self.options = options
        self._targets = opened
        self._known: dict[str, Known] | None = None
        self._resolved: dict[str, ResolvedTarget] = {}
        self._mark = 0
        self._gone = ""
        self._chosen: set[str] = set()
        self.scope = CaseScope()

    def target(self, name: str) -> Target:
        """The target of an interface, opened at its first use; ends the run when out of reach."""
        if name not in self._targets:
            try:
                self._targets[name] = self._resolve(name).open()
            except Unreachable as error:
                pytest.exit(str(error), returncode=UNREACHABLE)
            except BadOption as error:
                pytest.exit(str(error), returncode=USAGE)
        return self._targets[name]

    def _resolve(self, name: str) -> ResolvedTarget:
        """What the options say of the target of an interface, found out once; raises BadOption."""
        if name not in self._resolved:
            self._resolved[name] = resolve(self.options, name)
        return self._resolved[name]

    def known(self, target: Target) -> dict[str, Known]:
        """The expected failures that hold for this target's version and revision."""
        if self._known is None:
            paths = narrate.fixture_paths(self.options.expect, "expectations")
            self._known = expectations.load(paths, target.version, str(target.revision))
        return self._known

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        """Leaves out what the options leave out; cases that need the node alone share a worker."""
        kept: list[pytest.Item] = []
        dropped: list[pytest.Item] = []
        for item in items:
            case = item_case(item)
            if case and not self._selected(case):
                dropped.append(item)
                continue
            kept.append(item)
            # Of our fakes each worker has its own.
            if case and case.alone and not self._resolve(case.interface).ours:
                item.add_marker(pytest.mark.xdist_group("alone"))
        if dropped:
            config.hook.pytest_deselected(items=dropped)
            items[:] = kept
        self._chosen = {case.id for item in items if (case := item_case(item))}
        # Cases that look back at the whole run come when there is something to look at.
        items.sort(key=lambda item: item.get_closest_marker("looks_back") is not None)
        self._check_expectations({case.id for item in kept + dropped if (case := item_case(item))})

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """What was imported stays: the collector of garbage need not look at it again."""
        if hasattr(session.config, "workerinput"):
            from conformance.engine.judging.workers import leave_groups, settle

            leave_groups(session.config, session.items)
            settle(session.config)
        gc.collect()
        gc.freeze()

    def _selected(self, case: Case) -> bool:
        if not self.options.selects(case):
            return False
        try:
            target = self._resolve(case.interface)
        except BadOption as error:  # under plain pytest this is where the target is looked at first
            raise pytest.UsageError(str(error)) from error
        heavy = not case.heavy or self.options.heavy or target.ours
        return heavy and target.judges(case.id)

    def _check_expectations(self, ids: set[str]) -> None:
        paths = narrate.fixture_paths(self.options.expect, "expectations")
        collected = {interface_of(id) for id in ids}
        try:
            listed = expectations.load(paths)
        except BadOption as error:  # under plain pytest this is where they are read first
            raise pytest.UsageError(str(error)) from error
        for id in listed:
            if interface_of(id) in collected and id not in ids:
                raise pytest.UsageError(f"--expect: there is no case {id}; remove the entry")

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None, None, None]:
        """Skips a case whose needs the target does not advertise, naming what is missing."""
        case = item_case(item)
        with self._unless_unjudged(case):
            if case:
                target = self.target(case.interface)
                self._mark = target.mark()
                if self._gone:
                    pytest.skip(f"the target was lost: {self._gone}")
                self.scope = CaseScope(heavy=case.heavy)
                reason = case.unmet(target)
                if reason:
                    pytest.skip(reason)
            yield

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, None, None]:
        """Notes in the scope of a case that it failed: what was lent to it may be spoilt."""
        case = item_case(item)
        with self._unless_unjudged(case):
            try:
                yield
            except Exception:
                self.scope.failed = case is not None
                raise

    @contextlib.contextmanager
    def _unless_unjudged(self, case: Case | None) -> Iterator[None]:
        """Skips a case that the target gave no chance: it is full, or fails the case that is about
        what this one only needs, provided that one is judged, too."""
        try:
            yield
        except Unjudged as refusal:
            if case is None or refusal.owner == case.id:
                raise
            if not refusal.owner:
                pytest.skip(refusal.because)
            if refusal.owner in self._chosen:
                pytest.skip(f"because {refusal.owner} failed: {refusal.because}")
            raise

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self) -> Generator[None, None, None]:
        """Undoes what the case made, after its fixtures."""
        try:
            yield
        finally:
            self.scope.close()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Attaches the verdict as plain data, which travels from a worker to the recorder."""
        report = yield
        case = item_case(item)
        if case and case.interface in self._targets:
            verdict = self._verdict(case, call, report)
            self._lost(item, case, verdict, report)
            # The target itself may have said what must not be told.
            secrets = self._targets[case.interface].secrets
            # As text: what xdist sends has no numbers beyond 32 bits, and times in calls are.
            report.refimpl = json.dumps(hidden(verdict, secrets))  # type: ignore[attr-defined]
        return report

    def _verdict(
        self, case: Case, call: pytest.CallInfo[None], report: pytest.TestReport
    ) -> dict[str, Any]:
        target = self._targets[case.interface]
        error = call.excinfo.value if call.excinfo else None
        outcome = _outcome(case, report, error, self.options.strict)
        if outcome == "fail" and case.id in target.only_warns:
            outcome = "warn"
        known = self.known(target).get(case.id)
        if known:
            outcome = _expected(outcome, report.when, known.sometimes)
        verdict: dict[str, Any] = {"case": narrate.case_fields(case), "outcome": outcome}
        verdict["target"] = {
            "name": target.name,
            "version": target.version,
            "revision": str(target.revision),
        }
        verdict["known"] = bool(known)
        if outcome == "skip":
            verdict["message"] = str(error)
        elif outcome == "xpass" and known:
            verdict["message"] = (
                f"expected to fail ({known.reason}), but it passes; remove the entry"
            )
        elif error is not None:
            verdict |= narrate.finding(target, error, target.calls(self._mark))
            if known and outcome == "xfail":
                verdict["message"] = f"known: {known.reason} ({known.rule})"
        elif report.when == "call":
            verdict["calls"] = narrate.call_names(target.calls(self._mark))
        _tell_pytest(report, outcome, str(verdict.get("message", "")))
        return verdict

    def _lost(
        self, item: pytest.Item, case: Case, verdict: dict[str, Any], report: pytest.TestReport
    ) -> None:
        """A target that died or fell silent is a finding about the case, whatever it was about."""
        failed = verdict["outcome"] in ("fail", "warn", "xfail", "error")
        if self._gone or (not failed and report.when != "teardown"):
            return
        loss = self._targets[case.interface].lost(failed=failed)
        if not loss:
            return
        fate = "died and was started again" if loss.revived else "was lost"
        death, rule = f"the target {fate}: {loss.reason}", str(verdict.get("message", ""))
        lines = [rule, death] if verdict["known"] else [death, rule]
        verdict |= {"message": "\n".join(filter(None, lines)), "cause": loss.cause}
        if loss.revived and verdict["known"]:
            verdict["outcome"] = "xfail"
        else:
            verdict["outcome"] = "fail"  # dying is never a mere warning
            report.outcome, report.longrepr = "failed", verdict["message"]
        if not loss.revived:
            verdict["lost"] = loss.reason
            if hasattr(item.config, "workerinput"):
                self._gone = loss.reason  # xdist cannot bear a worker that stops by itself
            else:
                item.session.shouldstop = loss.reason

    def pytest_sessionfinish(self) -> None:
        """Closes what was opened."""
        for target in self._targets.values():
            target.close()
        self._targets.clear()


def item_case(item: pytest.Item) -> Case | None:
    """The case behind a collected item, or None."""
    return case_of(getattr(item, "function", None))


def _outcome(
    case: Case, report: pytest.TestReport, error: BaseException | None, strict: bool
) -> str:
    if report.outcome == "passed":
        return "pass"
    if report.outcome == "skipped" and not isinstance(error, AT_FAULT):
        return "skip"
    if not isinstance(error, AT_FAULT):
        return "error"
    soft = case.level > Level.MUST or is_soft(error)
    return "warn" if soft and not strict else "fail"


def _expected(outcome: str, when: str | None, sometimes: bool) -> str:
    if outcome in ("fail", "warn"):
        return "xfail"
    passes = outcome == "pass" and when == "call"
    return "xpass" if passes and not sometimes else outcome


def _tell_pytest(report: pytest.TestReport, outcome: str, message: str) -> None:
    """A warning and a known failure are an xfail to plain pytest, an unexpected pass a failure."""
    if outcome in ("warn", "xfail"):
        report.outcome = "skipped"
        report.wasxfail = f"{'warning' if outcome == 'warn' else 'known'}: {message}"
    elif outcome == "xpass":
        report.outcome = "failed"
        report.longrepr = message
