"""A CNI target: a plugin, a runtime or documents; our fakes are all three."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from functools import cached_property

from conformance.cni.divergences import warned
from conformance.cni.networks.documents import FEATURES as OF_DOCUMENTS
from conformance.cni.networks.documents import Documents
from conformance.cni.plugins.installed import InstalledPlugins
from conformance.cni.plugins.lacking import reasons
from conformance.cni.runtimes.bench import Bench
from conformance.cni.runtimes.subject import FEATURES as OF_RUNTIMES
from conformance.engine.needs import Lacks
from conformance.engine.targets.resolve import ResolvedTarget
from conformance.engine.targets.target import Loss
from refimpl.cni import contract
from refimpl.cni.execute import Exec, Log

__all__ = ["CniTarget"]

# Namespaces of the sandbox, and folders of a case.
_OF_A_CASE = re.compile(r"/run/netns/|/refimpl-cni-")


class CniTarget:
    """What is judged, in parts: those that a target has not got, no case of it is about.

    documents, bench: opened when the first case asks for them, unless they are given opened.
    newest: the version of the specification that it is judged by unless a user says otherwise.
    """

    interface = "cni"
    secrets: Collection[str] = ()

    def __init__(
        self,
        resolved: ResolvedTarget,
        name: str,
        *,
        version: str = "",
        newest: str = contract.LATEST,
        log: Log | None = None,
        plugins: InstalledPlugins | None = None,
        documents: Callable[[], Documents] | None = None,
        bench: Bench | Callable[[], Bench] | None = None,
        at_end: Callable[[], object] = lambda: None,
    ) -> None:
        self.resolved, self.name, self.version = resolved, name, version
        self.revision = resolved.judged_by(newest)
        self.only_warns = warned(resolved)
        self._log = log or Log()
        self._plugins, self._open_documents = plugins, documents
        self._opened = bench if isinstance(bench, Bench) else None
        self._open_bench = None if isinstance(bench, Bench) else bench
        self._at_end = at_end
        self.lacks = Lacks(
            {
                **(reasons(plugins) if plugins else {}),
                **{feature: self._documents_lack(feature) for feature in OF_DOCUMENTS},
                **{feature: self._runtime_lacks(feature) for feature in OF_RUNTIMES},
            }
        )

    def _documents_lack(self, feature: str) -> Callable[[], str]:
        return lambda: self.documents.lacks[feature]

    def _runtime_lacks(self, feature: str) -> Callable[[], str]:
        return lambda: self.bench.subject.lacks.get(feature, "")

    @property
    def plugins(self) -> InstalledPlugins:
        """The plugins under test."""
        assert self._plugins is not None
        return self._plugins

    @cached_property
    def documents(self) -> Documents:
        """The documents under test."""
        assert self._open_documents is not None
        return self._open_documents()

    @property
    def bench(self) -> Bench:
        """The runtime under test with its recorders."""
        if self._opened is None:
            assert self._open_bench is not None
            self._opened = self._open_bench()
        return self._opened

    # What the engine asks

    def mark(self) -> int:
        """The end of the record of execs, brought up to date."""
        return self._opened.logged() if self._opened else self._log.seq

    def calls(self, mark: int) -> list[Exec]:
        """The execs since the mark, with what was asked of a runtime between them; before them the
        calls of a session that the case looked at."""
        self.mark()
        shown = self._opened.shown if self._opened else []
        return [*shown, *self._log.since(mark)]

    def reproduce(self, calls: Sequence[Exec]) -> str:
        """One shell line: an exec with its document and environment, where it names nothing that
        went with the case, be it a namespace, a folder or our fake itself."""
        call = calls[-1]
        if not call.request.env or self.resolved.ours:
            return ""
        named = " ".join((*call.request.env.values(), call.request.stdin.decode(errors="replace")))
        return "" if _OF_A_CASE.search(named) else call.shell()

    def lost(self, *, failed: bool = True) -> Loss | None:  # noqa: ARG002
        """Of a plugin that is gone from its place, or a runtime that ended."""
        if self._plugins and (reason := self._plugins.gone()):
            return Loss(reason)
        return self._opened.lost() if self._opened else None

    def close(self) -> None:
        """Takes away what was put beside a runtime, and whatever the target was opened with."""
        if self._opened:
            self._opened.close()
        self._at_end()
