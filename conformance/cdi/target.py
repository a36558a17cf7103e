"""A CDI target: our library, another one behind an adapter, the cdi tool, or a runtime."""

from __future__ import annotations

import itertools
import shlex
from collections.abc import Collection, Sequence
from pathlib import Path

from conformance.cdi.adapter import Adapter
from conformance.cdi.host import Host
from conformance.cdi.implementation import Act, Implementation, Recorded
from conformance.cdi.inprocess import InProcess
from conformance.cdi.mutation import CdiMutant
from conformance.cdi.nodes import FakeNodes, Nodes, RealNodes
from conformance.cdi.settings import CdiSettings
from conformance.engine import mutants
from conformance.engine.interface import COMMAND
from conformance.engine.ledger import pods, sweep
from conformance.engine.ledger.entries import Ledger
from conformance.engine.ledger.leftovers import Leftovers
from conformance.engine.lines import Message
from conformance.engine.resolve import ResolvedTarget
from conformance.engine.target import Loss


class CdiTarget:
    """What is judged."""

    interface = "cdi"
    secrets: Collection[str] = ()
    only_warns: Collection[str] = ()

    def __init__(
        self,
        implementation: Implementation,
        nodes: Nodes,
        resolved: ResolvedTarget,
        *,
        directories: Sequence[str] = (),
        ledger: Ledger | None = None,
    ) -> None:
        self.implementation, self.nodes = implementation, nodes
        self.resolved = resolved
        self.settings: CdiSettings = resolved.settings
        self.ledger = ledger or Ledger()
        self.directories = tuple(directories)  # that it reads, none: those that a case names
        self.name, self.version = implementation.name, implementation.version
        self.revision = resolved.judged_by("1.1.0")
        self._asked = Recorded(implementation)
        self._hosts, self._caches = itertools.count(1), itertools.count(1)
        self._files: dict[Path, bytes] = {}

    # What cases get

    def host(self) -> Host:
        """Directories of a case's own, or those that a runtime reads."""
        self._files = {}
        return Host(self, next(self._hosts), self.directories)

    def ask(self, act: str, request: Message) -> Message:
        """See Recorded."""
        return self._asked.ask(act, request)

    def wrote(self, path: Path, data: bytes) -> None:
        """Takes note of a file, for whoever reads a finding."""
        self._files[path] = data
        shown = data[:2000].decode(errors="replace")
        self._asked.note("file", {"path": str(path), "content": shown}, {})

    def next_cache(self) -> int:
        """The number of a new cache."""
        return next(self._caches)

    # What the engine asks

    def mark(self) -> int:
        """See Target."""
        return self._asked.log.seq

    def calls(self, mark: int) -> list[Act]:
        """See Target."""
        return self._asked.log.since(mark)

    def reproduce(self, call: Act) -> str:
        """See Target: the files of the case, which are gone by now, and the act."""
        opened = self._opening(call)
        read = set(opened["directories"]) if opened else set()
        parts = [
            f"mkdir -p {shlex.quote(str(path.parent))}; "
            f"printf %s {shlex.quote(data.decode(errors='replace'))} > {shlex.quote(str(path))}"
            for path, data in self._files.items()
            if str(path.parent) in read and len(data) < 2000
        ]
        said = self.implementation.repeat(opened, call.act, call.request)
        return "; ".join([*parts[-10:], said])

    def lost(self) -> Loss | None:
        """See Target: an implementation that died has been started again."""
        return self.implementation.lost()

    def close(self) -> None:
        """See Target."""
        self.implementation.close()

    def _opening(self, call: Act) -> Message | None:
        number = call.request.get("cache")
        opened = (
            each.request
            for each in self._asked.log.since(0)
            if each.act == "open" and each.request["cache"] == number
        )
        return next(opened, None)


def open_target(resolved: ResolvedTarget) -> CdiTarget:
    """Opens an implementation; raises BadOption or wire.client.Unreachable."""
    if resolved.scheme == COMMAND:
        return CdiTarget(Adapter(resolved.command), RealNodes(), resolved)
    if resolved.ours:
        return _fake(resolved)
    if resolved.scheme == "exec":
        from conformance.cdi.tool import Tool  # our fake does not pay for it

        return CdiTarget(Tool(Path(resolved.address)), RealNodes(), resolved)
    from conformance.cdi.runtime import Runtime

    ledger = Ledger(sweep.ledger_path("cdi", resolved.text, resolved.run_id), resolved.text)
    runtime = Runtime(resolved.endpoint, resolved.settings, ledger)
    directories = resolved.settings.dirs
    return CdiTarget(runtime, RealNodes(), resolved, directories=directories, ledger=ledger)


def open_leftovers(resolved: ResolvedTarget) -> Leftovers:
    """What a sweep works with: runs leave things with runtimes alone."""
    return pods.leftovers(resolved.endpoint)


def _fake(resolved: ResolvedTarget) -> CdiTarget:
    """`fake`, `mutant:NAME`, `unbroken:NAME`."""
    mutant = mutants.load("cdi", resolved.address) if resolved.scheme != "fake" else None
    broken = mutant if resolved.scheme == "mutant" and isinstance(mutant, CdiMutant) else None
    nodes = FakeNodes()
    ours = InProcess(resolved.settings.policy, lookup=nodes.lookup, mutant=broken)
    return CdiTarget(ours, nodes, resolved)
