"""A device plugin under test as a target of the engine: its lives, and what is known of it."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack, suppress
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from conformance.deviceplugin.plugin import Plugin
from conformance.deviceplugin.plugins.capabilities import Capabilities
from conformance.deviceplugin.plugins.process import PluginProcess
from conformance.deviceplugin.plugins.rules import Rules
from conformance.deviceplugin.plugins.session import Arrival, Life, Maker
from conformance.deviceplugin.settings import DpSettings
from conformance.engine import reproduce
from conformance.engine.hooks import run_hook
from conformance.engine.needs import Lacks
from conformance.engine.placeholders import fill
from conformance.engine.resolve import ResolvedTarget
from conformance.engine.scope import CaseScope
from conformance.engine.target import Loss
from conformance.engine.verdict import Broken
from refimpl.deviceplugin import illusion
from refimpl.wire.client import Unreachable
from refimpl.wire.endpoint import Endpoint
from refimpl.wire.journal import Entry, Journal

__all__ = ["PluginTarget"]

T = TypeVar("T")

RELEASE, NODE, RESOURCE = "1.37", "refimpl-node", "example.com/gpu"
"""The kubelet around the plugin, and what {node} and {resource} stand for, unless chosen."""


class PluginTarget:
    """What is judged: a plugin, in one life after the other.

    `make` makes its processes, `empty` those of a node without devices. `quiet_s`: how long a case
    watches that nothing happens. `most_s`: the longest that anything is waited for.
    """

    interface = "deviceplugin"
    secrets: Collection[str] = ()
    only_warns: Collection[str] = ()

    def __init__(
        self,
        make: Maker,
        resolved: ResolvedTarget,
        journal: Journal,
        *,
        name: str,
        version: str = "",
        empty: Maker | None = None,
        ours: bool = False,
        nodes: Collection[int] = (),
        most_s: float = 120.0,
        quiet_s: float = 2.0,
        stack: ExitStack | None = None,
    ) -> None:
        chosen: DpSettings = resolved.settings
        self.resolved, self.chosen = resolved, chosen
        self.name, self.version = name, version
        self.revision = resolved.judged_by(RELEASE)
        self.quiet_s = chosen.quiet_s or quiet_s
        self.numa_nodes = frozenset(chosen.numa_nodes or nodes or _nodes_here())
        self.journal = journal
        self.rules = Rules(self._came)
        self.at_arrival: Callable[[Arrival], object] | None = None
        self._make, self._empty, self._ours, self._most_s = make, empty, ours, most_s
        self._home = Path(tempfile.mkdtemp(prefix="dp-"))
        self._stack = stack or ExitStack()
        self._life: Life | None = None
        self._lives = 0
        self._silent = False

    def introduce(self) -> None:
        """Waits until the plugin has come to kubelet once; raises Unreachable where it does not."""
        plugin = self.look()
        try:
            _ = plugin.resource
        except Broken as broken:
            where = f"; kubelet lies at {illusion.REAL} for it, or at {{kubelet}}"
            raise Unreachable(
                f"{self.name} neither calls Register at kubelet.sock nor serves in plugins_registry"
                f"{where if self.capabilities.hidden() else ''}\n  {broken.got}"
            ) from None
        finally:
            self._done(plugin)

    # What cases get

    def plugin(self, case: CaseScope) -> Plugin:
        """The plugin for one case."""
        plugin = self.look()
        case.callback(lambda: self._done(plugin))
        return plugin

    def look(self) -> Plugin:
        """The plugin as it is; in a new life where the last case left none. Whoever asks closes
        it."""
        if self._life is None:
            found = Plugin(self)
            found.fresh()
            found.spoilt = False
            return found
        return Plugin(self)

    def _done(self, plugin: Plugin) -> None:
        """Undoes what the case did: where the plugin is not as it was, its life is over."""
        plugin.close()
        self.rules.end()
        if self._life and (plugin.spoilt or not self._well(self._life)):
            self.end_life()

    def _well(self, life: Life) -> bool:
        """Whether the next case finds it as this one did."""
        if not (life.kubelet_runs and life.main and life.main.alive()):
            return False
        open_links = [link for link in life.kubelet.links if not link.ended]
        judged = self.chosen.resource or next(iter(life.resources), "")
        return any(link.connection.resource == judged for link in open_links)

    @property
    def life(self) -> Life:
        """The present one."""
        assert self._life is not None
        return self._life

    def renew(self, root_length: int = 0) -> None:
        """Ends this life; the next one has an empty folder (with a path of that length), and
        nothing runs in it."""
        self.end_life()
        self._lives += 1
        self._life = Life(
            self._home,
            self._lives,
            self._make,
            journal=self.journal,
            faults=self.rules.faults,
            release=self.revision.number,
            root_length=root_length,
            seen_at=illusion.REAL if self.capabilities.hidden() else "",
        )
        self._life.at_arrival = self.at_arrival
        self._kubelet = self._life.layout.socket

    def _came(self, request: object) -> None:
        if self._life:
            self._life.came(request)

    def end_life(self) -> None:
        """Ends kubelet and plugin, and removes their folder."""
        life, self._life = self._life, None
        if life:
            life.end()

    def process(self, *, empty: bool = False) -> PluginProcess:
        """Another process of the plugin in this life, not started."""
        place = self.life.place(self.chosen.resource or RESOURCE, NODE)
        return self.life.process(place, self._empty if empty else None)

    # What waiting and needs ask

    def patience(self, deadline_s: float) -> float:
        """A deadline in seconds as it holds here: shorter for our fake, and for a plugin that has
        never come to kubelet in all the time it had."""
        return min(deadline_s, self._most_s, 1.0 if self._silent else self._most_s)

    def awaited(self, wait: Callable[[], T]) -> T:
        """Waits for the plugin to come; the next will not wait as long where it does not."""
        try:
            found = wait()
        except Broken:
            self._silent = not self.life.links
            raise
        self._silent = False
        return found

    def hooked(self, name: str) -> bool:
        """Whether the node can be changed in that way."""
        return self._ours or bool(self.chosen.hooks.get(name))  # type: ignore[call-overload]

    @cached_property
    def capabilities(self) -> Capabilities:
        """What it is found to offer."""
        return Capabilities(self)

    @property
    def lacks(self) -> Lacks:
        """Feature -> why it has not got it, empty where it has."""
        return self.capabilities.lacks

    @cached_property
    def only_pulled(self) -> bool:
        """Whether kubelet has to find it, because it never calls Register."""
        plugin = self.look()
        with suppress(Broken):
            _ = plugin.resource
        return not self.life.arrivals and bool(self.life.links)

    @property
    def can_be_empty(self) -> bool:
        """Whether it can be started where it has no devices."""
        return self._empty is not None

    def cdi_dirs(self, life: Life) -> list[Path]:
        """Where its CDI files may lie."""
        if self._ours:
            return [life.root / "cdi"]
        return [Path(fill(each, {"kubelet": str(life.root)})) for each in self.chosen.cdi_dirs]

    def hook(self, name: str, id: str, process: PluginProcess) -> None:
        """Changes the node; raises BadOption for a hook that fails."""
        if self._ours:
            process.hook(name, id)  # type: ignore[attr-defined]
            return
        command: Sequence[str] = self.chosen.hooks[name]  # type: ignore[index]
        values = {**self.life.place(self.chosen.resource or RESOURCE, NODE).values, "id": id}
        run_hook(f"hooks.{name}", [fill(word, values) for word in command])

    # What the engine asks

    def mark(self) -> int:
        """See Target."""
        return self.journal.seq

    def calls(self, mark: int) -> list[Entry]:
        """See Target: of plugin and kubelet."""
        return self.journal.since(mark)

    def reproduce(self, call: Entry) -> str:
        """See Target: a grpcurl line."""
        service = call.method.partition(".")[0].removeprefix("/")
        proto = "registration/api/registration" if service == "pluginregistration" else ""
        path = f"refimpl/{proto or 'deviceplugin/api/deviceplugin'}.proto"
        return reproduce.grpcurl(call, self._called(call), path)

    def _called(self, call: Entry) -> Endpoint:
        return self._kubelet if call.side == "server" else Endpoint.parse(call.peer)

    def lost(self) -> Loss | None:
        """See Target: a plugin that ended by itself is started again for the next case."""
        life = self._life
        main = life.main if life else None
        if life is None or main is None or life.may_exit:
            return None
        if main.alive() or main.status() is None or main.ended_by_us:
            return None
        why = main.fate()
        self.end_life()
        return Loss(why, revived=True)

    def close(self) -> None:
        """See Target."""
        self.end_life()
        self._stack.close()
        shutil.rmtree(self._home, ignore_errors=True)


def _nodes_here() -> list[int]:
    folder = Path("/sys/devices/system/node")
    return [int(path.name[4:]) for path in folder.glob("node[0-9]*")] or [0]
