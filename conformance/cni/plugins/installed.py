"""The plugins of a target by kind, where they run, and what each case gets of them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

import attrs

from conformance.cni.plugins.plugin import PluginUnderTest
from conformance.cni.plugins.subject import KINDS, PluginSubject
from conformance.engine.case import Case
from conformance.engine.needs import Feature
from conformance.engine.scope import CaseScope
from conformance.engine.targets.resolve import ResolvedTarget
from refimpl.cni.execute import Executor, Log
from refimpl.cni.host import Host

__all__ = ["InstalledPlugins"]


@attrs.define(kw_only=True)
class InstalledPlugins:
    """One plugin or one of each kind; the first is the one that cases of no kind are about.

    host: the machine they work on, None where no namespaces can be made. no_netns: why ADD cannot
    succeed for want of a namespace or a link, empty where it can.
    """

    subjects: Sequence[PluginSubject]
    executor: Executor
    host: Host | None
    no_netns: str = ""
    log: Log = attrs.field(factory=Log)
    _numbers: itertools.count[int] = attrs.field(factory=lambda: itertools.count(1), init=False)

    @property
    def main(self) -> PluginSubject:
        """The plugin that cases of no kind are about."""
        return self.subjects[0]

    def of_kind(self, kind: str) -> PluginSubject | None:
        """The plugin of that kind, None where there is none."""
        return next((subject for subject in self.subjects if subject.kind == kind), None)

    def for_case(self, case: Case, scope: CaseScope, resolved: ResolvedTarget) -> PluginUnderTest:
        """The plugin a case is about, with a network of the case's own."""
        names = [need.name for need in case.needs if isinstance(need, Feature)]
        kind = next((name for name in names if name in KINDS), self.main.kind)
        subject = self.of_kind(kind)
        assert subject is not None, f"no {kind} plugin, and a case that needs one was not skipped"
        return PluginUnderTest(
            subject,
            self.host,
            self.executor,
            self.log,
            scope,
            name=f"{resolved.run_id}-{next(self._numbers)}",
            attaches=not self.no_netns,
            seed=resolved.seed,
        )

    def gone(self) -> str:
        """That the main plugin is no longer in its place, in words; empty while it is there."""
        path = self.main.path
        return "" if Path(path).exists() else f"{path} is no longer there"
