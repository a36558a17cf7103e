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
from conformance.cdi.settings import CdiSettings, settings
from conformance.engine import mutants, pods, sweep
from conformance.engine.lines import Message
from conformance.engine.options import BadOption, Options
from conformance.engine.target import Loss
from conformance.engine.targetfile import target_file
from conformance.engine.things import Leftovers, Things

FAKES = ("fake", "mutant", "unbroken")


class CdiTarget:
    """What is judged."""

    interface = "cdi"
    secrets: Collection[str] = ()

    def __init__(
        self,
        implementation: Implementation,
        nodes: Nodes,
        options: Options,
        chosen: CdiSettings,
        *,
        directories: Sequence[str] = (),
        things: Things | None = None,
    ) -> None:
        self.implementation, self.nodes = implementation, nodes
        self.options, self.settings = options, chosen
        self.things = things or Things()
        self.directories = tuple(directories)  # that it reads, none: those that a case names
        self.name, self.version = implementation.name, implementation.version
        self.revision = options.revision or "cdi-1.1.0"
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
        return self._asked.seq

    def calls(self, mark: int) -> list[Act]:
        """See Target."""
        return self._asked.since(mark)

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
            for each in self._asked.since(0)
            if each.act == "open" and each.request["cache"] == number
        )
        return next(opened, None)


def kind_of(target: str) -> tuple[str, str]:
    """`exec:PATH` as its two parts; a bare path is a socket, as everywhere."""
    kind, mark, rest = target.partition(":")
    if not mark:
        kind, rest = ("fake", "") if target == "fake" else ("unix", target)
    if kind not in (*FAKES, "exec", "unix"):
        raise BadOption(
            f"{target}: a CDI target is fake, exec:/path/cdi (the tool of the Go project), the CRI "
            "socket of a runtime, or -- COMMAND, an adapter of a library"
        )
    return kind, rest


def open_target(options: Options) -> CdiTarget:
    """Opens what the options name; raises BadOption or wire.client.Unreachable."""
    file = target_file(options.target, "cdi")
    chosen = settings(file.settings, options.settings)
    options.revision = options.revision or file.revision
    if command := options.command or tuple(file.command):
        return CdiTarget(Adapter(command), RealNodes(), options, chosen)
    kind, rest = kind_of(file.endpoint or options.target)
    if kind in FAKES:
        return _fake(kind, rest, options, chosen)
    if kind == "exec":
        from conformance.cdi.tool import Tool  # our fake does not pay for it

        return CdiTarget(Tool(Path(rest)), RealNodes(), options, chosen)
    from conformance.cdi.runtime import Runtime

    endpoint = f"unix:{rest}" if rest.startswith("//") else rest
    things = Things(sweep.ledger_path("cdi", options.target, options.run_id), options.target)
    runtime = Runtime(endpoint, chosen, things)
    return CdiTarget(runtime, RealNodes(), options, chosen, directories=chosen.dirs, things=things)


def open_leftovers(options: Options) -> Leftovers:
    """See engine.target.Interface.sweeper: runs leave things with runtimes alone."""
    file = target_file(options.target, "cdi")
    settings(file.settings, options.settings)
    endpoint = kind_of(file.endpoint or options.target)[1]
    return pods.leftovers(f"unix:{endpoint}" if endpoint.startswith("//") else endpoint)


def _fake(kind: str, name: str, options: Options, chosen: CdiSettings) -> CdiTarget:
    """`fake`, `mutant:NAME`, `unbroken:NAME`."""
    mutant = mutants.load("cdi", name) if kind != "fake" else None
    broken = mutant if kind == "mutant" and isinstance(mutant, CdiMutant) else None
    nodes = FakeNodes()
    ours = InProcess(chosen.policy, lookup=nodes.lookup, mutant=broken)
    return CdiTarget(ours, nodes, options, chosen)


def preload() -> None:
    """See engine.target.Interface."""
