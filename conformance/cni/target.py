"""A CNI target: a plugin, a runtime, or documents; opened by what TARGET says."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Collection
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from conformance.cni.divergences import warned
from conformance.cni.needs import Kind
from conformance.cni.plugins.plugin import Plugin
from conformance.cni.plugins.subject import Subject
from conformance.engine.case import Case
from conformance.engine.resolve import ResolvedTarget
from conformance.engine.target import Loss
from refimpl.cni.execute import Exec, Executor, Log
from refimpl.wire.client import Unreachable

if TYPE_CHECKING:
    from conformance.cni.networks.documents import Documents, DocumentsTarget
    from conformance.cni.runtimes.bench import Bench
    from conformance.cni.runtimes.target import RuntimeTarget
    from conformance.engine.ledger.leftovers import Leftovers
    from refimpl.cni.host import Host


class CniTarget:
    """What is judged: the plugins by kind, one of them the main one."""

    interface = "cni"
    secrets: Collection[str] = ()

    def __init__(
        self,
        subjects: list[Subject],
        resolved: ResolvedTarget,
        executor: Executor,
        *,
        host_for: Callable[[], Host | None],
        no_netns: str = "",
        version: str = "",
        at_end: Callable[[], object] = lambda: None,
        documents: Callable[[], Documents] | None = None,
        bench: Callable[[Log], Bench] | None = None,
    ) -> None:
        self._subjects = {subject.kind: subject for subject in subjects}
        self.main = subjects[0]
        self.resolved = resolved
        self.only_warns = warned(resolved)
        self.name, self.version = self.main.name, version
        self.revision = resolved.judged_by(self.main.newest)
        self.no_netns = no_netns
        self._executor, self._host_for, self._at_end = executor, host_for, at_end
        self._open_documents, self._open_bench = documents, bench
        self._log = Log()
        self._numbers = itertools.count(1)

    # What needs ask

    def subject_of(self, kind: str) -> Subject | None:
        """The plugin of that kind, None where there is none."""
        return self._subjects.get(kind)

    @property
    def no_delegate(self) -> str:
        """See needs.DELEGATES."""
        found = self.subject_of("interface")
        return "" if found and found.delegates else f"{self.name} delegates to no IPAM plugin"

    @property
    def no_ranges(self) -> str:
        """See needs.RANGES."""
        found = self.subject_of("ipam")
        if found is None:
            return f"{self.name} is no IPAM plugin"
        return "" if found.ranged else f"the configuration of {found.name} names no ipam.ranges"

    @property
    def no_local_store(self) -> str:
        """See needs.LOCAL_STORE."""
        kept = self.main.settings.data_dir
        return self.no_ranges or ("" if kept else "data_dir = false: ipam.dataDir is not ours")

    @property
    def no_daemon(self) -> str:
        """See needs.DAEMON."""
        found = self.subject_of("ipam")
        asks = found and found.daemon
        return "" if asks else f"the configuration of {self.name} names no ipam.daemonSocketPath"

    @property
    def independent(self) -> str:
        """See needs.DEPENDENT."""
        main = self.main
        depends = main.delegates or (main.kind == "ipam" and (main.ranged or main.daemon))
        return "" if depends else f"{self.name} depends on nothing that its configuration names"

    @property
    def no_attachment(self) -> str:
        """See needs.ATTACHES."""
        return self.main.unserved or ("" if self.main.kind == "ipam" else self.no_netns)

    @property
    def unserved(self) -> str:
        """See needs.SERVED."""
        return self.main.unserved

    @property
    def no_own_link(self) -> str:
        """See needs.MAKES_LINK."""
        found = self.subject_of("interface")
        taken = found is not None and found.ifname == "lo"
        return f"{self.name} makes no link: lo is there with the namespace" if taken else ""

    @property
    def takes_device(self) -> str:
        """See needs.SHARES."""
        found = self.subject_of("interface")
        device = found.config.get("device") if found else None
        return f"{self.name} moves the device {device}: one attachment at a time" if device else ""

    @property
    def aided(self) -> str:
        """See needs.UNAIDED."""
        if not self.main.delegates:
            return ""
        return f"{self.name} runs {self.main.ipam_type} as its configuration says"

    # What cases get

    def plugin_for(self, case: Case) -> Plugin:
        """The plugin a case is about, with a network of the case's own."""
        kinds = [need.label for need in case.needs if isinstance(need, Kind)]
        subject = self._subjects[kinds[0]] if kinds else self.main
        name = f"{self.resolved.run_id}-{next(self._numbers)}"
        return Plugin(
            subject,
            self._host_for(),
            self._executor,
            self._log,
            name=name,
            attaches=not self.no_netns,
        )

    @cached_property
    def documents(self) -> Documents:
        """The documents under test, written when the first case asks for them."""
        assert self._open_documents is not None
        return self._open_documents()

    @cached_property
    def bench(self) -> Bench:
        """The runtime under test with its recorders, opened when the first case asks for it."""
        assert self._open_bench is not None
        return self._open_bench(self._log)

    @property
    def _opened_bench(self) -> Bench | None:
        return self.__dict__.get("bench")

    # What the engine asks

    def mark(self) -> int:
        """See Target."""
        return self._opened_bench.logged() if self._opened_bench else self._log.seq

    def calls(self, mark: int) -> list[Exec]:
        """See Target."""
        self.mark()
        shown = self._opened_bench.shown if self._opened_bench else []
        return [*shown, *self._log.since(mark)]

    def reproduce(self, call: Exec) -> str:
        """See Target: the document, the environment, the plugin; or an act of the runtime."""
        return call.shell() if call.request.env else call.request.stdin.decode()

    def lost(self) -> Loss | None:
        """See Target: a plugin that is gone from its place, a runtime that ended."""
        if not Path(self.main.path).exists():
            return Loss(f"{self.main.path} is no longer there")
        return self._opened_bench.lost() if self._opened_bench else None

    def close(self) -> None:
        """See Target."""
        if self._opened_bench:
            self._opened_bench.close()
        self._at_end()


def open_target(resolved: ResolvedTarget) -> CniTarget | DocumentsTarget | RuntimeTarget:
    """Opens a plugin, a runtime or documents; raises BadOption or wire.client.Unreachable."""
    if resolved.ours:
        from conformance.cni.plugins import fakes

        return fakes.open_fakes(resolved)
    if resolved.scheme == "exec":
        from conformance.cni.plugins import real

        return real.open_plugin(resolved)
    if resolved.scheme in ("dir", "file"):
        from conformance.cni.networks import documents

        return documents.open_documents(resolved)
    from conformance.cni.runtimes import target as runtimes

    return runtimes.open_runtime(resolved)


def open_leftovers(resolved: ResolvedTarget) -> Leftovers:
    """What a sweep works with: runs leave things with runtimes alone."""
    from conformance.cni.runtimes import killed
    from conformance.cni.runtimes.cri import CriRuntime

    runtime = resolved.scheme == "unix"
    return killed.leftovers(
        CriRuntime(resolved.endpoint, resolved.settings, "sweep") if runtime else None
    )


def existing(path: Path) -> Path:
    """The plugin's absolute path; raises Unreachable where nothing there can be run."""
    if not path.exists():
        raise Unreachable(f"{path}: there is no such file; exec:PATH names the plugin's binary")
    if not path.is_file() or not os.access(path, os.X_OK):
        raise Unreachable(f"{path}: not an executable file; a plugin is one")
    return path.absolute()
