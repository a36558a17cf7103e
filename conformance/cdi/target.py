"""A CDI target: our library, another one behind an adapter, the cdi tool, or a runtime."""

from __future__ import annotations

import itertools
import shlex
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from conformance.cdi import implementation as features
from conformance.cdi.adapter import LibraryAdapter
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
from conformance.engine.needs import Lacks
from conformance.engine.targets.lines import Message
from conformance.engine.targets.resolve import ResolvedTarget
from conformance.engine.targets.target import Loss

_WITHOUT = {
    features.LOAD: "does not tell what it has loaded",
    features.INJECT: "injects nothing",
    features.CONFIG: "makes the config itself",
    features.REQUEST: "injects in an order of its own",
    features.DIRECTORIES: "reads two directories",
    features.WATCH: "reads everything anew at each act",
    features.MINIMUM: "does not tell minimum versions",
    features.WRITE: "writes no files",
    features.ANNOTATIONS: "neither makes nor reads annotations",
    features.RUNTIME: "makes no containers",
}
"""What is said of an implementation without a feature."""


class CdiTarget:
    """What is judged.

    directories: those that it reads, none where it reads those that a case names.
    """

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
        self.directories = tuple(directories)
        self.name, self.version = implementation.name, implementation.version
        self.revision = resolved.judged_by("1.1.0")
        self.lacks = Lacks(
            {
                **{feature: self._cannot(feature) for feature in _WITHOUT},
                "nodes": nodes.why_not,
                "two directories": self._one_directory,
                "strict": self._lenient,
            }
        )
        self._acts = Recorded(implementation)
        self._cases, self._caches = itertools.count(1), itertools.count(1)
        self._files: dict[Path, bytes] = {}

    def _cannot(self, feature: str) -> Callable[[], str]:
        able = self.implementation
        return lambda: "" if feature in able.features else f"{self.name} {_WITHOUT[feature]}"

    def _one_directory(self) -> str:
        if len(self.directories) != 1:
            return ""
        return f"{self.directories[0]} is the only --cdi-dir of {self.name}"

    def _lenient(self) -> str:
        policy = self.settings.policy
        return "" if policy == "strict" else f"the policy {policy} leaves it open; --policy strict"

    # What cases get

    def begin(self) -> int:
        """The number of a case that begins; the files of the one before are forgotten."""
        self._files = {}
        return next(self._cases)

    def ask(self, act: str, request: Message) -> Message:
        """The reply of the implementation, on record; it has `error` where the act failed."""
        return self._acts.ask(act, request)

    def wrote(self, path: Path, data: bytes) -> None:
        """Takes note of a file, for whoever reads a finding."""
        self._files[path] = data
        shown = data[:2000].decode(errors="replace")
        self._acts.note("file", {"path": str(path), "content": shown}, {})

    def next_cache(self) -> int:
        """The number of a new cache."""
        return next(self._caches)

    # What the engine asks

    def mark(self) -> int:
        """The end of the record of acts."""
        return self._acts.log.seq

    def calls(self, mark: int) -> list[Act]:
        """The acts since the mark, oldest first, and the files written between them."""
        return self._acts.log.since(mark)

    def reproduce(self, calls: Sequence[Act]) -> str:
        """One shell line: the files of the case, which are gone by now, and the act."""
        call = calls[-1]
        opened = self._opening(call)
        read = set(opened["directories"]) if opened else set()
        parts = [
            f"mkdir -p {shlex.quote(str(path.parent))}; "
            f"printf %s {shlex.quote(data.decode(errors='replace'))} > {shlex.quote(str(path))}"
            for path, data in self._files.items()
            if str(path.parent) in read and len(data) < 2000
        ]
        line = self.implementation.repeat(opened, call.act, call.request)
        return "; ".join([*parts[-10:], line])

    def lost(self, *, failed: bool = True) -> Loss | None:  # noqa: ARG002
        """How the implementation died since the last look; it has been started again."""
        return self.implementation.lost()

    def close(self) -> None:
        """Ends the implementation."""
        self.implementation.close()

    def _opening(self, call: Act) -> Message | None:
        number = call.request.get("cache")
        opened = (
            each.request
            for each in self._acts.log.since(0)
            if each.act == "open" and each.request["cache"] == number
        )
        return next(opened, None)


def open_target(resolved: ResolvedTarget) -> CdiTarget:
    """Opens an implementation; raises BadOption or wire.client.Unreachable."""
    if resolved.scheme == COMMAND:
        return CdiTarget(LibraryAdapter(resolved.command), RealNodes(), resolved)
    if resolved.ours:
        return _fake(resolved)
    if resolved.scheme == "exec":
        from conformance.cdi.tool import Tool  # our fake does not pay for it

        return CdiTarget(Tool(Path(resolved.address)), RealNodes(), resolved)
    from conformance.cdi.runtime import CriImplementation

    ledger = Ledger(sweep.ledger_path("cdi", resolved.text, resolved.run_id), resolved.text)
    runtime = CriImplementation(resolved.endpoint, resolved.settings, ledger)
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
